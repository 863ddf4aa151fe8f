#include "report/words/hierarchy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "model/sm_clock.h"
#include "report/words/one_cache.h"
#include "report/words/unit_map.h"
#include "report/words/units.h"

namespace gputopo::report {

bool interval_is_wide(const Attribute& attribute) {
  constexpr double kWideInterval = 0.05;  // continuous values of a good run repeat within 2%
  const std::optional<double> value = attribute.number();
  if (!value || *value == 0 || !attribute.low || !attribute.high) return false;
  return (*attribute.high - *attribute.low) > kWideInterval * std::abs(*value);
}

namespace {

struct Mark {
  char sign;
  bool (*applies)(const Attribute&);
  std::string_view meaning;
};

constexpr Mark kMarks[] = {
    {'~', interval_is_wide, "95% interval wider than 5%"},
    {'a', [](const Attribute& attribute) { return attribute.source == Source::kApi; }, "vendor's interface"},
    {'i', [](const Attribute& attribute) { return attribute.source == Source::kInferred; }, "inferred"},
    {'!', [](const Attribute& attribute) { return !attribute.flags.empty(); }, "flagged, see below"},
};

// ---- Cells ----

std::string in_own_unit(const CellContext& cell) { return value_text(cell.attribute); }

std::string without_unit(const CellContext& cell) {
  return cell.attribute.number() ? significant(*cell.attribute.number(), 4) : value_text(cell.attribute);
}

// Near and far parts as "281.2, far 452.7", or "281/453" in narrow tables.
std::string as_latency(const CellContext& cell) {
  const std::optional<double> far = far_latency(cell.attribute);
  return without_unit(cell) + (far ? ", far " + significant(*far, 4) : "");
}

std::string as_brief_latency(const CellContext& cell) {
  const std::optional<double> far = far_latency(cell.attribute);
  return far ? fmt::format("{}/{}", significant(*cell.attribute.number(), 3), significant(*far, 3))
             : without_unit(cell);
}

// Uses the clock during the measurement, not the data sheet's clock.
std::string in_nanoseconds(const CellContext& cell, std::optional<double> cycles) {
  const std::optional<double> mhz = sm_clock_mhz(cell.attribute);
  return mhz && cycles ? significant(*cycles * 1000 / *mhz, 3) : "";
}

std::string as_brief_nanoseconds(const CellContext& cell) { return in_nanoseconds(cell, cell.attribute.number()); }

std::string as_nanoseconds(const CellContext& cell) {
  const std::string far = in_nanoseconds(cell, far_latency(cell.attribute));
  return as_brief_nanoseconds(cell) + (far.empty() ? "" : ", far " + far);
}

// Peak that clock and bus, or banks, allow. Older reports have it only for device memory, not as a detail.
std::optional<double> peak_of(const CellContext& cell) {
  if (const Value* detail = cell.attribute.find_detail("theoretical_bytes_per_second")) {
    Attribute holder;
    holder.value = *detail;
    return holder.number();
  }
  const ElementInfo* element = find_element(cell.element.id);
  const bool is_memory = element != nullptr && element->kind == ElementKind::kMemory;
  if (!is_memory || cell.attribute.unit != info_of(AttributeId::kReadBandwidth).unit) return std::nullopt;
  const Attribute* bandwidth = find(cell.topology.device, AttributeId::kMemoryBandwidthTheoretical);
  return bandwidth == nullptr ? std::nullopt : bandwidth->number();
}

std::string as_part_of_peak(const CellContext& cell) {
  const std::optional<double> peak = peak_of(cell);
  if (!peak || *peak <= 0 || !cell.attribute.number()) return "";
  return fmt::format("{:.0f}%", 100 * *cell.attribute.number() / *peak);
}

// Bytes per clock and SM, as programmers count: measured, or derived from the clock during the measurement.
std::string as_bytes_per_clock(const CellContext& cell) {
  const std::optional<double> bytes = bytes_per_clock_and_unit(cell.topology, cell.attribute);
  return bytes ? significant(*bytes, 4) : "";
}

// Line size and fetch granularity in one cell: "128/32".
std::string as_line_and_fetch(const CellContext& cell) {
  const Attribute* fetch = find(cell.element.attributes, AttributeId::kFetchGranularity);
  const std::string fetched = fetch != nullptr && fetch->number() ? significant(*fetch->number(), 6) : "-";
  const std::string line = cell.attribute.number() ? significant(*cell.attribute.number(), 6) : "-";
  return line + "/" + fetched;
}

// "1/SM" for "1 per SM".
std::string as_ratio(const CellContext& cell) {
  const std::string text = value_text(cell.attribute);
  constexpr std::string_view kPer = " per ";
  const std::size_t at = text.find(kPer);
  return at == std::string::npos ? text : text.substr(0, at) + "/" + text.substr(at + kPer.size());
}

// If a cache of the whole GPU has no amount, shows its parts: "2 parts".
std::string as_parts(const CellContext& cell) {
  const Attribute* partitions = find(cell.element.attributes, AttributeId::kPartitions);
  const std::optional<double> count = partitions == nullptr ? std::nullopt : partitions->number();
  return count && *count > 1 ? significant(*count, 6) + " parts" : "";
}

// Names the elements that are the same cache. If a cache has no value of its own, other elements may still name it.
std::string as_shared_with(const CellContext& cell) {
  const std::vector<std::string> partners = partners_of(cell.topology, cell.element);
  if (!partners.empty()) return fmt::format("{}", fmt::join(partners, ", "));
  return cell.attribute.available() ? value_text(cell.attribute) : "";
}

// All elements of one cache get the same letter, in the report's order.
std::string as_group_letter(const CellContext& cell) {
  const auto has_row = [&](const std::string& id) { return cell.topology.find_memory(id) != nullptr; };
  const std::vector<std::string> own = partners_of(cell.topology, cell.element);
  if (own.empty()) return cell.attribute.available() ? "-" : "";
  // Letters only connect rows, so a partner without a row is named. Long reports also use names: nobody follows letters
  // through that many rows.
  constexpr std::size_t kMostRows = 64;
  if (std::ranges::none_of(own, has_row) || cell.topology.memory.size() > kMostRows) return as_shared_with(cell);
  char next = 'A';
  std::map<std::string, char> letters;
  for (const MemoryElement& element : cell.topology.memory) {
    const std::vector<std::string> partners = partners_of(cell.topology, element);
    const auto known = std::ranges::find_if(partners, [&](const std::string& id) { return letters.contains(id); });
    if (std::ranges::none_of(partners, has_row)) continue;
    if (known == partners.end() && next > 'Z') return as_shared_with(cell);
    const char letter = known == partners.end() ? next++ : letters.at(*known);
    letters.emplace(element.id, letter);
    if (element.id == cell.element.id) return std::string(1, letter);
  }
  return "?";
}

// ---- Phrases ----

// Details that are important enough to appear outside the JSON.
struct DetailPhrase {
  AttributeId attribute;
  std::string detail;
  std::string pattern;                    // {} is the value
  std::optional<ElementKind> needs = {};  // omitted if the device has no element of this kind
};

const std::vector<DetailPhrase>& detail_phrases() {
  using enum AttributeId;
  static const std::vector<DetailPhrase> kPhrases = {
      {kSize, "at_least_bytes", "holds at least {}"},
      {kSize, "measured_bytes", "measured size {}"},
      {kSize, "first_miss_bytes", "first misses at {}"},
      {kSize, "all_miss_bytes", "nothing hits at {}"},
      {kSize, "carve_outs_bytes", "with carve-outs of {}"},
      {kSize, "size_by_carve_out_bytes", "the size is {}"},
      {kReadBandwidth, "counted", "the bandwidth counts broadcast data {}"},
      {kLatency, "near_cycles", "near {}"},
      {kLatency, "far_cycles", "far {}"},
      {kLatency, "tlb_cold_cycles", "{} when the TLB misses", ElementKind::kTlb},
      {kPartitions, "near_bytes", "{} in the partition near an SM"},
      {kSets, "partitions", "in each of {} partitions"},
      {kSharedBetween, "instances", "{} instances"},
  };
  return kPhrases;
}

// Other formats show long lists in full, such as one value per carve-out. Here they become their two ends.
std::string brief_value(const Value& value, std::string_view unit) {
  constexpr std::size_t kLongest = 3;
  std::string groups = unit_groups_text(value);
  if (!groups.empty()) return groups;
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (texts != nullptr && texts->size() > kLongest)
    return fmt::format("{}, {} and {} more", texts->at(0), texts->at(1), texts->size() - 2);
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  if (numbers == nullptr || numbers->size() <= kLongest) return human_value(value, unit);
  return fmt::format("{} to {}", human_value(numbers->front(), unit), human_value(numbers->back(), unit));
}

bool is_not_present(const MemoryElement& element) {
  return !has_value(element) && std::ranges::any_of(element.attributes, [](const auto& entry) {
    return entry.second.reason == Reason::kNotPresent;
  });
}

// True if the device has no element of this kind. The nearest level decides: nothing lies behind an absent one.
bool has_none(const Topology& topology, ElementKind kind) {
  for (const MemoryElement& element : topology.memory) {
    const ElementInfo* info = find_element(element.id);
    if (info != nullptr && info->kind == kind && info->depth == 0) return is_not_present(element);
  }
  return false;
}

// "4.8 TB/s (91%) ~"
std::string brief_phrase(const CellContext& cell) {
  const std::string part = as_part_of_peak(cell);
  const std::string sign = marks(cell.attribute);
  return fmt::format("{}{}{}{}", is_lower_bound(cell.attribute) ? "at least " : "",
                     brief_value(cell.attribute.value, cell.attribute.unit),
                     part.empty() ? "" : fmt::format(" ({})", part), sign.empty() ? "" : " " + sign);
}

void add_details(const Topology& topology, std::string_view id, const Attribute& attribute,
                 std::vector<std::string>& phrases) {
  const bool has_row_of_parts = far_latency(attribute).has_value();  // the row already shows near and far
  for (const DetailPhrase& phrase : detail_phrases()) {
    if (id != to_string(phrase.attribute) || (phrase.needs && has_none(topology, *phrase.needs))) continue;
    if (has_row_of_parts && (phrase.detail == "near_cycles" || phrase.detail == "far_cycles")) continue;
    if (const Value* value = attribute.find_detail(phrase.detail)) {
      phrases.push_back(
          fmt::format(fmt::runtime(phrase.pattern), brief_value(*value, detail_name(phrase.detail).unit)));
    }
  }
}

}  // namespace

std::string marks(const Attribute& attribute) {
  std::string text;
  if (!attribute.available()) return text;
  for (const Mark& mark : kMarks) {
    if (mark.applies(attribute)) text += mark.sign;
  }
  return text;
}

std::string marks_legend(std::string_view used) {
  std::vector<std::string> meanings = {"measured, unless marked"};
  for (const Mark& mark : kMarks) {
    if (used.find(mark.sign) != std::string::npos) meanings.push_back(fmt::format("{}: {}", mark.sign, mark.meaning));
  }
  return fmt::format("{}", fmt::join(meanings, "; "));
}

bool needs_no_reason(const Attribute& attribute) {
  return attribute.reason == Reason::kNotApplicable || attribute.reason == Reason::kNotSelected;
}

bool has_value(const MemoryElement& element) {
  return std::any_of(element.attributes.begin(), element.attributes.end(),
                     [](const auto& entry) { return entry.second.available(); });
}

bool says_something(const MemoryElement& element) {
  return std::any_of(element.attributes.begin(), element.attributes.end(),
                     [](const auto& entry) { return entry.second.available() || !needs_no_reason(entry.second); });
}

bool holds_data(const MemoryElement& element) {
  using enum AttributeId;
  for (const AttributeId id : {kSize, kLineSize, kLatency, kReadBandwidth, kWriteBandwidth}) {
    const Attribute* attribute = find(element.attributes, id);
    if (attribute != nullptr && attribute->available()) return true;
  }
  return false;
}

std::vector<const MemoryElement*> elements_with_values(const Topology& topology) {
  std::vector<const MemoryElement*> elements;
  for (const MemoryElement& element : topology.memory) {
    if (says_something(element)) elements.push_back(&element);
  }
  return elements;
}

const std::vector<HierarchyColumn>& hierarchy_columns() {
  using enum AttributeId;
  // Narrow tables merge line and fetch into one column and drop the second.
  static const std::vector<HierarchyColumn> kColumns = {
      {.heading = "size", .attribute = kSize, .format = in_own_unit},
      {.heading = "line/\nfetch", .attribute = kLineSize, .format = as_line_and_fetch},
      {.heading = "latency\ncycles", .attribute = kLatency, .format = as_latency, .brief = as_brief_latency},
      {.heading = "\nns",
       .attribute = kLatency,
       .format = as_nanoseconds,
       .brief = as_brief_nanoseconds,
       .repeats = true},
      {.heading = "bandwidth\nof chip", .attribute = kReadBandwidth, .format = in_own_unit},
      {.heading = "B/clk\n/{unit}",
       .attribute = kReadBandwidth,
       .format = as_bytes_per_clock,
       .rank = 1,
       .repeats = true},
      {.heading = "of\npeak", .attribute = kReadBandwidth, .format = as_part_of_peak, .repeats = true},
      {.heading = "write\nof chip", .attribute = kWriteBandwidth, .format = in_own_unit, .rank = 2},
      {.heading = "\namount", .attribute = kAmount, .format = in_own_unit, .brief = as_ratio, .instead = as_parts},
      {.heading = "\npartitions", .attribute = kPartitions, .format = in_own_unit, .rank = 3},
      {.heading = "miss\npenalty", .attribute = kMissPenalty, .format = without_unit, .rank = 3},
      {.heading = "\nshared with",
       .attribute = kSharedWith,
       .align = Align::kLeft,
       .format = as_shared_with,
       .brief = as_group_letter,
       .by_others = true},
  };
  return kColumns;
}

bool has_cell(const HierarchyColumn& column, const CellContext& cell) {
  return cell.attribute.available() || (column.by_others && !column.format(cell).empty());
}

std::string heading_in(const Topology& topology, const HierarchyColumn& column) {
  return fmt::format(fmt::runtime(column.heading), fmt::arg("unit", unit_name(topology.vendor)));
}

std::vector<std::string> further_phrases(const Topology& topology, const MemoryElement& element,
                                         const std::vector<AttributeId>& shown, bool doubted) {
  std::vector<std::string> phrases;
  for (const auto& [id, attribute] : element.attributes) {
    const AttributeInfo* info = find_attribute(id);
    const bool is_shown = info != nullptr && std::ranges::find(shown, info->id) != shown.end();
    // Shows the interval behind ~, because one side may be much wider than the other.
    const std::string interval = interval_is_wide(attribute) ? " " + interval_text(attribute) : "";
    if (attribute.available() && !is_shown) {
      phrases.push_back(readable(id) + " " + brief_phrase({topology, element, attribute}) + interval);
    } else if (!interval.empty() && !doubted) {
      phrases.push_back(readable(id) + interval);
    }
    add_details(topology, id, attribute, phrases);
  }
  return phrases;
}

}  // namespace gputopo::report
