// Reads images that other programs drew, so that tests can check their content.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

namespace gputopo::test {

// Counts the pixels of each color (0xRRGGBB) in a PNG. Reads 8 bits per channel without interlacing and ignores
// alpha. Throws std::runtime_error for other formats.
[[nodiscard]] std::map<std::uint32_t, std::size_t> pixels_by_colour(std::string_view png);

}  // namespace gputopo::test
