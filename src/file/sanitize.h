// Makes text of files, drivers and machines safe to show: what a terminal or a page would execute becomes visible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo {

// Length in bytes of the UTF-8 sequence at the start of a nonempty text. 0 if it is invalid, as overlong forms,
// surrogates and code points beyond Unicode are (RFC 3629).
[[nodiscard]] std::size_t utf8_length(std::string_view text);

// The code point of a character, given as one UTF-8 sequence.
[[nodiscard]] std::uint32_t code_point(std::string_view character);

// Whether a character (one UTF-8 sequence) is a command instead of text: control characters (C0, DEL, C1), marks that
// change the text direction, line separators, the byte order mark.
[[nodiscard]] bool is_control_character(std::string_view character);

// Returns one line. Line ends and tabs become spaces; commands and invalid UTF-8 become C escapes: \x1b, \u202e.
[[nodiscard]] std::string sanitized_line(std::string_view text);
// The same for several lines: line ends and tabs stay.
[[nodiscard]] std::string sanitized_text(std::string_view text);

}  // namespace gputopo
