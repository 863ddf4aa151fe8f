#include "fleet/large.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "fleet/exact.h"
#include "stats/descriptive.h"
#include "stats/precision.h"

namespace gputopo::fleet {
namespace {

// Smallest deviation that is a finding: as a part of the usual value, and in spreads of the other GPUs. Set so that of
// 400 clean fleets of each size and distribution (FleetTruth) at most four have a finding by this test. Larger values
// cause fewer false alarms and find fewer faults.
struct Limits {
  std::size_t least_gpus = 0;
  double one_part = 0;  // a single value
  double one_spreads = 0;
  double two_part = 0;  // each of two values of one part of the GPU, both worse
  double two_spreads = 0;
};
constexpr std::array kLimits = {
    Limits{.least_gpus = 3, .one_part = 0.2, .one_spreads = 15, .two_part = 0.13, .two_spreads = 8},
    Limits{.least_gpus = 8, .one_part = 0.13, .one_spreads = 12, .two_part = 0.12, .two_spreads = 8},
    Limits{.least_gpus = 16, .one_part = 0.1, .one_spreads = 12, .two_part = 0.07, .two_spreads = 7.5},
    Limits{.least_gpus = 32, .one_part = 0.08, .one_spreads = 14, .two_part = 0.04, .two_spreads = 6},
    Limits{.least_gpus = 64, .one_part = 0.1, .one_spreads = 18, .two_part = 0.04, .two_spreads = 6.5},
    Limits{.least_gpus = 151, .one_part = 0.13, .one_spreads = 18, .two_part = 0.06, .two_spreads = 8},
    Limits{.least_gpus = 601, .one_part = 0.25, .one_spreads = 32, .two_part = 0.12, .two_spreads = 14},
    Limits{.least_gpus = 2001, .one_part = 0.4, .one_spreads = 55, .two_part = 0.2, .two_spreads = 25},
};
// In a larger group, leaving one GPU out of the others changes nothing, so the others are all GPUs.
constexpr std::size_t kManyValues = 600;
// Share of the others that show the spread. The rest may be faulty, too.
constexpr double kClosest = 0.75;
// Measurement noise and differences between chips make tails at least this light; heavier ones are not seen on GPUs.
constexpr double kFreedom = 4;

// Halves of a group that differ by this much, and that are each at least this share of it, are no spread of healthy
// GPUs.
constexpr double kSplitPart = 0.3;
constexpr double kSplitShare = 0.25;

// Standard deviation of the given innermost share of a normal distribution, relative to that of the whole.
double share_of_deviation(double share) {
  if (share >= 1) return 1;
  const boost::math::normal_distribution<double, stats::InDouble> normal;
  const double edge = boost::math::quantile(normal, (1 + share) / 2);
  return std::sqrt(1 - 2 * edge * boost::math::pdf(normal, edge) / share);
}

struct Item {
  const NumberCell* cell = nullptr;
  std::uint32_t population = 0;
  double usual = 0;     // the others' median, logarithmic
  double distance = 0;  // from it, logarithmic
  double spread = 0;    // of the others
};

struct Others {
  double usual = 0;   // median
  double spread = 0;  // standard deviation, estimated from the values closest to the median, so that a fault of several
                      // GPUs does not widen it
};

Others describe(const std::vector<double>& others) {
  const double centre = stats::median(others);
  std::vector<double> distances;
  for (const double value : others) distances.push_back(std::abs(value - centre));
  const auto all = static_cast<double>(distances.size());
  const auto kept =
      std::max(std::min<std::size_t>(2, distances.size()), static_cast<std::size_t>(std::ceil(kClosest * all)));
  std::ranges::nth_element(distances, distances.begin() + static_cast<std::ptrdiff_t>(kept) - 1);
  double squares = 0;
  for (std::size_t i = 0; i < kept; ++i) squares += distances[i] * distances[i];
  const double deviation = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(1, kept - 1)));
  return {.usual = centre, .spread = deviation / share_of_deviation(static_cast<double>(kept) / all)};
}

// A ratio needs positive values. A rate of 0 counts as this part of the usual one.
constexpr double kNearlyNothing = 1e-6;

// Logarithms of the values; empty if most are not positive.
std::vector<double> logarithms_of(const Population& population) {
  std::vector<double> values;
  for (const NumberCell& cell : population.numbers) values.push_back(cell.reading->value);
  const double usual = values.empty() ? 0 : stats::median(values);
  if (usual <= 0) return {};
  for (double& value : values) value = std::log(std::max(value, kNearlyNothing * usual));
  return values;
}

// The values of all GPUs but one.
std::vector<double> without(std::uint32_t gpu, const Population& population, const std::vector<double>& values) {
  std::vector<double> others;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (population.numbers[i].gpu != gpu) others.push_back(values[i]);
  }
  return others;
}

void add_items(const Population& population, std::uint32_t index, const JudgeParameters& parameters,
               std::vector<Item>& items) {
  const std::vector<double> values = logarithms_of(population);
  if (values.empty()) return;
  std::vector<double> errors;
  for (const NumberCell& cell : population.numbers) errors.push_back(logarithmic_error(*cell.reading));
  const double usual_error = stats::median(errors);
  Others others;
  if (values.size() > kManyValues) others = describe(values);
  for (std::size_t i = 0; i < population.numbers.size(); ++i) {
    const NumberCell& cell = population.numbers[i];
    if (values.size() <= kManyValues) {
      const std::vector<double> of_others = without(cell.gpu, population, values);
      if (of_others.size() + 1 < parameters.least_gpus_for_exact) continue;
      others = describe(of_others);
    }
    const double own_variance = std::max(errors[i] * errors[i] - usual_error * usual_error, 0.0);
    items.push_back({.cell = &cell,
                     .population = index,
                     .usual = others.usual,
                     .distance = values[i] - others.usual,
                     .spread = std::sqrt(others.spread * others.spread + own_variance)});
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

// Adds values that are worse together with another one of the same GPU and part. Better chips are no faults.
void add_pairs(const std::vector<Item>& items, const std::vector<Population>& populations, const Limits& limits,
               std::vector<LargeDeviation>& result) {
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<const Item*>> alike;
  for (const Item& item : items) {
    const ValueKind& kind = populations[item.population].kind;
    const int sign = worse_sign(kind);
    if (sign * item.distance <= 0 || part_of(item) < limits.two_part || spreads_of(item) < limits.two_spreads) continue;
    for (std::size_t aspect = 0; aspect < kAspects; ++aspect) {
      const auto part = static_cast<Aspect>(aspect);
      if (part == Aspect::kAll || part == Aspect::kOnChipRates || !kind.has(part)) continue;
      alike[{item.cell->gpu, aspect}].push_back(&item);
    }
  }
  for (const auto& [key, of_part] : alike) {
    if (of_part.size() < 2) continue;
    for (const Item* item : of_part) result.push_back(found(*item, static_cast<Aspect>(key.second)));
  }
}

}  // namespace

std::vector<LargeDeviation> large_deviations(const Store& store, const Members& members,
                                             const std::vector<Population>& populations,
                                             const JudgeParameters& parameters) {
  const std::size_t gpus = members.gpus.size();
  std::vector<LargeDeviation> result;
  const auto above = std::ranges::find_if(kLimits, [gpus](const Limits& limits) { return limits.least_gpus > gpus; });
  if (above == kLimits.begin()) return result;
  const Limits& limits = *std::prev(above);
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < populations.size(); ++i) {
    if (is_compared_by_spread(store, populations[i], parameters)) add_items(populations[i], i, parameters, items);
  }
  limit_spreads(parameters, items);
  add_pairs(items, populations, limits, result);
  for (const Item& item : items) {
    const int sign = worse_sign(populations[item.population].kind);
    const bool is_better = sign * item.distance < 0;
    if (!is_better && part_of(item) >= limits.one_part && spreads_of(item) >= limits.one_spreads) {
      result.push_back(found(item, std::nullopt));
    }
  }
  return result;
}

std::vector<Split> splits_of(const Members& members, const std::vector<Population>& populations) {
  std::vector<Split> splits;
  for (std::uint32_t i = 0; i < populations.size(); ++i) {
    const Population& population = populations[i];
    const bool is_rated = worse_sign(population.kind) != 0 || population.kind.is_structure;
    if (!population.kind.is_compared || !population.kind.link.empty() || !is_rated) continue;
    std::vector<double> values = logarithms_of(population);
    if (values.size() < 2 || 10 * values.size() < 6 * members.gpus.size()) continue;
    std::ranges::sort(values);
    std::size_t below = 1;  // values before the widest gap
    for (std::size_t at = 1; at < values.size(); ++at) {
      if (values[at] - values[at - 1] > values[below] - values[below - 1]) below = at;
    }
    const auto share = static_cast<double>(below) / static_cast<double>(values.size());
    const bool are_apart = values[below] - values[below - 1] >= -std::log1p(-kSplitPart);
    if (!are_apart || share < kSplitShare || share > 1 - kSplitShare) continue;
    const std::span<const double> sorted(values);
    Split split{.population = i,
                .low = std::exp(stats::median(sorted.first(below))),
                .high = std::exp(stats::median(sorted.subspan(below)))};
    for (const NumberCell& cell : population.numbers) split.gpus.push_back(cell.gpu);
    splits.push_back(std::move(split));
  }
  return splits;
}

}  // namespace gputopo::fleet
