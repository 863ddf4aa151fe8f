// What both vendors' devices say of others at work on a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gputopo::launch {

// Of how many other processes there were, and how busy the GPU was, in percent, before the measurement. Empty where
// there is nothing to warn of: those that only hold memory disturb nothing.
[[nodiscard]] std::string busy_warning(std::uint32_t others, std::optional<std::uint32_t> busy_percent);

}  // namespace gputopo::launch
