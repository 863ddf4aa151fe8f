// Checks that bytes are CBOR that a recursive reader can read safely.
#pragma once

#include <cstdint>
#include <span>

namespace gputopo {

// Checks one CBOR value without recursion. Throws FormatError if bytes are missing or left over, for forms that
// recordings never use (tags, byte strings, indefinite lengths), and for more levels or values than file/limits.h
// allows: "the recording ... at byte 17", without the file's name.
void check_cbor(std::span<const std::uint8_t> bytes);

}  // namespace gputopo
