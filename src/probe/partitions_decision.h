// How many partitions an L2 has, from what of it is near one SM.
#pragma once

#include <cstdint>
#include <optional>

namespace gputopo::probe {

struct PartitionsDecisionParameters {
  // How far from a whole number the ratio may be. More: L2s whose sets fill unevenly are told too; from a half on every
  // ratio would be a whole number.
  double whole_tolerance = 0.25;
};

// Bytes that a pass over a footprint leaves in all of L2, and of them those at the near latency.
struct ResidentBytes {
  double whole = 0;
  double near = 0;
};

struct PartitionCount {
  double ratio = 0;                        // of the whole to what is near; 0 where nothing is near
  std::optional<std::int64_t> partitions;  // nothing where the ratio is no whole number
};

// An SM has one partition near and the lines are spread evenly, so the ratio is the number of partitions.
[[nodiscard]] PartitionCount count_partitions(const ResidentBytes& resident,
                                              const PartitionsDecisionParameters& parameters = {});

}  // namespace gputopo::probe
