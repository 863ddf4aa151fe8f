// L2 partitions. SMs that find near what one of them loaded are of one side, and there are as many partitions as sides
// (sides.h). The part of a large footprint that an SM holds at the near latency must agree. What fools this check:
// sets that fill unevenly, so that part of the footprint does not stay; latencies too close to be levels. What fools
// both: fewer SMs than partitions.
#pragma once

#include "probe/partitions/sides.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Part of a large footprint that is near an SM.
struct NearPart {
  std::optional<double> ratio;             // whole over near part; the whole is all of L2, or what stays of a footprint
  double ratio_of_all = 0;                 // all of L2 over near part; 0 if nothing is near
  std::optional<std::int64_t> partitions;  // the ratio, if it is a whole number
  double bytes = 0;
  stats::Interval interval;  // empty if all is equally far
};

struct Partitions {
  std::int64_t count = 1;
  std::vector<std::string> flags;
  NearPart near;
  double first_load_cycles = 0;  // from the sides
  // Far hits exceed the survey's limit of a hit, so they look like loads from memory.
  bool far_is_beyond = false;
  std::string method;
  Conditions conditions;
};

// `reported_bytes`: all of L2, if the vendor tells. `sides`: nullptr if they were not found; `no_sides_reason` is the
// reason.
[[nodiscard]] Partitions find_partitions(ProbeRunner& runner, const Cache& l2, std::optional<double> reported_bytes,
                                         const SmsByPartition* sides, const std::string& no_sides_reason);
[[nodiscard]] Attribute to_attribute(const Partitions& partitions);

struct SeenBytes {
  double bytes = 0;
  stats::Interval interval;
};
struct SizeByPartitions {
  SeenBytes size;
  std::string method;
};
// One SM does not see all of an L2 that copies far lines. The size is the near part times the number of partitions; if
// far hits look like loads from memory (far_is_beyond), the near part is all that is seen. If near and far hits look
// alike, nothing tells whether lines are copied: the size is what is seen, up to what copies may hide. Nothing if all
// is seen. `seen`: nothing if unknown.
[[nodiscard]] std::optional<SizeByPartitions> size_by_partitions(const Partitions& partitions,
                                                                 const std::optional<SeenBytes>& seen);

}  // namespace gputopo::probe
