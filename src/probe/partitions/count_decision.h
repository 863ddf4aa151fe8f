// How many partitions an L2 has, from what of it is near one SM.
#pragma once

#include <cstdint>
#include <optional>

namespace gputopo::probe {

struct PartitionsDecisionParameters {
  // How far from a whole number the ratio may be. More: L2s whose sets fill unevenly are told too; from a half on every
  // ratio would be a whole number.
  double whole_tolerance = 0.25;
  // The same of what one SM sees where far lines are copied, which is no whole number of what is near: 1.5 of 2
  // partitions, 2.33 of 3. Larger: 1.25 and 1.75 are both told, and each may be of unevenly filled sets.
  double copies_tolerance = 0.12;
};

// Bytes that a pass over a footprint leaves in all of L2, and of them those at the near latency.
struct ResidentBytes {
  double whole = 0;
  double near = 0;
  bool is_seen = false;  // the whole is what one SM sees of a large footprint, and no more is known of it
};

struct PartitionCount {
  double ratio = 0;                        // of the whole to what is near; 0 where nothing is near
  std::optional<std::int64_t> partitions;  // nothing where the ratio is no whole number
};

// All that one SM sees, in partitions, where far lines are copied: the near one, and of each other what is not copied,
// which is all but one in so many of its lines.
[[nodiscard]] double seen_with_copies(std::int64_t partitions);

// An SM has one partition near and the lines are spread evenly, so the ratio is the number of partitions.
[[nodiscard]] PartitionCount count_partitions(const ResidentBytes& resident,
                                              const PartitionsDecisionParameters& parameters = {});

// The first of them that is a whole number, and else the first. Where the first says that there is more than what is
// near, one partition is no answer of the others: their footprints were not all resident.
[[nodiscard]] PartitionCount first_whole(const PartitionCount& first, const PartitionCount& other,
                                         const PartitionsDecisionParameters& parameters = {});

}  // namespace gputopo::probe
