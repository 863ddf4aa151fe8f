#include "device/sim/programs/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::sim {

LaunchResult simulate_launch(const MachineSpec& spec, const LaunchProgram& program, Noise& noise) {
  const LaunchSpec& launches = *spec.launches;
  if (program.argument_bytes > launches.max_argument_bytes) {
    throw NotSupportedError(
        fmt::format("{} accepts at most {} bytes of kernel arguments", spec.info.name, launches.max_argument_bytes));
  }
  const bool is_graph = program.way == LaunchMethod::kGraph;
  const double more = program.launches - 1.0;
  const double arguments_ns = program.argument_bytes * launches.argument_byte_ns * (is_graph ? 0 : program.launches);
  const double ns = (is_graph ? launches.graph_latency_ns + more * launches.graph_interval_ns
                              : launches.latency_ns + more * launches.interval_ns) +
                    arguments_ns;
  // The host's part varies, as bandwidths do.
  const double factor = 1 / noise.bandwidth_factor();
  const double submit_ns = launches.submit_ns * (is_graph ? 1.0 : program.launches) + arguments_ns;
  return {.seconds = ns * factor / 1e9, .submit_seconds = std::min(submit_ns, ns) * factor / 1e9};
}

}  // namespace gputopo::sim
