#include "probe/tlb/rounds.h"

#include <algorithm>
#include <bit>

#include "gputopo/program.h"
#include "probe/bench/paired_histogram.h"

namespace gputopo::probe {
namespace {

// 0, a half, a quarter, three quarters, ... of a power of two: any first few of them are far apart.
std::uint32_t far_apart(std::uint64_t index, std::uint64_t power_of_two) {
  std::uint64_t place = 0;
  for (std::uint64_t bit = 1, mirrored = power_of_two / 2; bit < power_of_two; bit *= 2, mirrored /= 2) {
    if ((index & bit) != 0) place |= mirrored;
  }
  return static_cast<std::uint32_t>(place);
}

double middle_of(const stats::Histogram& paired) {
  constexpr double kMiddle = 0.5;
  return slow_difference(paired, {.slow_part = kMiddle});
}

}  // namespace

stats::Histogram as_paired(const stats::Histogram& raw, std::uint32_t hit_cycles) {
  const auto zero = static_cast<std::int64_t>(kPairedZeroCycles / kHistogramBinCycles);
  const std::int64_t shift = zero - static_cast<std::int64_t>(hit_cycles / kHistogramBinCycles);
  stats::Histogram paired(raw.size() + static_cast<std::size_t>(std::max<std::int64_t>(0, shift)), 0);
  for (std::size_t bin = 0; bin < raw.size(); ++bin) {
    const std::int64_t shifted = std::max<std::int64_t>(0, static_cast<std::int64_t>(bin) + shift);
    paired[static_cast<std::size_t>(shifted)] += raw[bin];
  }
  return paired;
}

double served_part(const stats::Histogram& paired, const NearestCache& cache) {
  return cache.serves() ? part_below(paired, cache.served_cycles) : 0;
}

std::optional<NearestCache> find_nearest_cache(const std::vector<std::pair<std::uint64_t, stats::Histogram>>& by_lines,
                                               const NearestCacheParameters& parameters) {
  for (std::size_t i = 0; i < by_lines.size(); ++i) {
    const auto& [lines, paired] = by_lines[i];
    const double gap = middle_of(paired);
    NearestCache found{lines, gap, gap / 2};
    if (gap < parameters.least_gap_cycles || served_part(paired, found) > parameters.few_served) continue;
    const double quickest =
        slow_difference(paired, {.slow_part = parameters.quickest_part}) - parameters.least_gap_cycles;
    found.of_memory = std::ranges::any_of(
        by_lines.begin(), by_lines.begin() + static_cast<std::ptrdiff_t>(i), [&](const auto& fewer) {
          const double between =
              part_below(fewer.second, quickest) - part_below(fewer.second, parameters.least_gap_cycles);
          return quickest > parameters.least_gap_cycles && between > parameters.served_between;
        });
    return found;
  }
  return std::nullopt;
}

std::optional<NearestCache> past_next_cache(const NearestCache& nearest, std::uint64_t lines,
                                            const stats::Histogram& paired, const NearestCacheParameters& parameters) {
  const double gap = middle_of(paired);
  const NearestCache found{lines, gap, (gap + nearest.gap_cycles) / 2};
  const bool is_clear = gap - nearest.gap_cycles >= parameters.least_gap_cycles;
  if (!is_clear || served_part(paired, found) > parameters.few_served) return std::nullopt;
  return found;
}

std::vector<std::uint32_t> in_rounds(const std::vector<std::uint32_t>& lines, std::uint64_t window_lines,
                                     std::uint64_t rounds) {
  std::vector<std::uint32_t> all;
  all.reserve(lines.size() * rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint32_t other = far_apart(round, std::bit_floor(window_lines));
    for (const std::uint32_t line : lines) all.push_back(line ^ other);
  }
  return all;
}

}  // namespace gputopo::probe
