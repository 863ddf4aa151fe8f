// Anonymous names.
#pragma once

#include <string>

namespace gputopo {

// A name-based UUID: 122 bits of SHA-1. It does not reveal the serial number or GPU UUID that it was made from.
[[nodiscard]] std::string digest(const std::string& text);

}  // namespace gputopo
