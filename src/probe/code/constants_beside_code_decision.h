// A cache that constants share with instructions, from how much code fits beside as many constants as possible: its
// size, line and miss penalty. Replacement of other than the oldest line fools the method, because constants stay
// beside the code that evicts them; so does an index that does not spread sparse constants over all sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct ConstantsBesideCodeParameters {
  // Evicted parts, relative to what all of the code evicts. The first one exceeds the noise of a walk. Larger values
  // report too large a size; smaller values let noise end the cache early.
  double begins = 0.04;
  double half = 0.5;
  // If sets fill unevenly, half of the constants may be evicted before the cache is full, but not this part.
  double most = 0.75;
  double nearly_all = 0.95;
  // Least relative delay of evicted constants; with less, the code does not reach their cache.
  double least_contrast = 0.15;
  // Least room for code gained, as a part of the constants left out; with less, sparse looks like half.
  double least_room = 0.25;
  // Least error of the penalty (cycles): the timer counts whole cycles.
  double least_error_cycles = 1;
};

// Cycles of a walk over constants that nothing evicted, and of one after all of the code.
struct ConstantWalk {
  double untouched_cycles = 0;
  double evicted_cycles = 0;

  // Evicted part, 0 to 1.
  [[nodiscard]] double part(double cycles) const {
    return (cycles - untouched_cycles) / (evicted_cycles - untouched_cycles);
  }
};
[[nodiscard]] bool code_reaches(const ConstantWalk& walk, const ConstantsBesideCodeParameters& parameters = {});

// The most blocks of code that evict at most the part of the same name in ConstantsBesideCodeParameters.
struct BlocksBesideConstants {
  std::uint32_t fits = 0;  // `begins`
  std::uint32_t most = 0;
  std::uint32_t nearly_all = 0;
};
struct SharedCapacity {
  std::int64_t bytes = 0;
  stats::Interval interval;
  std::int64_t first_miss_bytes = 0;
  std::int64_t all_miss_bytes = 0;
};
// `loop_bytes`: other code that every pass runs.
[[nodiscard]] SharedCapacity decide_shared_capacity(const BlocksBesideConstants& blocks, std::uint32_t constant_bytes,
                                                    double block_bytes, std::uint32_t loop_bytes,
                                                    const ConstantsBesideCodeParameters& parameters = {});

// Bytes of code that fit beside constants until half of these are evicted.
struct CodeBesideConstants {
  std::uint32_t constant_bytes = 0;  // all constants
  double beside_all_bytes = 0;
  double beside_half_bytes = 0;
};
// Limit (bytes of code) for constants with every other fetch left out. They take up as much of the cache as all
// constants if two fetches share a line, or as half of them if each has its own. Nothing if both leave similar room.
[[nodiscard]] Decision<double> sparse_limit(const CodeBesideConstants& code,
                                            const ConstantsBesideCodeParameters& parameters = {});

struct MissPenalty {
  double cycles = 0;
  stats::Interval interval;
};
// Extra cycles of each of the `loads` of a walk after code has evicted all constants, from walks after all of the code
// and after less. If all of it does not evict everything, less code evicts less.
[[nodiscard]] MissPenalty decide_constant_penalty(double untouched_cycles, std::span<const double> after_all_cycles,
                                                  std::span<const double> after_less_cycles, double loads,
                                                  const ConstantsBesideCodeParameters& parameters = {});

}  // namespace gputopo::probe
