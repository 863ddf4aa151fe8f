// Checks at compile time where the arguments of a markup format stand.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace gputopo::report {

enum class Inserted : std::uint8_t {
  kNumber,       // allowed anywhere
  kText,         // escaped; allowed between tags and in quoted attribute values
  kMarkup,       // allowed between tags
  kProgramText,  // allowed anywhere
};

// How markup() inserts an argument of a type. Characters and other types are not allowed: a char would not be escaped.
template <typename T>
inline constexpr Inserted kInsertedAs = [] {
  constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, char>;
  static_assert(kIsNumber || std::is_convertible_v<const T&, std::string_view>,
                "markup() takes numbers, texts, Markup and ProgramText");
  return kIsNumber ? Inserted::kNumber : Inserted::kText;
}();

// Follows the tags of a format. A format must end between tags, so that text appended to it is not inside one.
class MarkupPlaces {
 public:
  // Throws a text if the format is unsafe, which is a compile error in a constant expression.
  template <std::size_t kCount>
  static constexpr void check(std::string_view format, const std::array<Inserted, kCount>& arguments) {
    MarkupPlaces places(format);
    std::size_t next_argument = 0;
    while (places.at_ < format.size()) {
      if (!places.is_argument()) {
        places.step();
        continue;
      }
      const std::size_t index = places.pass_argument(next_argument);
      if (index >= kCount) throw "a format refers to a missing argument";
      places.check_place(arguments[index]);
    }
    if (places.place_ != Place::kBetweenTags) throw "a markup format ends inside a tag, a script or a style";
  }

 private:
  enum class Place : std::uint8_t { kBetweenTags, kTag, kQuoted, kRawText };

  explicit constexpr MarkupPlaces(std::string_view format) : format_(format) {}

  [[nodiscard]] constexpr bool starts_with(std::string_view text) const {
    return format_.substr(at_).starts_with(text);
  }
  [[nodiscard]] constexpr bool is_argument() const { return starts_with("{") && !starts_with("{{"); }

  // Returns the index of the argument.
  constexpr std::size_t pass_argument(std::size_t& next_argument) {
    const std::size_t end = format_.find('}', at_);
    if (end == std::string_view::npos) throw "a format has an argument without a closing brace";
    std::size_t index = 0;
    std::size_t digit = at_ + 1;
    for (; format_[digit] >= '0' && format_[digit] <= '9'; ++digit) {
      index = 10 * index + static_cast<std::size_t>(format_[digit] - '0');
    }
    if (digit == at_ + 1) index = next_argument++;
    at_ = end + 1;
    return index;
  }

  constexpr void step() {
    if (starts_with("{{") || starts_with("}}")) ++at_;
    const char c = format_[at_];
    switch (place_) {
      case Place::kBetweenTags:
        if (c == '<') begin_tag();
        break;
      case Place::kTag:
        step_in_tag(c);
        break;
      case Place::kQuoted:
        if (c == quote_) place_ = Place::kTag;
        break;
      case Place::kRawText:
        if (starts_with("</")) begin_tag();
        break;
    }
    ++at_;
  }

  constexpr void begin_tag() {
    place_ = Place::kTag;
    const std::string_view name = format_.substr(at_ + 1, format_.find_first_of(" >\n{", at_) - at_ - 1);
    is_raw_element_ = name == "script" || name == "style";
  }

  constexpr void step_in_tag(char c) {
    if (c == '>') place_ = is_raw_element_ ? Place::kRawText : Place::kBetweenTags;
    if (c != '"' && c != '\'') return;
    place_ = Place::kQuoted;
    quote_ = c;
    value_at_ = at_ + 1;
    const std::size_t end = format_[at_ - 1] == '=' ? at_ - 1 : at_;
    const std::size_t begin = format_.find_last_of(" \n", end) + 1;
    attribute_ = format_.substr(begin, end - begin);
  }

  // True for attributes with addresses, scripts or styles: escaping does not make report text harmless there.
  [[nodiscard]] constexpr bool is_obeyed() const {
    for (const std::string_view name : {"href", "xlink:href", "src", "srcset", "srcdoc", "action", "formaction", "data",
                                        "style", "content", "http-equiv", "to", "values"}) {
      if (attribute_ == name) return true;
    }
    return attribute_.starts_with("on");
  }
  [[nodiscard]] constexpr bool is_link_within_page() const { return format_.substr(value_at_).starts_with("#"); }

  constexpr void check_place(Inserted inserted) const {
    if (inserted == Inserted::kNumber || inserted == Inserted::kProgramText) return;
    if (place_ == Place::kTag) throw "only numbers and ProgramText are allowed inside a tag, outside quotes";
    if (place_ == Place::kRawText) throw "only numbers and ProgramText are allowed in a script or a style";
    if (place_ == Place::kBetweenTags) return;
    if (inserted == Inserted::kMarkup) throw "markup is not allowed in the value of an attribute";
    if (is_obeyed() && !is_link_within_page()) throw "text is not allowed in an address, a script or a style";
  }

  std::string_view format_;
  std::size_t at_ = 0;
  Place place_ = Place::kBetweenTags;
  char quote_ = '"';
  bool is_raw_element_ = false;
  std::size_t value_at_ = 0;
  std::string_view attribute_;
};

// The first argument of markup(): a literal that fits the other arguments.
template <typename... Args>
struct MarkupFormat {
  template <std::size_t kLength>
  consteval MarkupFormat(const char (&literal)[kLength]) : text(literal, kLength - 1) {  // NOLINT: implicit on purpose
    MarkupPlaces::check(std::string_view(literal, kLength - 1),
                        std::array<Inserted, sizeof...(Args)>{kInsertedAs<Args>...});
    // Applies fmt's own checks; every text type counts as a string.
    static_cast<void>(
        fmt::format_string<std::conditional_t<kInsertedAs<Args> == Inserted::kNumber, Args, std::string_view>...>(
            literal));
  }
  fmt::string_view text;
};

}  // namespace gputopo::report
