// A cache that constants share with instructions, from how much code fits beside all the constants there may be: its
// size, its line and what a miss costs. Fooled by replacement that does not take the oldest, which leaves constants
// beside the code that evicts them, and by an index that does not spread sparse constants over all sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct ConstantsBesideCodeParameters {
  // Parts of what all the code there is evicts. The beginning: clear of the noise of a walk. Larger: a size that is too
  // large; smaller: noise ends it early.
  double begins = 0.04;
  double half = 0.5;
  // Where sets fill unevenly half of the constants may be gone before the cache is full, but not so many.
  double most = 0.75;
  double nearly_all = 0.95;
  // Evicted constants must take longer by this part, or the code does not reach their cache.
  double least_contrast = 0.15;
  // Of the bytes of constants that are left out, the least that code gains: less does not tell sparse from half.
  double least_room = 0.25;
  // Cycles that a penalty may be off at least: the timer counts whole ones.
  double least_error_cycles = 1;
};

// Cycles of a walk over constants that nothing evicted, and after all the code there is.
struct ConstantWalk {
  double untouched_cycles = 0;
  double evicted_cycles = 0;

  // How much of it was evicted: 0 to 1.
  [[nodiscard]] double part(double cycles) const {
    return (cycles - untouched_cycles) / (evicted_cycles - untouched_cycles);
  }
};
// Whether code evicts the constants.
[[nodiscard]] bool code_reaches(const ConstantWalk& walk, const ConstantsBesideCodeParameters& parameters = {});

// The most blocks of code beside the constants so that no more of these than a part (as above) is evicted.
struct BlocksBesideConstants {
  std::uint32_t fits = 0;  // begins
  std::uint32_t most = 0;
  std::uint32_t nearly_all = 0;
};
struct SharedCapacity {
  std::int64_t bytes = 0;
  stats::Interval interval;
  std::int64_t first_miss_bytes = 0;
  std::int64_t all_miss_bytes = 0;
};
// `loop_bytes`: of code that every pass runs besides.
[[nodiscard]] SharedCapacity decide_shared_capacity(const BlocksBesideConstants& blocks, std::uint32_t constant_bytes,
                                                    double block_bytes, std::uint32_t loop_bytes,
                                                    const ConstantsBesideCodeParameters& parameters = {});

// Bytes of code that fit beside constants until half of those are evicted.
struct CodeBesideConstants {
  std::uint32_t constant_bytes = 0;  // all of them
  double beside_all_bytes = 0;
  double beside_half_bytes = 0;
};
// Constants of which every other fetch is left out take up as much of the cache as all of them where two fetches are of
// one line, and as much as half of them where each has a line of its own. The bytes of code that tell one from the
// other; nothing where all and half of them leave about as much room.
[[nodiscard]] Decision<double> sparse_limit(const CodeBesideConstants& code,
                                            const ConstantsBesideCodeParameters& parameters = {});

struct MissPenalty {
  double cycles = 0;
  stats::Interval interval;
};
// What each of the `loads` of a walk takes longer once code has evicted all constants: from some walks after all the
// code there is, and after less. Where not all of it is evicted, less code evicts less.
[[nodiscard]] MissPenalty decide_constant_penalty(double untouched_cycles, std::span<const double> after_all_cycles,
                                                  std::span<const double> after_less_cycles, double loads,
                                                  const ConstantsBesideCodeParameters& parameters = {});

}  // namespace gputopo::probe
