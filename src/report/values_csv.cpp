// The values as CSV, one a line: for spreadsheets and data frames.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <initializer_list>
#include <utility>

#include "file/visible.h"
#include "gputopo/report.h"
#include "report/words/csv_text.h"
#include "report/words/hierarchy.h"
#include "report/words/units.h"

namespace gputopo {
namespace {

constexpr const char* kLineEnd = "\r\n";

// "size.first_miss_bytes": of the value above them.
void add_named_rows(std::string& text, const std::string& element, const std::string& attribute,
                    const NamedValues& named, const char* source) {
  for (const auto& [name, value] : named) {
    text += report::csv_row({element, fmt::format("{}.{}", attribute, name), report::plain_value(value), "", "",
                             report::detail_name(name).unit, source}) +
            kLineEnd;
  }
}

std::string bound(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }

void add_rows(std::string& text, const std::string& element, const AttributeMap& attributes) {
  for (const auto& [id, attribute] : attributes) {
    // What no such element has would be most of the rows.
    if (attribute.reason == Reason::kNotApplicable) continue;
    text += report::csv_line(element, id, attribute) + kLineEnd;
    add_named_rows(text, element, id, attribute.details, "detail");
    add_named_rows(text, element, id, attribute.conditions, "condition");
  }
}

// Numbers as this program writes them, one or more with blanks between.
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

std::string report::csv_line(std::string_view element, std::string_view id, const Attribute& attribute) {
  // The reason stands where a value would have its source: an absent value is not an empty one.
  const std::string source = attribute.available() ? std::string(to_string(attribute.source))
                                                   : fmt::format("unavailable:{}", to_string(attribute.reason));
  return report::csv_row(
      {element, id, plain_value(attribute.value), bound(attribute.low), bound(attribute.high), attribute.unit, source});
}

std::string report::plain_value(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Held, std::vector<double>> ||
                             std::is_same_v<Held, std::vector<std::string>>) {
          return fmt::format("{}", fmt::join(held, " "));
        } else if constexpr (std::is_same_v<Held, UnitGroups>) {
          return fmt::format("{}", fmt::join(report::group_texts(held), " "));
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

std::string report::csv_row(std::initializer_list<std::string_view> fields) {
  std::string row;
  const char* separator = "";
  for (const std::string_view field : fields) {
    row += std::exchange(separator, ",");
    row += csv_field(field);
  }
  return row;
}

std::string report::csv_field(std::string_view field) {
  constexpr std::string_view kFormulaStarts = "=+-@\t";
  std::string text = visible_text(field);
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

std::string to_csv(const Topology& topology) {
  std::string text = fmt::format("{}{}", report::kValueColumns, kLineEnd);
  text += fmt::format("report,name,{},,,,api\r\n", report::csv_field(topology.name));
  text += fmt::format("report,simulated,{},,,,api\r\n", topology.simulated);
  text += fmt::format("report,complete,{},,,,api\r\n", topology.complete);
  text += fmt::format("report,schema_version,{},,,,api\r\n", topology.schema_version);
  text += fmt::format("report,timestamp,{},,,,api\r\n", report::csv_field(topology.timestamp));
  for (const std::string& warning : report::report_warnings(topology)) {
    text += fmt::format("report,warning,{},,,,api\r\n", report::csv_field(warning));
  }
  for (const report::ValueGroup& group : report::value_groups(topology)) add_rows(text, group.path, *group.attributes);
  return text;
}

}  // namespace gputopo
