// L2 partitions: SMs that find near what one of them has loaded are of one side, and there are as many partitions as
// sides (sides.h). What an SM holds of a large footprint at the near latency, against the whole, must agree. What fools
// that: sets that fill unevenly, so that not all of the footprint stays, and latencies that lie too close to be levels.
// What fools both: fewer SMs than partitions.
#pragma once

#include "probe/partitions/sides.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// What an SM has near of a large footprint.
struct NearPart {
  std::optional<double> ratio;             // of all to that, or of what stays of a footprint
  double ratio_of_all = 0;                 // 0 where nothing is near
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

// What one SM sees of a cache.
struct SeenBytes {
  double bytes = 0;
  stats::Interval interval;
};
struct SizeByPartitions {
  SeenBytes size;
  std::string method;
};
// One SM does not see all of an L2 whose far lines are copied. Its size is that of the part that is near times their
// number, and what is seen where far hits look like loads from memory (far_is_beyond) is that part. Where near and far
// hits look alike, nothing tells whether lines are copied: it is what is seen, or as much more as that may leave out.
// Nothing where all is seen. `seen`: nothing where it is not known how much an SM sees.
[[nodiscard]] std::optional<SizeByPartitions> size_by_partitions(const Partitions& partitions,
                                                                 const std::optional<SeenBytes>& seen);

}  // namespace gputopo::probe
