// Which SMs are near which L2 partition. Every SM loads the same lines from L2, alone, and the time of each line goes
// by the slice that it lies in and the way from the SM to there. SMs of one partition find the same slices near, so
// that what a line takes there, against what it takes on average, rises and falls together; SMs of another partition
// reach other slices, or the same ones the other way round. What fools it: noise as large as the difference of the
// ways, and programs that do not run where they are sent.
#pragma once

#include "probe/site.h"

namespace gputopo::probe {

// The SMs near each of an L2's partitions, a group for each.
[[nodiscard]] Attribute measure_near_sms(Lab& lab, const Cache& l2, std::size_t partitions);

}  // namespace gputopo::probe
