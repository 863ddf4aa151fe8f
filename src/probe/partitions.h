// L2 partitions: an SM reaches its own partition at the near latency; what it holds of a large footprint there, against
// the whole, is one over the number of partitions. What fools it: sets that fill unevenly, so that not all of the
// footprint stays, and a far latency that is no other than that of memory.
#pragma once

#include "probe/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute measure_partitions(Lab& lab, const Cache& l2, double total_bytes);

}  // namespace gputopo::probe
