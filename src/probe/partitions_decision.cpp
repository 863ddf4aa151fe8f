#include "probe/partitions_decision.h"

#include <cmath>

namespace gputopo::probe {

PartitionCount count_partitions(const ResidentBytes& resident, const PartitionsDecisionParameters& parameters) {
  if (!(resident.near > 0)) return {};
  PartitionCount found{.ratio = resident.whole / resident.near};
  const double rounded = std::round(found.ratio);
  // More is near than there is: noise, which may not make a partition of less than one.
  if (found.ratio < 1 - parameters.whole_tolerance) return found;
  if (std::abs(found.ratio - rounded) <= parameters.whole_tolerance) {
    found.partitions = static_cast<std::int64_t>(rounded);
  }
  return found;
}

}  // namespace gputopo::probe
