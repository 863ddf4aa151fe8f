#include "probe/partitions/count_decision.h"

#include <cmath>

namespace gputopo::probe {

double seen_with_copies(std::int64_t partitions) {
  const auto count = static_cast<double>(partitions);
  return 1 + (count - 1) * (count - 1) / count;
}

PartitionCount count_partitions(const ResidentBytes& resident, const PartitionsDecisionParameters& parameters) {
  if (!(resident.near > 0)) return {};
  PartitionCount found{.ratio = resident.whole / resident.near};
  const double rounded = std::round(found.ratio);
  // More is near than there is. This is noise, and must not give less than one partition.
  if (found.ratio < 1 - parameters.whole_tolerance) return found;
  if (std::abs(found.ratio - rounded) <= parameters.whole_tolerance) {
    found.partitions = static_cast<std::int64_t>(rounded);
  }
  // From four partitions on, what is seen is nearly a whole number as well, one less than the partitions.
  for (const std::int64_t partitions : {2, 3}) {
    const double off = std::abs(found.ratio - seen_with_copies(partitions));
    if (resident.is_seen && off <= parameters.copies_tolerance) found.partitions = partitions;
  }
  return found;
}

PartitionCount first_whole(const PartitionCount& first, const PartitionCount& other,
                           const PartitionsDecisionParameters& parameters) {
  const bool is_split = first.ratio > 1 + parameters.whole_tolerance;
  if (first.partitions || !other.partitions || (is_split && *other.partitions < 2)) return first;
  return other;
}

}  // namespace gputopo::probe
