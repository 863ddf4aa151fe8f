// The element table as a person reads it: one table per vendor, elements across, attributes down.
#include <fmt/format.h>

#include <limits>
#include <map>

#include "gputopo/report.h"
#include "report/text_table.h"

namespace gputopo {

std::string coverage_table() {
  std::map<std::string, std::vector<const ElementRow*>> by_vendor;
  for (const ElementRow& row : element_table()) by_vendor[row.vendor].push_back(&row);

  report::TextStyle one_block;
  one_block.width = std::numeric_limits<int>::max();
  std::string text;
  for (const auto& [vendor, elements] : by_vendor) {
    report::TextTable table;
    table.columns.push_back({vendor, report::Align::kLeft});
    for (const ElementRow* element : elements) table.columns.push_back({element->id, report::Align::kLeft});
    for (const std::string& attribute : memory_attribute_ids()) {
      std::vector<report::Cell> row = {{attribute}};
      for (const ElementRow* element : elements) row.push_back({std::string(to_string(element->of(attribute)))});
      table.rows.push_back(std::move(row));
    }
    if (!text.empty()) text += '\n';
    text += report::render(table, one_block);
  }
  return text;
}

}  // namespace gputopo
