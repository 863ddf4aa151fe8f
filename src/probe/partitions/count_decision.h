// Number of L2 partitions, from the part that is near one SM.
#pragma once

#include <cstdint>
#include <optional>

namespace gputopo::probe {

struct PartitionsDecisionParameters {
  // Deviation of the ratio from a whole number. Larger values decide L2s whose sets fill unevenly; from a half on,
  // every ratio is a whole number.
  double whole_tolerance = 0.25;
  // The same for what one SM sees if far lines are copied, no whole multiple of the near part: 1.5 for 2 partitions,
  // 2.33 for 3. Larger values accept 1.25 and 1.75, which unevenly filled sets may give as well.
  double copies_tolerance = 0.12;
};

// Bytes that a pass over a footprint leaves in all of L2, and those of them at the near latency.
struct ResidentBytes {
  double whole = 0;
  double near = 0;
  bool is_seen = false;  // the whole is what one SM sees of a large footprint; nothing else is known
};

struct PartitionCount {
  double ratio = 0;                        // whole over near part; 0 if nothing is near
  std::optional<std::int64_t> partitions;  // nothing if the ratio is no whole number
};

// Partitions that one SM sees if far lines are copied: the near one, and of each other one all lines that have no
// copy, which are all but one in `partitions`.
[[nodiscard]] double seen_with_copies(std::int64_t partitions);

// One partition is near an SM and lines are spread evenly, so the ratio is the number of partitions.
[[nodiscard]] PartitionCount count_partitions(const ResidentBytes& resident,
                                              const PartitionsDecisionParameters& parameters = {});

// The first one that is a whole number, else `first`. If `first` shows more than the near part, the other cannot say
// one partition: its footprint was not fully resident.
[[nodiscard]] PartitionCount first_whole(const PartitionCount& first, const PartitionCount& other,
                                         const PartitionsDecisionParameters& parameters = {});

}  // namespace gputopo::probe
