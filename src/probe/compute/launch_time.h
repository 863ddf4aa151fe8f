// What launching a kernel takes, by the host's clock.
#pragma once

#include "gputopo/model.h"
#include "probe/bench/lab.h"

namespace gputopo::probe {

// Nanoseconds from the call that launches a kernel which does nothing until the host knows that it has ended; the part
// of the call itself, and both by bytes of arguments, among the details.
[[nodiscard]] Attribute measure_launch_latency(Lab& lab);
// The same of a graph of one kernel.
[[nodiscard]] Attribute measure_graph_launch_latency(Lab& lab);
// Nanoseconds from one launch to the next, of many in a row: calls, or kernels of one graph.
[[nodiscard]] Attribute measure_launch_interval(Lab& lab, LaunchWay way);

}  // namespace gputopo::probe
