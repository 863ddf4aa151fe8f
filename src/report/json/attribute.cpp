#include "report/json/attribute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gputopo/catalogue.h"
#include "report/json/thin.h"
#include "report/json/value.h"

namespace gputopo::report {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no other numbers. A number that is not finite was not measured.
bool is_finite(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return std::isfinite(*number);
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  return numbers == nullptr || std::ranges::all_of(*numbers, [](double number) { return std::isfinite(number); });
}

// Leaves out numbers that are not finite, and lists that contain one.
Json values_json(const NamedValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) {
    if (is_finite(value)) json[name] = value_json(value);
  }
  return json;
}

// Writes integers, the usual samples, without a decimal point; non-finite numbers (an empty bin's mean) become null.
Json sample_json(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::round(value) && std::abs(value) < kExact) return static_cast<std::int64_t>(value);
  return value;
}

Json samples_json(const std::vector<SampleTable>& samples) {
  Json tables = Json::array();
  for (const SampleTable& measured : samples) {
    const SampleTable table = downsampled(measured);
    Json json{{"name", table.name}, {"plot", to_string(table.plot)}};
    Json& columns = json["columns"] = Json::array();
    for (const Column& column : table.columns) {
      columns.push_back({{"name", column.name},
                         {"role", to_string(column.role)},
                         {"quantity", column.quantity},
                         {"unit", column.unit}});
    }
    if (table.timer_cycles != 0) json["timer_cycles"] = table.timer_cycles;
    if (!table.marks.empty()) json["marks"] = table.marks;
    if (table.measured_rows != 0) json["measured_rows"] = table.measured_rows;
    Json& data = json["data"] = Json::array();
    for (const std::vector<double>& column : table.data) {
      Json& values = data.emplace_back(Json::array());
      for (const double value : column) values.push_back(sample_json(value));
    }
    tables.push_back(std::move(json));
  }
  return tables;
}

// Replaces a value that is not finite by the reason for its absence.
Attribute without_value(const Attribute& attribute) {
  Attribute result = attribute;
  result.value = std::monostate{};
  result.unit.clear();
  result.low = result.high = std::nullopt;
  result.source = Source::kUnavailable;
  result.reason = Reason::kInconclusive;
  result.detail = "the measurement did not give a finite number";
  return result;
}

bool holds_plain_values(const Json& json) {
  return std::none_of(json.begin(), json.end(), [](const Json& element) { return element.is_structured(); });
}

void write_pretty(const Json& json, std::size_t depth, bool is_element, std::string& text) {
  if (!json.is_structured() || json.empty() || ((json.is_array() || is_element) && holds_plain_values(json))) {
    // A driver may return text that is not UTF-8. It is replaced, so that the report is not lost.
    text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  const auto new_line = [&text](std::size_t level) { text.append("\n").append(2 * level, ' '); };
  text += json.is_array() ? '[' : '{';
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    if (!std::exchange(first, false)) text += ',';
    new_line(depth + 1);
    if (json.is_object()) text += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    write_pretty(value, depth + 1, json.is_array(), text);
  }
  new_line(depth);
  text += json.is_array() ? ']' : '}';
}

Column read_column(const Node& node) {
  return {.name = node.at("name").text(),
          .role = parse_column_role(node.at("role").text()),
          .quantity = node.at("quantity").text(),
          .unit = node.at("unit").text()};
}

SampleTable read_samples(const Node& node) {
  SampleTable table{.name = node.at("name").text(), .plot = parse_plot(node.at("plot").text())};
  for (const Node& column : node.at("columns").elements()) table.columns.push_back(read_column(column));
  if (node.has("timer_cycles")) table.timer_cycles = node.at("timer_cycles").number();
  if (node.has("marks")) table.marks = node.at("marks").texts();
  if (node.has("measured_rows")) table.measured_rows = static_cast<std::uint64_t>(node.at("measured_rows").integer());
  for (const Node& column : node.at("data").elements()) {
    std::vector<double>& values = table.data.emplace_back();
    for (const Node& value : column.elements()) {
      values.push_back(value.optional_number().value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    if (values.size() != table.data.front().size()) node.at("data").fail("a list of columns of equal length");
  }
  if (table.data.size() != table.columns.size()) node.at("data").fail("a list with one entry per column");
  return table;
}

// For an empty list, the attribute's catalogue entry says what it would contain.
Value read_value(const Node& node, const std::string& name) {
  Value value = node.value();
  if (std::holds_alternative<std::monostate>(value))
    node.fail("a value; an attribute without a value needs the source 'unavailable' and a reason");
  const AttributeInfo* info = find_attribute(name);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (info != nullptr && info->quantity == Quantity::kUnitGroups && texts != nullptr && texts->empty()) {
    return UnitGroups{};
  }
  return value;
}

}  // namespace

Json attribute_json(const Attribute& attribute) {
  if (attribute.available() && !is_finite(attribute.value)) return attribute_json(without_value(attribute));
  Json json;
  if (attribute.available()) {
    json["value"] = value_json(attribute.value);
    json["unit"] = attribute.unit;
    json["low"] = bound_json(attribute.low);
    json["high"] = bound_json(attribute.high);
    json["source"] = to_string(attribute.source);
  } else {
    json["source"] = to_string(attribute.source);
    json["reason"] = to_string(attribute.reason);
    json["detail"] = attribute.detail;
  }
  // For an absent value, only non-empty fields are written.
  const bool always = attribute.available();
  if (always || !attribute.method.empty()) json["method"] = attribute.method;
  if (always || !attribute.conditions.empty()) json["conditions"] = values_json(attribute.conditions);
  if (always || !attribute.details.empty()) json["details"] = values_json(attribute.details);
  if (always || !attribute.flags.empty()) json["flags"] = attribute.flags;
  if (!attribute.samples.empty()) json["samples"] = samples_json(attribute.samples);
  return json;
}

void add_attributes(Json& json, const AttributeMap& attributes) {
  for (const auto& [id, attribute] : attributes) json[id] = attribute_json(attribute);
}

Attribute read_attribute(const Node& node, const std::string& name) {
  Attribute attribute;
  attribute.source = parse_source(node.at("source").text());
  if (attribute.available()) {
    attribute.value = read_value(node.at("value"), name);
    attribute.unit = node.at("unit").text();
    attribute.low = node.at("low").optional_number();
    attribute.high = node.at("high").optional_number();
  } else {
    attribute.reason = parse_reason(node.at("reason").text());
    attribute.detail = node.at("detail").text();
  }
  if (node.has("method")) attribute.method = node.at("method").text();
  if (node.has("conditions")) attribute.conditions = node.at("conditions").named_values();
  if (node.has("details")) attribute.details = node.at("details").named_values();
  if (node.has("flags")) attribute.flags = node.at("flags").texts();
  if (node.has("samples")) {
    for (const Node& table : node.at("samples").elements()) attribute.samples.push_back(read_samples(table));
  }
  return attribute;
}

std::string pretty_text(const Json& json) {
  std::string text;
  write_pretty(json, 0, false, text);
  return text + "\n";
}

}  // namespace gputopo::report
