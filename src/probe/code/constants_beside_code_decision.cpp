#include "probe/code/constants_beside_code_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/bench/intervals.h"

namespace gputopo::probe {

bool code_reaches(const ConstantWalk& walk, const ConstantsBesideCodeParameters& parameters) {
  return walk.evicted_cycles >= (1 + parameters.least_contrast) * walk.untouched_cycles;
}

// Under LRU a walk that evicts anything evicts a whole set. Other replacement leaves lines beside what evicted them,
// as many as may go unseen. The capacity lies on the ramp.
SharedCapacity decide_shared_capacity(const BlocksBesideConstants& blocks, std::uint32_t constant_bytes,
                                      double block_bytes, std::uint32_t loop_bytes,
                                      const ConstantsBesideCodeParameters& parameters) {
  const auto bytes = [&](std::uint32_t code) { return constant_bytes + std::round(code * block_bytes); };
  return {.bytes = static_cast<std::int64_t>(bytes(blocks.fits)),
          .interval = {(1 - parameters.begins) * bytes(blocks.fits) - block_bytes, bytes(blocks.most + 1) + loop_bytes},
          .first_miss_bytes = static_cast<std::int64_t>(bytes(blocks.fits + 1)),
          .all_miss_bytes = static_cast<std::int64_t>(bytes(blocks.nearly_all + 1))};
}

Decision<double> sparse_limit(const CodeBesideConstants& code, const ConstantsBesideCodeParameters& parameters) {
  const std::uint32_t left_out = code.constant_bytes / 2;
  if (code.beside_half_bytes - code.beside_all_bytes < parameters.least_room * left_out) {
    return {.why_not = fmt::format("{:.0f} B of code fit in the cache with {} B of constants, and {:.0f} B of code "
                                   "fit with half of these constants: too similar to show the line size",
                                   code.beside_all_bytes, code.constant_bytes, code.beside_half_bytes)};
  }
  return {(code.beside_all_bytes + code.beside_half_bytes) / 2};
}

MissPenalty decide_constant_penalty(double untouched_cycles, std::span<const double> after_all_cycles,
                                    std::span<const double> after_less_cycles, double loads,
                                    const ConstantsBesideCodeParameters& parameters) {
  const auto penalties = [&](std::span<const double> walks) {
    std::vector<double> values;
    for (const double cycles : walks) values.push_back((cycles - untouched_cycles) / loads);
    return values;
  };
  const std::vector<double> found = penalties(after_all_cycles);
  const double penalty = stats::median(found);
  const stats::Interval interval = stats::mean_interval(found);
  const double with_less_code = stats::median(penalties(after_less_cycles));
  const double half = std::max({parameters.least_error_cycles, IntervalParameters{}.clock_drift * penalty,
                                (interval.high - interval.low) / 2, std::abs(penalty - with_less_code)});
  return {penalty, {penalty - half, penalty + half}};
}

}  // namespace gputopo::probe
