// Values as CSV, one per line, for spreadsheets and data frames.
#include <fmt/format.h>

#include "gputopo/report.h"
#include "report/words/csv_text.h"
#include "report/words/device_facts.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo {
namespace {

constexpr const char* kLineEnd = "\r\n";

// "size.first_miss_bytes": details and conditions of the value above them.
void add_named_rows(std::string& text, const std::string& element, const std::string& attribute,
                    const NamedValues& named, const char* source) {
  for (const auto& [name, value] : named) {
    text += report::csv_row({element, fmt::format("{}.{}", attribute, name), report::plain_value(value), "", "",
                             report::detail_name(name).unit, source}) +
            kLineEnd;
  }
}

void add_rows(std::string& text, const std::string& element, const AttributeMap& attributes) {
  for (const auto& [id, attribute] : attributes) {
    // Values that do not apply would be most of the rows.
    if (attribute.reason == Reason::kNotApplicable) continue;
    text += report::csv_line(element, id, attribute) + kLineEnd;
    add_named_rows(text, element, id, attribute.details, "detail");
    add_named_rows(text, element, id, attribute.conditions, "condition");
  }
}

}  // namespace

std::string to_csv(const Topology& topology) {
  std::string text = fmt::format("{}{}", report::kValueColumns, kLineEnd);
  text += fmt::format("report,name,{},,,,api\r\n", report::csv_field(topology.name));
  text += fmt::format("report,simulated,{},,,,api\r\n", topology.simulated);
  text += fmt::format("report,complete,{},,,,api\r\n", topology.complete);
  text += fmt::format("report,schema_version,{},,,,api\r\n", kSchemaVersion);
  text += fmt::format("report,timestamp,{},,,,api\r\n", report::csv_field(topology.timestamp));
  for (const std::string& warning : topology.warnings) {
    text += fmt::format("report,warning,{},,,,api\r\n", report::csv_field(warning));
  }
  for (const report::ValueGroup& group : report::value_groups(topology)) add_rows(text, group.path, *group.attributes);
  return text;
}

}  // namespace gputopo
