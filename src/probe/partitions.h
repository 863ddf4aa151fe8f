// L2 partitions: SMs that find near what one of them has loaded are of one side, and there are as many partitions as
// sides (sides.h). What an SM holds of a large footprint at the near latency, against the whole, must agree. What fools
// that: sets that fill unevenly, so that not all of the footprint stays, and latencies that lie too close to be levels.
// What fools both: fewer SMs than partitions.
#pragma once

#include "probe/sides.h"
#include "probe/site.h"

namespace gputopo::probe {

// What an SM has near of a large footprint.
struct NearPart {
  std::optional<double> ratio;             // of all to that
  std::optional<std::int64_t> partitions;  // the whole number that it is, where it is one
  double bytes = 0;
  stats::Interval interval;  // none where all is equally far
};

struct Partitions {
  std::int64_t count = 1;
  std::vector<std::string> flags;
  NearPart near;
  double first_load_cycles = 0;  // of the sides
  // Far hits take longer than what the survey takes for a hit: they look like loads from memory.
  bool far_is_beyond = false;
  std::string method;
  Conditions conditions;
};

// `told_bytes`: of all of L2, where the vendor says so. `sides`: nullptr where they were not found, for the reason
// `no_sides`.
[[nodiscard]] Partitions find_partitions(Lab& lab, const Cache& l2, std::optional<double> told_bytes,
                                         const Sides* sides, const std::string& no_sides);
[[nodiscard]] Attribute to_attribute(const Partitions& partitions);

// One SM does not see all of an L2 whose far lines are copied: what it is from the part that is near. Nothing where
// `seen_bytes` is all of it; that is nothing where it is not known how much an SM sees.
struct SizeByPartitions {
  double bytes = 0;
  stats::Interval interval;
};
[[nodiscard]] std::optional<SizeByPartitions> size_by_partitions(const Partitions& partitions,
                                                                 std::optional<double> seen_bytes);
// The same where far_is_beyond: what was seen is the near part alone.
[[nodiscard]] std::optional<SizeByPartitions> size_by_near_part(const Partitions& partitions,
                                                                const SizeByPartitions& seen);

}  // namespace gputopo::probe
