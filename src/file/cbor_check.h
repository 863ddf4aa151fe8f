// Whether bytes are CBOR that a recursive reader may read.
#pragma once

#include <cstdint>
#include <span>

namespace gputopo {

// Goes through one CBOR value without calling itself. Throws FormatError where the bytes end early or go on behind it,
// where they are of a form that recordings never have (tags, byte strings, lengths that are not told), and where there
// are more levels or values than file/limits.h allows; "the recording ... at byte 17", without the file's name.
void check_cbor(std::span<const std::uint8_t> bytes);

}  // namespace gputopo
