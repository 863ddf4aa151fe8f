#include "report/json/upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "gputopo/catalogue.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

// ---- Groups of SMs ----

// "0+1+16" as numbers; nothing where the text is no such list.
std::optional<std::vector<std::uint32_t>> parse_group(std::string_view text) {
  std::vector<std::uint32_t> units;
  while (true) {
    std::uint32_t unit = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), unit);
    if (error != std::errc()) return std::nullopt;
    units.push_back(unit);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return units;
    if (text.front() != '+') return std::nullopt;
    text.remove_prefix(1);
  }
}

// A value that is no list of groups stays what it is.
void upgrade_groups(Attribute& attribute) {
  const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value);
  if (texts == nullptr) return;
  UnitGroups groups;
  for (const std::string& text : *texts) {
    std::optional<std::vector<std::uint32_t>> group = parse_group(text);
    if (!group) return;
    groups.groups.push_back(*std::move(group));
  }
  attribute.value = std::move(groups);
}

// ---- Tables of samples ----

Column typed(std::string_view name, ColumnRole role) {
  // Two names that do not follow the rule.
  if (name == "warps_in_flight") return {std::string(name), role, "in flight", "warps"};
  if (name == "bytes_per_second") return {std::string(name), role, "bandwidth", "B/s"};
  DetailName words = name_and_unit(name);
  std::ranges::replace(words.label, '_', ' ');  // as probes write it, whatever reports make of it
  return {std::string(name), role, std::move(words.label), std::move(words.unit)};
}

// A table that gputopo 0.1 wrote: the last part of its name and its columns, in this order.
struct KnownTable {
  std::string_view name;
  Plot plot;
  std::vector<std::string_view> axes;
  std::vector<std::string_view> series;
  std::vector<std::string_view> values;
  std::vector<std::string> marks = {};

  [[nodiscard]] std::vector<Column> columns() const {
    std::vector<Column> columns;
    for (const std::string_view column : axes) columns.push_back(typed(column, ColumnRole::kAxis));
    for (const std::string_view column : series) columns.push_back(typed(column, ColumnRole::kSeries));
    for (const std::string_view column : values) columns.push_back(typed(column, ColumnRole::kValue));
    return columns;
  }
};

const std::vector<KnownTable>& known_tables() {
  static const std::vector<std::string> kEdges = {"measured_bytes",           "first_miss_bytes",
                                                  "all_miss_bytes",           "change_point_bytes",
                                                  "resident_backwards_bytes", "sampled_residency_bytes"};
  static const std::vector<std::string> kPercentiles = {
      "near_cycles", "minimum_cycles", "p50_cycles", "p95_cycles", "maximum_cycles", "far_cycles", "tlb_cold_cycles"};
  static const std::vector<KnownTable> kTables = {
      {"sweep", Plot::kDensity, {"footprint_bytes", "raw_latency_cycles"}, {}, {"loads"}, kEdges},
      {"sweep", Plot::kDensity, {"footprint_bytes", "latency_cycles"}, {}, {"loads"}, kEdges},
      {"sweep",
       Plot::kLine,
       {"footprint_bytes"},
       {},
       {"cycles_per_instruction"},
       {"first_miss_bytes", "all_miss_bytes"}},
      {"sweep", Plot::kLine, {"reach_bytes"}, {"stride_bytes"}, {"added_cycles"}},
      {"sweep", Plot::kLine, {"reach_bytes"}, {"stride_bytes"}, {"latency_cycles"}},
      {"histogram", Plot::kBars, {"raw_latency_cycles"}, {}, {"loads"}, kPercentiles},
      {"levels", Plot::kBars, {"raw_latency_cycles"}, {}, {"loads"}, {"levels_cycles"}},
      {"shapes",
       Plot::kLine,
       {"blocks_per_sm"},
       {"threads_per_block", "loads_in_flight"},
       {"bytes_per_second"},
       {"theoretical_bytes_per_second"}},
      {"repeats", Plot::kLine, {"repeat"}, {}, {"bytes_per_second"}, {"theoretical_bytes_per_second"}},
      {"cold_pass", Plot::kLine, {"offset_bytes"}, {}, {"latency_cycles"}},
      {"warps", Plot::kLine, {"evictor_warp"}, {}, {"surviving_fraction"}},
      {"warps", Plot::kLine, {"evictor_warp"}, {}, {"evicted_part"}},
      {"victims", Plot::kLine, {"age"}, {}, {"share", "share_first_touched_again"}},
      {"pairs", Plot::kMap, {"victim_sm", "evictor_sm"}, {}, {"surviving_fraction"}},
      {"pairs", Plot::kMap, {"victim_sm", "evictor_sm"}, {}, {"evicted_part"}},
      {"sms", Plot::kPoints, {"sm"}, {}, {"evicted_part"}},
      {"sms", Plot::kPoints, {"sm"}, {}, {"gpc"}},
      {"sms", Plot::kPoints, {"sm"}, {"partition"}, {"latency_cycles"}, {"fastest_sm_cycles", "slowest_sm_cycles"}},
      {"slices", Plot::kMap, {"sm", "line_offset_bytes"}, {}, {"raw_latency_cycles"}},
      {"latency",
       Plot::kLine,
       {"warps_in_flight"},
       {},
       {"latency_cycles"},
       {"unloaded_cycles", "knee_warps", "knee_at_least_warps"}},
      {"throughput", Plot::kLine, {"warps_in_flight"}, {}, {"loads_per_cycle"}, {"knee_warps", "knee_at_least_warps"}},
      {"strides",
       Plot::kLine,
       {"stride_bytes"},
       {},
       {"load_cycles", "store_cycles"},
       {"conflict_free_cycles", "broadcast_cycles", "worst_cycles", "store_conflict_free_cycles"}},
      {"ranks",
       Plot::kLine,
       {"rank_distance"},
       {"cluster_size"},
       {"latency_cycles"},
       {"nearest_sm_cycles", "farthest_sm_cycles", "own_sm_cycles"}},
      {"sm_pairs", Plot::kMap, {"target_sm", "reader_sm"}, {}, {"latency_cycles"}},
      {"reads", Plot::kLine, {"cluster_size"}, {"rank_distance", "warps_per_sm"}, {"read_bytes_per_second"}},
      {"copies",
       Plot::kLine,
       {"copies_in_flight"},
       {"copy_bytes"},
       {"read_bytes_per_second"},
       {"plain_loads_bytes_per_second", "from_memory_bytes_per_second", "plain_loads_from_memory_bytes_per_second"}},
  };
  return kTables;
}

bool has_columns(const SampleTable& table, const std::vector<Column>& columns) {
  return std::ranges::equal(table.columns, columns, {}, &Column::name, &Column::name);
}

// A table that is not known is kept, and drawn as its last column over its first.
void upgrade_table(SampleTable& table, const Attribute& attribute) {
  const std::string_view last_part = std::string_view(table.name).substr(table.name.rfind('.') + 1);
  for (const KnownTable& known : known_tables()) {
    std::vector<Column> columns = known.columns();
    if (known.name != last_part || !has_columns(table, columns)) continue;
    table.plot = known.plot;
    table.columns = std::move(columns);
    table.marks = known.marks;
    break;
  }
  if (table.plot == Plot::kNone && table.columns.size() >= 2) {
    table.plot = Plot::kLine;
    for (Column& column : table.columns) column = typed(column.name, ColumnRole::kSeries);
    table.columns.front().role = ColumnRole::kAxis;
    table.columns.back().role = ColumnRole::kValue;
  }
  // What timing costs was a detail of the attribute.
  const Value* timer = attribute.find_detail("timer_cycles");
  const bool is_raw =
      std::ranges::any_of(table.columns, [](const Column& column) { return column.name.starts_with("raw_"); });
  if (is_raw && timer != nullptr && std::holds_alternative<double>(*timer))
    table.timer_cycles = std::get<double>(*timer);
}

// ---- Lists among the details that are tables now ----

struct KnownLists {
  AttributeId attribute;
  std::string_view table;
  // Details, the axis first, and the columns that they are.
  std::vector<std::pair<std::string_view, std::string_view>> columns;
};

const std::vector<KnownLists>& known_lists() {
  static const std::vector<KnownLists> kLists = {
      {AttributeId::kSize,
       "by_carve_out",
       {{"carve_outs_bytes", "carve_out_bytes"},
        {"size_by_carve_out_bytes", "size_bytes"},
        {"first_miss_by_carve_out_bytes", "first_miss_bytes"},
        {"all_miss_by_carve_out_bytes", "all_miss_bytes"}}},
      {AttributeId::kLatency,
       "by_copy",
       {{"copies_bytes", "copy_bytes"}, {"latency_by_copy_cycles", "latency_cycles"}}},
  };
  return kLists;
}

// The list of numbers that a detail is, if it is one.
const std::vector<double>* find_list(const Attribute& attribute, std::string_view detail) {
  const Value* value = attribute.find_detail(detail);
  return value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
}

// Nothing where the axis or all of the values are not there.
std::optional<SampleTable> table_of_lists(const KnownLists& known, const Attribute& attribute) {
  SampleTable table{.plot = Plot::kLine};
  for (const auto& [detail, column] : known.columns) {
    const std::vector<double>* list = find_list(attribute, detail);
    const bool is_axis = table.columns.empty();
    if (list == nullptr || (!is_axis && list->size() != table.row_count())) {
      if (is_axis) return std::nullopt;
      continue;
    }
    table.columns.push_back(typed(column, is_axis ? ColumnRole::kAxis : ColumnRole::kValue));
    table.data.push_back(*list);
  }
  return table.columns.size() < 2 || table.row_count() < 2 ? std::nullopt : std::optional(std::move(table));
}

void add_tables_of_lists(const std::string& element, const std::string& name, Attribute& attribute) {
  for (const KnownLists& known : known_lists()) {
    if (to_string(known.attribute) != name) continue;
    std::optional<SampleTable> table = table_of_lists(known, attribute);
    if (!table) continue;
    table->name = fmt::format("{}.{}.{}", element, name, known.table);
    attribute.samples.push_back(*std::move(table));
  }
}

// SMs that were seen in one cluster were called those of a GPC, of which they may be parts.
void rename_cluster_sms(AttributeMap& attributes) {
  const auto found =
      std::ranges::find(attributes, info_of(AttributeId::kGpcSms).name, &AttributeMap::value_type::first);
  if (found != attributes.end()) found->first = info_of(AttributeId::kClusterSms).name;
}

void upgrade_attribute(const std::string& name, Attribute& attribute) {
  const AttributeInfo* info = find_attribute(name);
  if (info != nullptr && info->quantity == Quantity::kUnitGroups) upgrade_groups(attribute);
  for (SampleTable& table : attribute.samples) upgrade_table(table, attribute);
}

}  // namespace

void upgrade(Topology& topology) {
  for (AttributeMap* attributes : {&topology.device, &topology.compute}) {
    for (auto& [name, attribute] : *attributes) upgrade_attribute(name, attribute);
  }
  for (MemoryElement& element : topology.memory) {
    rename_cluster_sms(element.attributes);
    for (auto& [name, attribute] : element.attributes) {
      upgrade_attribute(name, attribute);
      add_tables_of_lists(element.id, name, attribute);
    }
  }
}

}  // namespace gputopo::report
