// Text of files, drivers and machines on its way to a person: what a terminal or a page would obey becomes visible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo {

// Bytes of the UTF-8 sequence at the front of text that is not empty; 0 where it is none: overlong forms, surrogates
// and what lies beyond Unicode are none (RFC 3629).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// The code point of one character, which is one sequence of UTF-8.
[[nodiscard]] std::uint32_t code_point(std::string_view character);

// Whether the character, one sequence of UTF-8, is none to read but a command: control characters (C0, DEL, C1), the
// marks that turn the direction of text, separators of lines, the byte order mark.
[[nodiscard]] bool is_command(std::string_view character);

// One line. Line ends and tabs become spaces, commands and bytes that are no UTF-8 what C would write for them: \x1b,
// \u202e.
[[nodiscard]] std::string visible_line(std::string_view text);
// The same, of any number of lines: line ends and tabs stay.
[[nodiscard]] std::string visible_text(std::string_view text);

}  // namespace gputopo
