#include "fleet/large.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "fleet/exact.h"
#include "stats/descriptive.h"
#include "stats/precision.h"

namespace gputopo::fleet {
namespace {

// Smallest deviation that is a finding: as a part of the usual value, and in spreads of the other GPUs. Set so that of
// 400 clean fleets of each size and distribution (FleetTruth) at most two have a finding by this test. Larger values
// cause fewer false alarms and find fewer faults.
struct Limits {
  std::size_t least_gpus = 0;
  double one_part = 0;  // a single value
  double one_spreads = 0;
  double two_part = 0;  // each of two values of one part of the GPU, both worse or both better
  double two_spreads = 0;
};
constexpr std::array kLimits = {
    Limits{.least_gpus = 3, .one_part = 0.3, .one_spreads = 10, .two_part = 0.2, .two_spreads = 8},
    Limits{.least_gpus = 8, .one_part = 0.13, .one_spreads = 18, .two_part = 0.1, .two_spreads = 9},
    Limits{.least_gpus = 16, .one_part = 0.13, .one_spreads = 15, .two_part = 0.07, .two_spreads = 7.5},
    Limits{.least_gpus = 32, .one_part = 0.13, .one_spreads = 19, .two_part = 0.04, .two_spreads = 6},
    Limits{.least_gpus = 64, .one_part = 0.13, .one_spreads = 25, .two_part = 0.04, .two_spreads = 6.5},
};
// Larger groups show their own distribution, and the tests of rarity find more than this one.
constexpr std::size_t kMostGpus = 150;
// The outermost of the others do not count for their spread, because they may be faulty, too.
constexpr std::size_t kLeastForOutermost = 7;
constexpr std::size_t kPerOutermost = 16;
// Measurement noise and differences between chips make tails at least this light; heavier ones are not seen on GPUs.
constexpr double kFreedom = 4;

struct Item {
  const NumberCell* cell = nullptr;
  std::uint32_t population = 0;
  double usual = 0;     // the others' median, logarithmic
  double distance = 0;  // from it, logarithmic
  double spread = 0;    // of the others
};

double spread_around(const std::vector<double>& others, double centre) {
  std::vector<double> distances;
  for (const double value : others) distances.push_back(std::abs(value - centre));
  std::ranges::sort(distances);
  std::size_t kept = distances.size();
  if (kept >= kLeastForOutermost) kept -= std::max<std::size_t>(1, kept / kPerOutermost);
  double squares = 0;
  for (std::size_t i = 0; i < kept; ++i) squares += distances[i] * distances[i];
  return std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, kept - 1)));
}

void add_items(const Population& population, std::uint32_t index, const JudgeParameters& parameters,
               std::vector<Item>& items) {
  std::vector<double> errors;
  for (const NumberCell& cell : population.numbers) {
    // A ratio needs positive values.
    if (cell.reading->value <= 0) return;
    errors.push_back(logarithmic_error(*cell.reading));
  }
  const double usual_error = errors.empty() ? 0 : stats::median(errors);
  for (std::size_t i = 0; i < population.numbers.size(); ++i) {
    const NumberCell& cell = population.numbers[i];
    std::vector<double> others;
    for (const NumberCell& other : population.numbers) {
      if (other.gpu != cell.gpu) others.push_back(std::log(other.reading->value));
    }
    if (others.size() + 1 < parameters.least_gpus_for_exact) continue;
    const double usual = stats::median(others);
    const double own_variance = std::max(errors[i] * errors[i] - usual_error * usual_error, 0.0);
    const double spread = spread_around(others, usual);
    items.push_back({.cell = &cell,
                     .population = index,
                     .usual = usual,
                     .distance = std::log(cell.reading->value) - usual,
                     .spread = std::sqrt(spread * spread + own_variance)});
  }
}

// The spread of a few values may be small by chance, so none counts as smaller than that of most values. Of each value,
// the smallest spread counts: in a small group, a fault widens the spreads that contain it.
void limit_spreads(const JudgeParameters& parameters, std::vector<Item>& items) {
  if (items.empty()) return;
  std::map<std::uint32_t, double> smallest;
  for (const Item& item : items) {
    const auto [entry, is_new] = smallest.try_emplace(item.population, item.spread);
    entry->second = std::min(entry->second, item.spread);
  }
  std::vector<double> spreads;
  for (const auto& [population, spread] : smallest) spreads.push_back(spread);
  const double least = std::max(stats::median(spreads), parameters.least_relative_scale);
  for (Item& item : items) item.spread = std::max(item.spread, least);
}

// 0.5 both for half and for twice the usual value.
double part_of(const Item& item) { return 1 - std::exp(-std::abs(item.distance)); }
double spreads_of(const Item& item) { return std::abs(item.distance) / item.spread; }

LargeDeviation found(const Item& item, std::optional<Aspect> part) {
  const double distance = item.distance / item.spread;
  const boost::math::students_t_distribution<double, stats::InDouble> tails(kFreedom);
  return {.score = {.gpu = item.cell->gpu,
                    .population = item.population,
                    .reading = item.cell->reading,
                    .usual = std::exp(item.usual),
                    .score = distance,
                    .p_value = 2 * boost::math::cdf(boost::math::complement(tails, std::abs(distance)))},
          .part = part};
}

// Adds values that deviate together with another one of the same GPU and part, to the same side.
void add_pairs(const std::vector<Item>& items, const std::vector<Population>& populations, const Limits& limits,
               std::vector<LargeDeviation>& result) {
  std::map<std::tuple<std::uint32_t, std::size_t, bool>, std::vector<const Item*>> alike;
  for (const Item& item : items) {
    const ValueKind& kind = populations[item.population].kind;
    const int sign = worse_sign(kind);
    if (sign == 0 || part_of(item) < limits.two_part || spreads_of(item) < limits.two_spreads) continue;
    for (std::size_t aspect = 0; aspect < kAspects; ++aspect) {
      const auto part = static_cast<Aspect>(aspect);
      if (part == Aspect::kAll || part == Aspect::kOnChipRates || !kind.has(part)) continue;
      alike[{item.cell->gpu, aspect, sign * item.distance > 0}].push_back(&item);
    }
  }
  for (const auto& [key, of_part] : alike) {
    if (of_part.size() < 2) continue;
    for (const Item* item : of_part) result.push_back(found(*item, static_cast<Aspect>(std::get<1>(key))));
  }
}

}  // namespace

std::vector<LargeDeviation> large_deviations(const Store& store, const Members& members,
                                             const std::vector<Population>& populations,
                                             const JudgeParameters& parameters) {
  const std::size_t gpus = members.gpus.size();
  std::vector<LargeDeviation> result;
  const auto above = std::ranges::find_if(kLimits, [gpus](const Limits& limits) { return limits.least_gpus > gpus; });
  if (above == kLimits.begin() || gpus > kMostGpus) return result;
  const Limits& limits = *std::prev(above);
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < populations.size(); ++i) {
    if (is_compared_by_spread(store, populations[i], parameters)) add_items(populations[i], i, parameters, items);
  }
  limit_spreads(parameters, items);
  add_pairs(items, populations, limits, result);
  for (const Item& item : items) {
    if (part_of(item) >= limits.one_part && spreads_of(item) >= limits.one_spreads) {
      result.push_back(found(item, std::nullopt));
    }
  }
  return result;
}

}  // namespace gputopo::fleet
