#include "file/sanitize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace gputopo {
namespace {

bool is_command_code(std::uint32_t code) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x2029},  {0x202A, 0x202E},
      {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE007F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return range.first <= code && code <= range.second; });
}

// Whether a byte may be part of a command, or of no character at all. char is signed with some compilers and unsigned
// with others (Arm), so the byte is compared as unsigned.
bool is_special(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte >= 0x7F;
}

std::string made_visible(std::string_view text, bool keeps_lines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto* const special = std::ranges::find_if(text, is_special);
    const auto plain = static_cast<std::size_t>(special - text.begin());  // nearly all of the text
    result += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (c == '\n' || c == '\t') {
      result += keeps_lines ? c : ' ';
    } else if (text.starts_with("\r\n")) {
      // The line feed follows.
    } else if (length == 0 || (length == 1 && is_control_character(character))) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (is_control_character(character)) {
      result += fmt::format("\\u{:04x}", code_point(character));
    } else {
      result += character;
    }
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool outside = (first == 0xED && byte(1) >= 0xA0) || (first == 0xF4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  constexpr unsigned char kFirstBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code = first & kFirstBits[character.size()];
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

bool is_control_character(std::string_view character) { return is_command_code(code_point(character)); }

std::string sanitized_line(std::string_view text) { return made_visible(text, false); }

std::string sanitized_text(std::string_view text) { return made_visible(text, true); }

}  // namespace gputopo
