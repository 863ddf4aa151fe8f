// Which SMs are near which L2 partition: the sides that first loads show (sides.h). Atomic additions, which are
// performed where a line is at home, show them another way: every SM adds to the same lines, alone, and what each takes
// against its mean rises and falls together for SMs of one side. What fools that: noise as large as the way to another
// partition, slices that lie farther than it, and programs that do not run where they are sent.
//
// Loads that are repeated tell nothing of sides: what is far at home is copied into the partition of the SM that reads,
// and what is left between SMs and lines is where on the chip they are, whatever the partition.
#pragma once

#include "probe/partitions/sides.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// The SMs near each of an L2's partitions, a group for each.
[[nodiscard]] Attribute measure_near_sms(Lab& lab, const Cache& l2, const Sides& sides);

}  // namespace gputopo::probe
