// How much of the host's memory a process can take.
#pragma once

#include <cstdint>
#include <optional>

namespace gputopo {

// Returns the bytes that this process can still take before the system ends it, as far as is known: the limits of the
// host, of the control groups of a scheduler or container, and of the NUMA node, if given.
[[nodiscard]] std::uint64_t host_room_bytes(std::optional<std::uint32_t> numa_node = std::nullopt);

}  // namespace gputopo
