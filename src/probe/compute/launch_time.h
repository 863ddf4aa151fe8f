// The time of kernel launches, by the host's clock.
#pragma once

#include "gputopo/model.h"
#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

// Nanoseconds from the call that launches an empty kernel until the host knows that it has ended. Details: the part of
// the call itself, and the latency by bytes of arguments.
[[nodiscard]] Attribute measure_launch_latency(ProbeRunner& runner);
// The same for a graph of one kernel.
[[nodiscard]] Attribute measure_graph_launch_latency(ProbeRunner& runner);
// Nanoseconds from one launch to the next in a long sequence of calls, or of kernels in one graph.
[[nodiscard]] Attribute measure_launch_interval(ProbeRunner& runner, LaunchMethod way);

}  // namespace gputopo::probe
