#include "probe/replacement_decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>

namespace gputopo::probe {
namespace {

Replacement policy_of(const VictimShares& plain, const VictimShares& touched,
                      const ReplacementDecisionParameters& parameters) {
  if (plain.of_age.size() == 1) return Replacement::kNone;
  const auto first = constant_victim(plain, parameters);
  const auto second = constant_victim(touched, parameters);
  if (first == 0u && second == 1u) return Replacement::kLru;
  if (first == 0u && second == 0u) return Replacement::kFifo;
  if (first && second) return Replacement::kPseudoLru;
  if (!first && !second && evenness(plain) > parameters.even_chance) return Replacement::kRandom;
  return Replacement::kOther;
}

}  // namespace

VictimShares share_victims(std::span<const std::size_t> ages, std::span<const std::optional<std::size_t>> victims) {
  VictimShares shares{.of_age = std::vector<double>(ages.size()),
                      .of_reached = std::vector<double>(ages.size()),
                      .tried = static_cast<double>(victims.size())};
  std::vector<double> reached(ages.size());
  for (const std::optional<std::size_t>& victim : victims) {
    if (!victim) continue;
    for (const std::size_t age : ages) {
      ++reached[age];
      if (age == *victim) break;
    }
    shares.of_age[*victim] += 1;
    ++shares.seen;
  }
  for (std::size_t age = 0; age < ages.size(); ++age) {
    if (reached[age] > 0) shares.of_reached[age] = shares.of_age[age] / reached[age];
    shares.of_age[age] /= std::max(1.0, shares.seen);
  }
  return shares;
}

std::string_view to_string(Replacement replacement) {
  switch (replacement) {
    case Replacement::kNone:
      return "none";
    case Replacement::kLru:
      return "lru";
    case Replacement::kFifo:
      return "fifo";
    case Replacement::kPseudoLru:
      return "pseudo_lru";
    case Replacement::kRandom:
      return "random";
    case Replacement::kOther:
      break;
  }
  return "other";
}

// Each line that is looked at before it looks like a victim now and then, which is noise: all others it leaves to that
// age.
std::optional<std::size_t> constant_victim(const VictimShares& shares,
                                           const ReplacementDecisionParameters& parameters) {
  const auto is_noise_or_it = [&](double share) { return share <= parameters.noise || share > parameters.most; };
  const bool one_stands_out = std::ranges::all_of(shares.of_age, is_noise_or_it);
  for (std::size_t i = 0; i < shares.of_age.size(); ++i) {
    const double share = shares.of_age[i];
    const bool but_for_noise = one_stands_out && share > parameters.most && shares.of_reached[i] > parameters.always;
    if (share > parameters.always || but_for_noise) return i;
  }
  return std::nullopt;
}

double evenness(const VictimShares& shares) {
  if (shares.seen == 0) return 0;
  const auto ways = static_cast<double>(shares.of_age.size());
  if (ways < 2) return 1;
  double distance = 0;
  for (const double share : shares.of_age) distance += shares.seen * ways * (share - 1 / ways) * (share - 1 / ways);
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared(ways - 1), distance));
}

Decision<Replacement> decide_replacement(const VictimShares& plain, const VictimShares& touched,
                                         const ReplacementDecisionParameters& parameters) {
  Decision<Replacement> decision;
  decision.basis = fmt::format("victims by age {:.2f}; where the first was touched again {:.2f}",
                               fmt::join(plain.of_age, " "), fmt::join(touched.of_age, " "));
  if (std::min(plain.seen_part(), touched.seen_part()) < parameters.least_seen_part) {
    decision.why_not = "a new line of a set replaces none of the others most of the time";
    return decision;
  }
  decision.value = policy_of(plain, touched, parameters);
  return decision;
}

}  // namespace gputopo::probe
