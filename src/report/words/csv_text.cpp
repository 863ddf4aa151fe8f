#include "report/words/csv_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <utility>

#include "file/sanitize.h"
#include "report/words/hierarchy.h"

namespace gputopo::report {
namespace {

std::string bound(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

// True for one or more space-separated numbers in this program's format.
bool is_numbers(std::string_view text) {
  while (!text.empty()) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::invalid_argument || (rest != end && *rest != ' ')) return false;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()) + (rest != end ? 1 : 0));
  }
  return true;
}

}  // namespace

std::string csv_line(std::string_view element, std::string_view id, const Attribute& attribute) {
  // The source column holds the reason, so that an absent value differs from an empty one.
  const std::string source = attribute.available() ? std::string(to_string(attribute.source))
                                                   : fmt::format("unavailable:{}", to_string(attribute.reason));
  return csv_row(
      {element, id, plain_value(attribute.value), bound(attribute.low), bound(attribute.high), attribute.unit, source});
}

std::string plain_value(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Held, std::vector<double>> ||
                             std::is_same_v<Held, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(held, " "));
        } else if constexpr (std::is_same_v<Held, UnitGroups>) {
          return fmt::format("{}", fmt::join(group_texts(held), " "));
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

std::string csv_row(std::initializer_list<std::string_view> fields) {
  std::string row;
  const char* separator = "";
  for (const std::string_view field : fields) {
    row += std::exchange(separator, ",");
    row += csv_field(field);
  }
  return row;
}

std::string csv_field(std::string_view field) {
  constexpr std::string_view kFormulaStarts = "=+-@\t";
  std::string text = sanitized_text(field);
  if (!text.empty() && kFormulaStarts.find(text.front()) != std::string_view::npos && !is_numbers(text)) {
    text.insert(0, 1, '\'');
  }
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace gputopo::report
