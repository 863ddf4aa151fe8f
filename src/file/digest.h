// Names that say nothing of what they stand for.
#pragma once

#include <string>

namespace gputopo {

// A name-based UUID: 122 bits of SHA-1. What a serial number or the UUID of a GPU went into is not to be read from it.
[[nodiscard]] std::string digest(const std::string& text);

}  // namespace gputopo
