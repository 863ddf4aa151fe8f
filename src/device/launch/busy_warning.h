// The warning of both vendors' devices about other processes on a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gputopo::launch {

// `others`: number of other processes; `busy_percent`: how busy the GPU was before the measurement. Empty if there is
// nothing to warn of: processes that only hold memory disturb nothing.
[[nodiscard]] std::string busy_warning(std::uint32_t others, std::optional<std::uint32_t> busy_percent);

}  // namespace gputopo::launch
