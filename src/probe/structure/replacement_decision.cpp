#include "probe/structure/replacement_decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "stats/distributions.h"

namespace gputopo::probe {
namespace {

// Majority of the copies about one load, and how many disagree.
struct Vote {
  ServedBy served = ServedBy::kUnknown;
  std::size_t nearer_differing = 0;
  std::size_t votes = 0;
};

Vote vote_on(const LoadSequence& sequence, std::size_t load) {
  std::array<std::size_t, 4> seen{};
  for (const std::vector<ServedBy>& copy : sequence.copies) ++seen[static_cast<std::size_t>(copy[load])];
  const std::size_t nearer = seen[static_cast<std::size_t>(ServedBy::kNearer)];
  const std::size_t hits = seen[static_cast<std::size_t>(ServedBy::kHit)];
  const std::size_t misses = seen[static_cast<std::size_t>(ServedBy::kMiss)];
  Vote vote{.votes = nearer + hits + misses};
  vote.nearer_differing = std::min(nearer, hits + misses);
  if (nearer > hits + misses) {
    vote.served = ServedBy::kNearer;
  } else if (hits != misses) {
    vote.served = hits > misses ? ServedBy::kHit : ServedBy::kMiss;
  }
  return vote;
}

// The loads of a sequence that reached this cache, and what most copies saw of each.
struct ObservedSequence {
  std::vector<SetLoad> loads;
  std::vector<ServedBy> served;  // kHit, kMiss or kUnknown
};

struct Tally {
  std::vector<ObservedSequence> sequences;
  std::size_t votes = 0;
  std::size_t nearer_differing = 0;
  std::size_t misses = 0;  // of all copies
  // Loads of what was just loaded: these hit, so apparent misses are noise.
  std::size_t repeats = 0;
  std::size_t repeats_missed = 0;
};

bool same_place(const SetLoad& a, const SetLoad& b) { return a.line == b.line && a.sector == b.sector; }

void count_misses(Tally& tally, const LoadSequence& sequence, std::size_t load, bool repeats) {
  for (const std::vector<ServedBy>& copy : sequence.copies) {
    const bool missed = copy[load] == ServedBy::kMiss;
    if (sequence.loads[load].counts && missed) ++tally.misses;
    if (!repeats || copy[load] == ServedBy::kUnknown) continue;
    ++tally.repeats;
    if (missed) ++tally.repeats_missed;
  }
}

Tally tally_of(std::span<const LoadSequence> sequences) {
  Tally tally;
  for (const LoadSequence& sequence : sequences) {
    ObservedSequence& observed = tally.sequences.emplace_back();
    for (std::size_t i = 0; i < sequence.loads.size(); ++i) {
      const Vote vote = vote_on(sequence, i);
      tally.votes += vote.votes;
      tally.nearer_differing += vote.nearer_differing;
      if (vote.served == ServedBy::kNearer) continue;
      const SetLoad& load = sequence.loads[i];
      const bool repeats = !observed.loads.empty() && same_place(observed.loads.back(), load);
      count_misses(tally, sequence, i, repeats);
      observed.loads.push_back(load);
      observed.served.push_back(load.counts ? vote.served : ServedBy::kUnknown);
    }
  }
  return tally;
}

// Whether each load hits under a policy.
std::vector<bool> predict_hits(const Policy& policy, std::size_t ways, const ObservedSequence& observed,
                               Beginning beginning) {
  const auto set = make_set(policy, ways, ways + 1, beginning);
  std::vector<std::uint32_t> sectors(ways + 1);  // bits of the resident sectors, by line
  std::vector<bool> hits;
  hits.reserve(observed.loads.size());
  for (const SetLoad& load : observed.loads) {
    const std::uint32_t sector = 1u << load.sector;
    if (!set->load(load.line)) sectors[load.line] = 0;
    hits.push_back((sectors[load.line] & sector) != 0);
    sectors[load.line] |= sector;
  }
  return hits;
}

std::vector<bool> errors_of(const std::vector<bool>& hits, const ObservedSequence& observed) {
  std::vector<bool> wrong;
  wrong.reserve(hits.size());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    wrong.push_back(observed.served[i] == (hits[i] ? ServedBy::kMiss : ServedBy::kHit));
  }
  return wrong;
}

// Loads that a policy mispredicts in all sequences. The initial state of the set is unknown: each sequence takes the
// beginning that explains it better.
struct PolicyTrial {
  Policy policy;
  std::vector<bool> wrong;
  std::size_t count = 0;
};

PolicyTrial try_policy(const Policy& policy, std::size_t ways, const std::vector<ObservedSequence>& sequences) {
  PolicyTrial trial{.policy = policy};
  for (const ObservedSequence& observed : sequences) {
    std::vector<bool> best;
    std::size_t fewest = ~std::size_t{0};
    for (const Beginning beginning : {Beginning::kEmpty, Beginning::kStale}) {
      std::vector<bool> wrong = errors_of(predict_hits(policy, ways, observed, beginning), observed);
      const auto count = static_cast<std::size_t>(std::ranges::count(wrong, true));
      if (count >= fewest) continue;
      fewest = count;
      best = std::move(wrong);
    }
    trial.wrong.insert(trial.wrong.end(), best.begin(), best.end());
    trial.count += fewest;
  }
  return trial;
}

// Whether the loads on which only one of the two is right favor the first.
bool is_clearly_better(const PolicyTrial& first, const PolicyTrial& second, const PolicyParameters& parameters) {
  std::size_t different = 0;
  std::size_t right = 0;
  for (std::size_t i = 0; i < first.wrong.size(); ++i) {
    if (first.wrong[i] == second.wrong[i]) continue;
    ++different;
    if (!first.wrong[i]) ++right;
  }
  return different >= parameters.least_different &&
         static_cast<double>(right) >= parameters.right_of_different * static_cast<double>(different);
}

std::size_t loads_counted_of(const std::vector<ObservedSequence>& sequences) {
  std::size_t count = 0;
  for (const ObservedSequence& observed : sequences) {
    count += static_cast<std::size_t>(
        std::ranges::count_if(observed.served, [](ServedBy served) { return served != ServedBy::kUnknown; }));
  }
  return count;
}

std::string problem_with(const Tally& tally, std::size_t copies, double noise, const PolicyParameters& parameters) {
  if (tally.misses < parameters.least_misses * copies) return "the lines of a set hardly evict one another";
  const double differing = static_cast<double>(tally.nearer_differing) / static_cast<double>(tally.votes);
  if (differing > parameters.max_nearer_differing) {
    return "the nearer cache serves the same load in some runs but not in others";
  }
  if (noise > parameters.max_noise) {
    return fmt::format("noise blurs hits and misses: most runs may confuse them for {:.1f}% of the loads", 100 * noise);
  }
  return {};
}

PolicyFit best_fit(std::vector<PolicyTrial> trials, double loads, double misses, double noise,
                   const PolicyParameters& parameters) {
  std::ranges::stable_sort(trials, {}, &PolicyTrial::count);
  const PolicyTrial& best = trials.front();
  PolicyFit fit{.policy = best.policy, .mispredicted = static_cast<double>(best.count) / loads, .noise = noise};
  const double borne = std::min(parameters.max_mispredicted, parameters.max_of_misses * misses / loads);
  fit.fits = fit.mispredicted <= borne + parameters.noise_margin * noise;
  fit.alone = true;
  for (const PolicyTrial& other : std::span(trials).subspan(1)) {
    if (other.policy.kind == best.policy.kind) continue;
    if (!fit.next_best) {
      fit.next_best = other.policy;
      fit.next_mispredicted = static_cast<double>(other.count) / loads;
    }
    fit.alone = fit.alone && is_clearly_better(best, other, parameters);
  }
  return fit;
}

}  // namespace

double majority_error_probability(std::size_t copies, double chance) {
  if (copies == 0) return 1;
  return stats::binomial_upper_tail(copies / 2, copies, std::clamp(chance, 0.0, 1.0));
}

Decision<PolicyFit> decide_policy(std::span<const LoadSequence> sequences, std::size_t ways, double false_misses,
                                  const PolicyParameters& parameters) {
  const Tally tally = tally_of(sequences);
  const double repeats_missed =
      tally.repeats > 0 ? static_cast<double>(tally.repeats_missed) / static_cast<double>(tally.repeats) : 0;
  const std::size_t copies = sequences.empty() ? 0 : sequences.front().copies.size();
  const double noise = majority_error_probability(copies, std::max(false_misses, repeats_missed));
  Decision<PolicyFit> decision;
  decision.why_not = problem_with(tally, copies, noise, parameters);
  if (!decision.why_not.empty()) return decision;
  std::vector<PolicyTrial> trials;
  for (const Policy& policy : policies_of(ways)) trials.push_back(try_policy(policy, ways, tally.sequences));
  const auto loads = static_cast<double>(loads_counted_of(tally.sequences));
  const double misses = static_cast<double>(tally.misses) / static_cast<double>(copies);
  decision.value = best_fit(std::move(trials), loads, misses, noise, parameters);
  const PolicyFit& fit = *decision.value;
  decision.basis = fmt::format(
      "{:.0f} loads, {} misses in {} runs; the best policy, {}, mispredicts {:.2f}%; the next best, {}, {:.2f}%; noise "
      "{:.3f}%",
      loads, tally.misses, copies, to_string(fit.policy, ways), 100 * fit.mispredicted,
      fit.next_best ? to_string(*fit.next_best, ways) : "none", 100 * fit.next_mispredicted, 100 * noise);
  return decision;
}

VictimShares share_victims(std::vector<std::size_t> looked, std::span<const std::optional<std::size_t>> victims) {
  VictimShares shares{
      .share_by_age = std::vector<double>(looked.size()), .looked = {}, .tried = static_cast<double>(victims.size())};
  shares.looked = std::move(looked);
  for (const std::optional<std::size_t>& victim : victims) {
    if (!victim) continue;
    shares.share_by_age[*victim] += 1;
    ++shares.seen;
  }
  for (double& share : shares.share_by_age) share /= std::max(1.0, shares.seen);
  return shares;
}

namespace {

struct Distance {
  double squares = 0;  // of the deviations from even shares, relative to these
  double groups = 0;
};

// Pearson's statistic per victim. Neighbors in the order of looking form a group until it has as many expected victims
// as the test takes: in hundreds of ways each has one victim or none.
Distance distance_from_even(const VictimShares& shares, double false_misses) {
  const VictimParameters parameters;
  const auto ways = static_cast<double>(shares.share_by_age.size());
  // A line counts as the victim if none before it did: because it is, or by noise if the victim comes later.
  std::vector<double> expected;
  double none_before = 1;
  for (std::size_t i = 0; i < shares.looked.size(); ++i) {
    const double later = ways - static_cast<double>(i) - 1;
    expected.push_back(none_before * (1 + false_misses * later) / ways);
    none_before *= 1 - false_misses;
  }
  const double all = std::accumulate(expected.begin(), expected.end(), 0.0);
  Distance distance;
  double part = 0;
  double seen = 0;
  double left = 1;
  for (std::size_t i = 0; i < shares.looked.size(); ++i) {
    part += expected[i] / all;
    left -= expected[i] / all;
    seen += shares.share_by_age[shares.looked[i]];
    const bool is_last = i + 1 == shares.looked.size();
    if (!is_last && shares.seen * std::min(part, left) < parameters.least_expected) continue;
    distance.squares += (seen - part) * (seen - part) / part;
    distance.groups += 1;
    part = seen = 0;
  }
  return distance;
}

}  // namespace

double evenness(const VictimShares& shares, double false_misses) {
  if (shares.seen == 0) return 0;
  if (shares.share_by_age.size() < 2) return 1;
  const Distance distance = distance_from_even(shares, false_misses);
  if (distance.groups < 2) return 1;
  return stats::chi_squared_upper_tail(shares.seen * distance.squares, distance.groups - 1);
}

double unevenness(const VictimShares& shares, double false_misses) {
  if (shares.seen == 0) return 0;
  const Distance distance = distance_from_even(shares, false_misses);
  return std::max(0.0, distance.squares - (distance.groups - 1) / shares.seen);
}

Decision<bool> decide_random(const VictimShares& plain, const VictimShares& touched, double false_misses, bool behind,
                             const VictimParameters& parameters) {
  Decision<bool> decision;
  decision.basis =
      fmt::format("shares of victims, oldest line first: {:.2f}; if the oldest line is loaded again: {:.2f}",
                  fmt::join(plain.share_by_age, " "), fmt::join(touched.share_by_age, " "));
  if (std::min(plain.seen_part(), touched.seen_part()) < parameters.least_seen_part) {
    decision.why_not = "most new lines of a set evict no other line of that set";
    return decision;
  }
  const double uneven = std::max(unevenness(plain, false_misses), unevenness(touched, false_misses));
  decision.basis += fmt::format("; unevenness of the shares {:.4f}; a fraction of {:.4f} of the hits looks like misses",
                                uneven, false_misses);
  const bool even = evenness(plain, false_misses) > parameters.even_chance &&
                    evenness(touched, false_misses) > parameters.even_chance;
  const double of_noise = std::min(parameters.unevenness_of_noise * false_misses, parameters.most_unevenness_of_noise);
  const double false_victims = false_misses * static_cast<double>(plain.share_by_age.size());
  if (!even && (uneven < of_noise || false_victims > parameters.most_false_victims)) {
    decision.why_not = "some lines of a set are evicted slightly more often than others, which noise may explain";
    return decision;
  }
  if (!even && behind) {
    decision.why_not =
        "no replacement policy predicts the hits; because a nearer cache makes sets uncertain, one tested line may be "
        "in a different set from the others";
    return decision;
  }
  decision.value = even;
  return decision;
}

}  // namespace gputopo::probe
