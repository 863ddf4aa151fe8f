// One table of elements per vendor: elements as columns, and as rows the attributes that at least one of them has.
#include "report/terminal/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "gputopo/catalogue.h"
#include "gputopo/operation.h"
#include "gputopo/report.h"
#include "report/words/text_table.h"

namespace gputopo {
namespace {

std::string table_of(Vendor vendor, bool of_units, int width) {
  report::TextTable table;
  table.columns.push_back({std::string(to_string(vendor)), report::Align::kLeft});
  std::vector<const ElementInfo*> elements = elements_of(vendor);
  std::erase_if(elements, [&](const ElementInfo* element) { return element->is_unit() != of_units; });
  if (elements.empty()) return "";
  for (const ElementInfo* element : elements) {
    table.columns.push_back({std::string(element->name), report::Align::kLeft});
  }
  for (const AttributeInfo& attribute : attributes_of(*elements.front())) {
    const bool has_any = std::ranges::any_of(elements, [&](const ElementInfo* element) {
      return coverage_of(vendor, element->id, attribute.id) != Coverage::kNotApplicable;
    });
    if (!has_any) continue;
    std::vector<report::Cell> row = {{std::string(attribute.name)}};
    for (const ElementInfo* element : elements) {
      row.push_back({std::string(to_string(coverage_of(vendor, element->id, attribute.id)))});
    }
    table.rows.push_back(std::move(row));
  }
  return report::render(table, {.width = width});
}

std::string operations_table(int width) {
  report::TextTable table;
  table.columns = {{std::string(kInstructions), report::Align::kLeft}, {"each operation", report::Align::kLeft}};
  for (const AttributeId attribute : kOperationAttributes) {
    table.rows.push_back({{std::string(to_string(attribute))}, {std::string(to_string(Coverage::kMeasuredInFull))}});
  }
  std::string names;
  for (const OperationInfo& operation : instruction_catalogue()) {
    const bool is_common = std::ranges::find(common_operations(), operation.id) != common_operations().end();
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", operation.name, is_common ? "*" : "");
  }
  constexpr int kWidest = 100;
  return report::render(table, {.width = width}) + report::wrap("", names, std::min(width, kWidest)) +
         report::wrap("", "*: every run measures the latency of this operation", std::min(width, kWidest));
}

}  // namespace

std::string coverage_table() { return report::coverage_table(std::numeric_limits<int>::max()); }

std::string report::coverage_table(int width) {
  std::string text;
  for (const Vendor vendor : kAllVendors) {
    if (!text.empty()) text += '\n';
    text += table_of(vendor, false, width);
    if (const std::string units = table_of(vendor, true, width); !units.empty()) text += "\n" + units;
  }
  return text + "\n" + operations_table(width);
}

}  // namespace gputopo
