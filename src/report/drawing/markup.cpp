#include "report/drawing/markup.h"

#include <algorithm>

#include "file/sanitize.h"

namespace gputopo::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Returns the replacement for a text's first character.
std::string_view escaped_character(std::string_view character) {
  switch (character.front()) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\n':
    case '\t':
      return character;
    default:
      const bool is_plain = character.front() >= ' ' && character.front() < '\x7f';  // almost all characters
      return !is_plain && is_control_character(character) ? kReplacement : character;
  }
}

// JSON writes code points above 16 bits as two UTF-16 surrogates.
std::string json_escape(std::uint32_t code) {
  constexpr std::uint32_t kBeyond = 0x10000;
  if (code < kBeyond) return fmt::format("\\u{:04x}", code);
  code -= kBeyond;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    result += length == 0 ? kReplacement : escaped_character(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

Markup json_block(std::string_view id, std::string_view json) {
  Markup block;
  std::string& text = block.text_;
  text.reserve(json.size() + 100);
  text = fmt::format("<script type=\"application/json\" id=\"{}\">", escaped(id));
  while (!json.empty()) {
    const std::string_view character = json.substr(0, std::max<std::size_t>(utf8_length(json), 1));
    const char c = character.front();
    const bool is_plain = (c >= ' ' && c < '\x7f') || c == '\n' || c == '\t';
    if (c == '<' || (!is_plain && is_control_character(character))) {
      text += json_escape(code_point(character));
    } else {
      text += character;
    }
    json.remove_prefix(character.size());
  }
  text += "</script>\n";
  return block;
}

Markup opening_tag(ProgramText name, const std::vector<MarkupAttribute>& attributes) {
  Markup tag;
  tag.text_ = fmt::format("<{}", name.text());
  for (const MarkupAttribute& attribute : attributes) {
    tag.text_ += fmt::format(" {}=\"{}\"", attribute.name.text(), escaped(attribute.value));
  }
  tag.text_ += '>';
  return tag;
}

std::string px(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace gputopo::report
