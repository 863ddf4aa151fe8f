// Which SMs are near which L2 partition: the sides that first loads show (sides.h). Atomic additions, which execute
// where a line is at home, show these in another way: every SM, alone, adds to the same lines, and the latencies
// relative to its mean rise and fall together for SMs of one side. What fools the atomics: noise as large as the way
// to another partition; slices that lie farther than that; programs that do not run where they are sent.
//
// Repeated loads tell nothing about sides: far lines are copied into the partition of the SM that reads, and the
// remaining differences show where on the chip SMs and lines are, whatever the partition.
#pragma once

#include "probe/partitions/sides.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// SMs near each partition of an L2, one group each.
[[nodiscard]] Attribute measure_near_sms(ProbeRunner& runner, const Cache& l2, const SmsByPartition& sides);

}  // namespace gputopo::probe
