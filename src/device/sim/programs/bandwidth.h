// Streams on a simulated machine: a formula for their bandwidth instead of a simulation of each load.
#pragma once

#include <cstdint>
#include <string>

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// Device memory that a stream uses.
[[nodiscard]] std::uint64_t stream_footprint_bytes(const StreamProgram& program, std::uint32_t sm_count);

// Whether all SMs share the level.
[[nodiscard]] bool is_of_all(const MachineSpec& spec, const std::string& level);
// The most that one SM reads from what all SMs share; by default its first cache's bandwidth. 0: no limit.
[[nodiscard]] double sm_bytes_per_second(const MachineSpec& spec);

// Throws NotSupportedError if the machine file has no bandwidth for the level that would serve the stream.
void check_stream_levels(const MachineSpec& spec, const StreamProgram& program, std::uint64_t carve_out_bytes);

// Returns bytes_moved and seconds, without noise. The nearest level that holds the footprint serves it at peak * c / (c
// + half), with c bytes in flight, but no faster than the levels in front of it.
[[nodiscard]] StreamResult simulate_stream(const MachineSpec& spec, const StreamProgram& program,
                                           std::uint64_t carve_out_bytes);

}  // namespace gputopo::sim
