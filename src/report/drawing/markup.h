// Markup: HTML, SVG and XML. The type guarantees that text from a file, a driver or a machine was escaped. Text does
// not convert to markup; it enters through markup(), which escapes it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/drawing/markup_places.h"

namespace gputopo::report {

// Text of the program itself. It is inserted unchanged, so only a literal converts to it.
class ProgramText {
 public:
  template <std::size_t kLength>
  consteval ProgramText(const char (&literal)[kLength]) : text_(literal, kLength - 1) {}  // NOLINT: implicit on purpose

  // The only exception: program data that is no literal, such as the embedded script and style. Never pass text from a
  // report, a device or the host.
  [[nodiscard]] static ProgramText trusted(std::string_view program_data) { return {program_data, Trusted{}}; }

  [[nodiscard]] constexpr std::string_view text() const { return text_; }

 private:
  struct Trusted {};
  constexpr ProgramText(std::string_view text, Trusted /*unused*/) : text_(text) {}
  std::string_view text_;
};

struct MarkupAttribute;

class Markup {
 public:
  Markup() = default;
  Markup(ProgramText text) : text_(text.text()) {}  // NOLINT: implicit on purpose

  Markup& operator+=(const Markup& other) {
    text_ += other.text_;
    return *this;
  }
  Markup& operator+=(ProgramText other) {
    text_ += other.text();
    return *this;
  }
  friend Markup operator+(Markup left, const Markup& right) { return std::move(left += right); }
  friend Markup operator+(Markup left, ProgramText right) { return std::move(left += right); }
  friend Markup operator+(ProgramText left, const Markup& right) { return std::move(Markup(left) += right); }

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] const std::string& text() const& { return text_; }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  template <typename... Args>
  friend Markup markup(MarkupFormat<std::type_identity_t<Args>...> format, const Args&... args);
  friend Markup json_block(std::string_view id, std::string_view json);
  friend Markup opening_tag(ProgramText name, const std::vector<MarkupAttribute>& attributes);

  std::string text_;
};

// Escapes text between tags and in attributes of XML and HTML. Invalid UTF-8, characters that XML forbids and terminal
// commands (file/visible.h) become U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

template <>
inline constexpr Inserted kInsertedAs<Markup> = Inserted::kMarkup;
template <>
inline constexpr Inserted kInsertedAs<ProgramText> = Inserted::kProgramText;

template <typename T>
[[nodiscard]] auto as_inserted(const T& argument) {
  if constexpr (kInsertedAs<T> == Inserted::kText) {
    return escaped(argument);
  } else if constexpr (kInsertedAs<T> == Inserted::kNumber) {
    return argument;
  } else {
    return std::string_view(argument.text());
  }
}

// `markup("<td title=\"{}\">{}</td>", hint, cell)`: escapes texts, and inserts markup and numbers unchanged. A format
// that puts an argument where it could become a tag, an attribute or a script does not compile (markup_places.h).
template <typename... Args>
[[nodiscard]] Markup markup(MarkupFormat<std::type_identity_t<Args>...> format, const Args&... args) {
  const auto format_all = [&](const auto&... inserted) {
    return fmt::vformat(format.text, fmt::make_format_args(inserted...));
  };
  Markup result;
  result.text_ = format_all(as_inserted(args)...);
  return result;
}

// JSON as a <script> element that nothing executes. The JSON cannot end the element. Terminal commands are escaped,
// because a page may be printed to a terminal.
[[nodiscard]] Markup json_block(std::string_view id, std::string_view json);

struct MarkupAttribute {
  ProgramText name;
  std::string value;
};
// `<name first="1" second="2">`, for tags whose attributes depend on the data.
[[nodiscard]] Markup opening_tag(ProgramText name, const std::vector<MarkupAttribute>& attributes);

// The first line of an XML document.
inline constexpr ProgramText kXmlOpening = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

// A coordinate with up to two decimals and no trailing zeros.
[[nodiscard]] std::string px(double value);

}  // namespace gputopo::report
