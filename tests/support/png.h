// Pictures that other programs drew, for tests of what is seen in them.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

namespace gputopo::test {

// How many pixels of a PNG have which colour, 0xRRGGBB. Of eight bits a channel, with or without alpha, which is passed
// over, and not interlaced; throws std::runtime_error for anything else.
[[nodiscard]] std::map<std::uint32_t, std::size_t> pixels_by_colour(std::string_view png);

}  // namespace gputopo::test
