// Streams on a simulated machine: a model of bandwidth, not a simulation of each load.
#pragma once

#include <cstdint>
#include <string>

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// The device memory that a stream takes.
[[nodiscard]] std::uint64_t stream_footprint_bytes(const StreamProgram& program, std::uint32_t sm_count);

// Whether all SMs have the level together.
[[nodiscard]] bool is_of_all(const MachineSpec& spec, const std::string& level);
// What one SM reads at most of what all share: where the machine does not say, what its first cache gives. 0: no limit.
[[nodiscard]] double sm_bytes_per_second(const MachineSpec& spec);

// Throws NotSupportedError when the machine gives no bandwidth for the level that would serve the stream.
void check_stream_levels(const MachineSpec& spec, const StreamProgram& program, std::uint64_t carve_out_bytes);

// bytes_moved and seconds, without noise. The nearest level that holds the footprint serves it, at
// peak * c / (c + half) with c bytes in flight, and no faster than the levels in front of it pass it on.
[[nodiscard]] StreamResult simulate_stream(const MachineSpec& spec, const StreamProgram& program,
                                           std::uint64_t carve_out_bytes);

}  // namespace gputopo::sim
