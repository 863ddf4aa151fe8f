#include "probe/partitions/cache_behind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gputopo/error.h"
#include "probe/capacity/sampled_residency.h"
#include "probe/partitions/sides.h"
#include "probe/survey/band_latency_decision.h"

namespace gputopo::probe {
namespace {

struct BehindParameters {
  // Footprints, in what both levels hold, that show what is resident in the nearer level and in both.
  double fitting_capacities = 0.9;
  double exceeding_capacities = 2;
  // Divides the samples of a size, because the sizes are only compared.
  std::uint64_t samples_divisor = 8;
  // Passes over the evictor. One pass leaves a part of the array if replacement is random.
  std::size_t evictor_passes = 6;
  // Elements of the evicted array for each counted load. Loads are random and bring lines back, so larger values meet
  // fewer lines twice, and smaller values give a more precise share.
  std::uint64_t elements_of_load = 32;
};
constexpr BehindParameters kBehindParameters;

double part_at(const stats::Histogram& loads, const stats::Level& level) {
  return part_between(loads, level.low_cycles, level.high_cycles);
}

// One level, whether or not it is known to be one.
Cache part_of(const Survey& survey, std::size_t level) {
  return read_again({.survey = &survey, .first_level = level, .last_level = level, .fetch_bytes = survey.fetch_bytes});
}

// Part of an array's loads that hit the farther level after the nearer one has lost it to another array. Together, the
// two are as large as the footprint.
double part_of_evicted(ProbeRunner& runner, const Survey& survey, std::size_t nearer, std::uint64_t footprint_bytes) {
  const std::uint64_t evicted_bytes = part_of(survey, nearer).fits_bytes / 2;
  const ChaseArray evicted = make_array(survey.site, evicted_bytes, survey.fetch_bytes, counted_order(survey));
  const ChaseArray evictor = make_array(survey.site, footprint_bytes - evicted_bytes, survey.fetch_bytes);
  const std::size_t uncounted = 1 + kBehindParameters.evictor_passes;
  std::vector<ChaseStep> steps(uncounted, warm_step(survey.site, evictor, 1));
  steps.front() = warm_step(survey.site, evicted);
  ChaseProgram program = make_program(survey.site, {evicted, evictor}, std::move(steps));
  add_counted_steps(
      program, survey,
      std::min(runner.parameters().exclusive_loads, evicted.element_count() / kBehindParameters.elements_of_load));
  const ChaseResult result = runner.chase({program}).front();
  stats::Histogram loads;
  for (std::size_t i = uncounted; i < result.steps.size(); ++i) stats::accumulate(loads, result.steps[i].histogram);
  return part_at(loads, survey.levels[nearer + 1]);
}

std::optional<std::size_t> count_sides(ProbeRunner& runner, const Cache& cache) {
  try {
    return find_sides(runner, cache).sms.size();
  } catch (const TooManySides& error) {
    runner.log(fmt::format("cache behind: {}", error.what()));
    return std::numeric_limits<std::size_t>::max();
  } catch (const NotSupportedError& error) {
    runner.log(fmt::format("cache behind: {}", error.what()));
  } catch (const Inconclusive& error) {
    runner.log(fmt::format("cache behind: {}", error.what()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> held_by_farther(const Survey& survey, std::size_t nearer,
                                           const CacheBehindParameters& parameters) {
  const std::vector<stats::Histogram>& footprints = survey.histograms;
  const stats::Level& level = survey.levels[nearer + 1];
  if (footprints.empty() || part_at(survey.cold, level) > parameters.of_cold) return std::nullopt;
  // Outliers look like loads from far away in the smallest footprint, too.
  const double outliers = 1 - stats::fraction_below(footprints.front(), level.high_cycles);
  std::vector<std::size_t> held;
  for (std::size_t i = 0; i < footprints.size(); ++i) {
    const double farther = part_at(footprints[i], level);
    const double beyond = 1 - stats::fraction_below(footprints[i], level.high_cycles) - outliers;
    if (farther >= parameters.farther && beyond <= parameters.beyond * farther) held.push_back(i);
  }
  if (held.empty()) return std::nullopt;
  return held[held.size() - std::min<std::size_t>(held.size(), 2)];
}

CacheBehind decide_cache_behind(const FartherLevel& level, const CacheBehindParameters& parameters) {
  if (level.part_of_evicted <= parameters.most_far) return CacheBehind::kFarPart;
  if (!level.sides) return CacheBehind::kUnknown;
  if (*level.sides == 1 || *level.sides > parameters.most_sides) return CacheBehind::kAnotherCache;
  const auto agree = [&](double one, double other) {
    return std::abs(one - other) <= parameters.agree_part * std::max(one, other);
  };
  const bool are_sure = agree(level.swept.near, level.sampled.near) && agree(level.swept.both, level.sampled.both);
  const double same = are_sure ? parameters.same_part : parameters.same_part_if_unsure;
  const double smaller = are_sure ? parameters.smaller : parameters.smaller_if_unsure;
  const double larger = are_sure ? parameters.larger : parameters.larger_if_unsure;
  const auto ratio = [&](const ResidentInLevels& resident) {
    return resident.both / (resident.near * static_cast<double>(*level.sides));
  };
  const auto [least, most] = std::minmax(ratio(level.swept), ratio(level.sampled));
  if (least >= 1 - same && most <= 1 + same) return CacheBehind::kFarPart;
  return most <= smaller || least >= larger ? CacheBehind::kAnotherCache : CacheBehind::kUnknown;
}

namespace {

CacheBehind find_cache_behind(ProbeRunner& runner, const Survey& survey, std::size_t first, std::size_t nearer) {
  const std::optional<std::size_t> held = held_by_farther(survey, nearer);
  if (!held) return CacheBehind::kFarPart;
  FartherLevel level{.part_of_evicted = part_of_evicted(runner, survey, nearer, survey.footprints_bytes[*held])};
  if (decide_cache_behind(level) != CacheBehind::kFarPart) {
    const Cache both = find_cache(survey, first, nearer + 1);
    level.sides = count_sides(runner, both);
    const auto sampled = [&](std::size_t of_level, double capacities) {
      return sampled_residency(runner, both, survey.levels[of_level].high_cycles, both.held_bytes(), capacities,
                               both.line_or_fetch_bytes(),
                               runner.parameters().residency_samples / kBehindParameters.samples_divisor)
          .bytes;
    };
    level.swept = {part_of(survey, nearer).held_bytes(), both.held_bytes()};
    level.sampled = {sampled(nearer, kBehindParameters.fitting_capacities),
                     sampled(nearer + 1, kBehindParameters.exceeding_capacities)};
  }
  runner.log(
      fmt::format("cache behind level {}: {:.3f} of the loads of an evicted array hit the next level, {} groups "
                  "of SMs; resident near and in both levels: {:.0f} and {:.0f} B by the sweep, {:.0f} and {:.0f} B "
                  "by samples",
                  nearer + 1, level.part_of_evicted, level.sides.value_or(0), level.swept.near, level.swept.both,
                  level.sampled.near, level.sampled.both));
  return decide_cache_behind(level);
}

// The cache is known without this experiment, but for a doubt: a recording of an older version lacks the programs, and
// samples may not decide.
CacheBehind find_cache_behind_or_doubt(ProbeRunner& runner, const Survey& survey, std::size_t first,
                                       std::size_t nearer) {
  try {
    return find_cache_behind(runner, survey, first, nearer);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    runner.log(fmt::format("cache behind: {}", error.what()));
  } catch (const Inconclusive& error) {
    runner.log(fmt::format("cache behind: {}", error.what()));
  }
  return CacheBehind::kUnknown;
}

}  // namespace

Cache find_cache_with_far_parts(ProbeRunner& runner, const Survey& survey, std::size_t first) {
  std::size_t last = first;
  std::string doubt;
  for (; last + 2 < survey.levels.size(); ++last) {
    const CacheBehind behind = find_cache_behind_or_doubt(runner, survey, first, last);
    if (behind == CacheBehind::kAnotherCache) break;
    if (behind == CacheBehind::kUnknown) {
      doubt = "cache_behind: loads that take longer may hit another cache behind this one, or a far part of this one";
    }
  }
  Cache cache = find_cache(survey, first, last);
  cache.far_part_doubt = std::move(doubt);
  return cache;
}

}  // namespace gputopo::probe
