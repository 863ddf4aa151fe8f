// The JSON document of docs/schema.json, written and read.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/thin.h"

namespace gputopo {
namespace {

using Json = nlohmann::ordered_json;

// ---- writing ----

Json value_json(const Value& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

Json values_json(const NamedValues& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[name] = value_json(value);
  return json;
}

Json bound_json(const std::optional<double>& bound) { return bound.has_value() ? Json(*bound) : Json(nullptr); }

// Whole numbers without a point, which most samples are; what is no number (an empty bin's mean) is null.
Json sample_json(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!std::isfinite(value)) return nullptr;
  if (value == std::round(value) && std::abs(value) < kExact) return static_cast<std::int64_t>(value);
  return value;
}

Json samples_json(const std::vector<SampleTable>& samples) {
  Json tables = Json::array();
  for (const SampleTable& measured : samples) {
    const SampleTable table = report::thinned(measured);
    Json json{{"name", table.name}, {"columns", table.columns}};
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

Json attribute_json(const Attribute& attribute) {
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
  // What led to an absent value is said only if there is something to say.
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

Json device_json(const Topology& topology) {
  Json json;
  json["backend"] = topology.backend;
  json["simulated"] = topology.simulated;
  if (topology.simulated) json["label"] = "SIMULATED";
  json["vendor"] = topology.vendor;
  json["name"] = topology.name;
  json["architecture"] = topology.architecture;
  if (!topology.pci_address.empty()) json["pci_address"] = topology.pci_address;
  add_attributes(json, topology.device);
  return json;
}

Json memory_json(const std::vector<MemoryElement>& memory) {
  Json json = Json::object();
  for (const MemoryElement& element : memory) {
    Json& entry = json[element.id];
    entry["title"] = element.title;
    add_attributes(entry, element.attributes);
  }
  return json;
}

Json timing_json(const Topology& topology) {
  Json probes = Json::array();
  for (const ProbeTime& probe : topology.timing) {
    probes.push_back(Json{{"probe", probe.probe}, {"seconds", probe.seconds}, {"programs", probe.programs}});
  }
  return Json{{"total_seconds", topology.total_seconds}, {"probes", std::move(probes)}};
}

// Two spaces a level, as Json::dump(2), but a list of plain values is one line: samples are thousands of numbers.
void write_pretty(const Json& json, std::size_t depth, std::string& text) {
  const bool is_plain_list = json.is_array() && std::none_of(json.begin(), json.end(), [](const Json& element) {
                               return element.is_structured();
                             });
  if (!json.is_structured() || json.empty() || is_plain_list) {
    // A driver may hand over text that is not UTF-8: it is replaced, not a reason to lose the report.
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
    write_pretty(value, depth + 1, text);
  }
  new_line(depth);
  text += json.is_array() ? ']' : '}';
}

// ---- reading ----

// A part of the document that knows where it stands in it, for messages.
class Node {
 public:
  Node(const Json& json, std::string path) : json_(&json), path_(std::move(path)) {}

  [[nodiscard]] Node at(const std::string& key) const {
    if (!json_->is_object()) fail("an object");
    const auto found = json_->find(key);
    if (found == json_->end()) throw FormatError(fmt::format("the report has no '{}'", child_path(key)));
    return {*found, child_path(key)};
  }
  [[nodiscard]] bool has(const std::string& key) const { return json_->is_object() && json_->contains(key); }

  [[nodiscard]] std::vector<std::pair<std::string, Node>> members() const {
    if (!json_->is_object()) fail("an object");
    std::vector<std::pair<std::string, Node>> result;
    for (const auto& [key, value] : json_->items()) result.emplace_back(key, Node(value, child_path(key)));
    return result;
  }
  [[nodiscard]] std::vector<Node> elements() const {
    if (!json_->is_array()) fail("a list");
    std::vector<Node> result;
    for (std::size_t i = 0; i < json_->size(); ++i) result.emplace_back((*json_)[i], fmt::format("{}[{}]", path_, i));
    return result;
  }
  [[nodiscard]] bool is_object() const { return json_->is_object(); }

  [[nodiscard]] std::string text() const {
    if (!json_->is_string()) fail("a text");
    return json_->get<std::string>();
  }
  [[nodiscard]] bool boolean() const {
    if (!json_->is_boolean()) fail("true or false");
    return json_->get<bool>();
  }
  [[nodiscard]] double number() const {
    if (!json_->is_number()) fail("a number");
    return json_->get<double>();
  }
  [[nodiscard]] std::int64_t integer() const {
    if (!json_->is_number_integer()) fail("a whole number");
    return json_->get<std::int64_t>();
  }
  [[nodiscard]] std::optional<double> optional_number() const {
    return json_->is_null() ? std::nullopt : std::optional<double>(number());
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> result;
    for (const Node& element : elements()) result.push_back(element.text());
    return result;
  }

  // An empty list is one of texts: `shared_with` is the list that can be empty.
  [[nodiscard]] Value value() const {
    if (json_->is_null()) return std::monostate{};
    if (json_->is_boolean()) return boolean();
    if (json_->is_number_integer()) return integer();
    if (json_->is_number()) return number();
    if (json_->is_string()) return text();
    if (json_->is_array() && !json_->empty() && json_->front().is_number()) {
      std::vector<double> numbers;
      for (const Node& element : elements()) numbers.push_back(element.number());
      return numbers;
    }
    return texts();
  }
  [[nodiscard]] NamedValues named_values() const {
    NamedValues result;
    for (const auto& [name, node] : members()) result.emplace_back(name, node.value());
    return result;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw FormatError(fmt::format("the report's '{}' is not {}", path_.empty() ? "document" : path_, expected));
  }

 private:
  [[nodiscard]] std::string child_path(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  const Json* json_;
  std::string path_;
};

SampleTable read_samples(const Node& node) {
  SampleTable table;
  table.name = node.at("name").text();
  table.columns = node.at("columns").texts();
  if (node.has("measured_rows")) table.measured_rows = static_cast<std::uint64_t>(node.at("measured_rows").integer());
  for (const Node& column : node.at("data").elements()) {
    std::vector<double>& values = table.data.emplace_back();
    for (const Node& value : column.elements()) {
      values.push_back(value.optional_number().value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    if (values.size() != table.data.front().size()) node.at("data").fail("columns of one length");
  }
  if (table.data.size() != table.columns.size()) node.at("data").fail("a list for each of the columns");
  return table;
}

Attribute read_attribute(const Node& node) {
  Attribute attribute;
  attribute.source = parse_source(node.at("source").text());
  if (attribute.available()) {
    attribute.value = node.at("value").value();
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

// Every member that is an object is an attribute; the others are plain fields that the caller reads.
AttributeMap read_attributes(const Node& node) {
  AttributeMap attributes;
  for (const auto& [id, member] : node.members()) {
    if (member.is_object()) attributes.emplace_back(id, read_attribute(member));
  }
  return attributes;
}

void check_is_ours(const Json& json) {
  const bool ours = json.is_object() && json.contains("schema_version") && json["schema_version"].is_number_integer() &&
                    json.contains("generator") && json["generator"].is_string() &&
                    json["generator"].get<std::string>().rfind("gputopo", 0) == 0;
  if (!ours) throw FormatError("not a gputopo report: give a file that 'gputopo --json FILE' wrote");
  const auto version = json["schema_version"].get<std::int64_t>();
  if (version < kOldestSchemaVersion || version > kSchemaVersion) {
    throw FormatError(
        fmt::format("the report has schema version {}, but this gputopo reads versions {} to {}: use the gputopo that "
                    "wrote it ({}), or measure again",
                    version, kOldestSchemaVersion, kSchemaVersion, json["generator"].get<std::string>()));
  }
}

}  // namespace

std::string to_json(const Topology& topology) {
  Json json;
  // Of a report that was read, its own: written again its values are still those of the definitions it was made with.
  // So far a later version only adds to an earlier one, so that what is written is of the version that it says.
  json["schema_version"] = topology.schema_version;
  json["generator"] = topology.generator;
  json["timestamp"] = topology.timestamp;
  json["complete"] = topology.complete;
  json["device"] = device_json(topology);
  json["compute"] = Json::object();
  add_attributes(json["compute"], topology.compute);
  json["memory"] = memory_json(topology.memory);
  json["timing"] = timing_json(topology);
  json["warnings"] = topology.warnings;
  std::string text;
  write_pretty(json, 0, text);
  return text + "\n";
}

Topology read_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    throw FormatError(
        "not a gputopo report: it is not JSON, or it was cut short; give a file that 'gputopo --json FILE' wrote");
  }
  check_is_ours(json);

  const Node root(json, "");
  Topology topology;
  topology.schema_version = static_cast<int>(root.at("schema_version").integer());
  topology.generator = root.at("generator").text();
  topology.timestamp = root.at("timestamp").text();
  topology.complete = root.at("complete").boolean();

  const Node device = root.at("device");
  topology.backend = device.at("backend").text();
  topology.simulated = device.at("simulated").boolean();
  topology.vendor = device.at("vendor").text();
  topology.name = device.at("name").text();
  topology.architecture = device.at("architecture").text();
  if (device.has("pci_address")) topology.pci_address = device.at("pci_address").text();
  topology.device = read_attributes(device);
  topology.compute = read_attributes(root.at("compute"));
  for (const auto& [id, element] : root.at("memory").members()) {
    topology.memory.push_back({id, element.at("title").text(), read_attributes(element)});
  }

  const Node timing = root.at("timing");
  topology.total_seconds = timing.at("total_seconds").number();
  for (const Node& probe : timing.at("probes").elements()) {
    topology.timing.push_back({probe.at("probe").text(), probe.at("seconds").number(),
                               static_cast<std::uint64_t>(probe.at("programs").integer())});
  }
  topology.warnings = root.at("warnings").texts();
  return topology;
}

}  // namespace gputopo
