// Which SMs are near the same part of L2, from the latencies of their first loads of lines that one SM has just
// loaded. Pure functions; sides.cpp takes the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct SidesDecisionParameters {
  // In standard errors of a mean: largest difference between SMs of one side, and smallest between two sides. Larger
  // values miss sides that differ little; smaller values make sides of noise.
  double same_errors = 6;
  double apart_errors = 8;
  // Least difference of two sides, in cycles: loads differ by this for other reasons, and it is half a histogram bin.
  double least_cycles = 1;
  // If no SM seems farther, a difference that would not have been seen is at most this fraction of a load's latency.
  // Larger values let noise hide sides; smaller values find fewer machines to have one side.
  double hidden_part = 0.1;
  // Middle fraction of the distance between sides where no SM may be. Larger values decide fewer machines; smaller
  // values put a disturbed SM on a side.
  double empty_part = 0.3;
  // A GPU has about as many SMs on each side, so a side without an SM is unlikely if each that shows has this many.
  std::size_t sms_of_a_side = 3;
  // Deviation of the ratio of all to the near part from what the number of sides implies.
  double near_tolerance = 0.25;
};

// How much longer the first load of a line that another SM just loaded takes than the second, as a mean over lines.
struct FirstTouch {
  std::uint32_t sm = 0;
  double cycles = 0;
};

struct NearAndFarSms {
  std::vector<std::uint32_t> near;  // same side as the SM that loaded first
  std::vector<std::uint32_t> far;
  double far_cycles = 0;  // by which the far ones' first loads take longer, median
};

// Means over the lines that one SM loaded first.
struct FirstTouches {
  std::vector<FirstTouch> others;
  double control_cycles = 0;  // the same for the SM that loaded first itself
  double error_cycles = 0;    // standard error of each mean
  double near_cycles = 0;     // latency of a near line
};
[[nodiscard]] Decision<NearAndFarSms> split_by_first_touch(const FirstTouches& touches,
                                                           const SidesDecisionParameters& parameters = {});

// Whether the ratio of all of L2 to the near part fits this many partitions: it is their number or, if far lines are
// copied, what seen_with_copies() says.
[[nodiscard]] bool fits_partitions(double ratio, std::int64_t partitions,
                                   const SidesDecisionParameters& parameters = {});

// Whether what one SM sees of L2, over the near part, fits copied far lines better than the whole.
[[nodiscard]] bool sees_copies(double ratio, std::int64_t partitions);

struct PartitionsEvidence {
  std::optional<double> near_ratio;               // resident bytes over those that stay near; 1: nothing is far
  double ratio_of_all = 0;                        // the size of L2 over the bytes that stay near
  std::optional<std::int64_t> by_near_size;       // the partitions by near_ratio, if it is whole
  std::optional<std::vector<std::size_t>> sides;  // SMs on each side
  std::string no_sides_reason;                    // why there are none
};
struct PartitionsFound {
  std::int64_t partitions = 1;
  std::vector<std::string> flags;
};
[[nodiscard]] Decision<PartitionsFound> decide_partitions(const PartitionsEvidence& evidence,
                                                          const SidesDecisionParameters& parameters = {});

}  // namespace gputopo::probe
