#include "report/words/first_screen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gputopo/catalogue.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {

namespace {

// Returns as many phrases as fit, and the number of omitted ones.
ScreenLines in_lines(const std::string& lead, const std::vector<std::string>& phrases, int width, int most_lines) {
  for (auto end = phrases.end(); end != phrases.begin(); --end) {
    const auto left = phrases.end() - end;
    const std::string rest = left > 0 ? fmt::format(" and {} more", left) : "";
    std::string text = wrap(lead, fmt::format("{}{}", fmt::join(phrases.begin(), end, ", "), rest), width);
    if (std::ranges::count(text, '\n') <= most_lines || end - phrases.begin() == 1) return {text, left == 0};
  }
  return {};
}

}  // namespace

ScreenLines reach_lines(const std::vector<const MemoryElement*>& elements, int width) {
  std::vector<std::string> reaches;
  std::string without;  // first element without a reach
  for (const MemoryElement* element : elements) {
    const Attribute* reach = find(element->attributes, AttributeId::kReach);
    if (reach == nullptr || needs_no_reason(*reach)) continue;
    if (reach->available()) {
      const std::string interval = interval_is_wide(*reach) ? " " + interval_text(*reach) : "";
      reaches.push_back(fmt::format("{} {}{}", element->id, value_text(*reach), interval));
    } else if (without.empty()) {
      without = element->id;
    }
  }
  if (!reaches.empty()) return in_lines("TLB reach: ", reaches, width, 2);
  if (without.empty()) return {};
  return {wrap("TLB reach: ", fmt::format("none found; 'gputopo get {}.reach' says why", without), width)};
}

ScreenLines doubts_lines(const std::vector<const MemoryElement*>& elements, const std::vector<AttributeId>& attributes,
                         int width, int most_lines) {
  std::vector<std::string> doubts;
  for (const MemoryElement* element : elements) {
    for (const auto& [id, attribute] : element->attributes) {
      const AttributeInfo* info = find_attribute(id);
      const bool has_cell = info != nullptr && std::ranges::find(attributes, info->id) != attributes.end();
      if (has_cell && attribute.available() && interval_is_wide(attribute)) {
        doubts.push_back(fmt::format("{} {} {}", element->id, readable(id), interval_text(attribute)));
      }
    }
  }
  return in_lines("~: ", doubts, width, most_lines);
}

}  // namespace gputopo::report
