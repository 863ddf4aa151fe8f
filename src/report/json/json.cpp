#include "report/json/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "file/json_text.h"
#include "file/limits.h"
#include "file/shown.h"
#include "gputopo/catalogue.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "model/renames.h"
#include "report/json/attribute.h"
#include "report/json/node.h"
#include "report/json/timing.h"

namespace gputopo {
namespace {

using Json = nlohmann::ordered_json;
using report::add_attributes;
using report::Node;
using report::read_attribute;

// ---- writing ----

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

bool is_unit(std::string_view id) {
  const ElementInfo* info = find_element(id);
  return info != nullptr && info->is_unit();
}

// Elements of compute units go under "compute", all others under "memory".
void add_elements(Json& json, const std::vector<MemoryElement>& elements, bool of_units) {
  for (const MemoryElement& element : elements) {
    if (is_unit(element.id) != of_units) continue;
    Json& entry = json[element.id];
    entry["title"] = element.title;
    add_attributes(entry, element.attributes);
  }
}

void add_instructions(Json& compute, const std::vector<Instruction>& instructions) {
  if (instructions.empty()) return;
  Json& json = compute[std::string(kInstructions)] = Json::object();
  for (const Instruction& instruction : instructions) {
    Json& entry = json[instruction.id];
    entry["title"] = instruction.title;
    add_attributes(entry, instruction.attributes);
  }
}

// ---- reading ----

// Every object member is an attribute. The caller reads the other members, which are plain fields.
AttributeMap read_attributes(const Node& node) {
  AttributeMap attributes;
  for (const auto& [id, member] : node.members()) {
    if (member.is_object() && id != kInstructions && !is_unit(id)) {
      attributes.emplace_back(id, read_attribute(member, id));
    }
  }
  return attributes;
}

std::vector<Instruction> read_instructions(const Node& compute) {
  std::vector<Instruction> instructions;
  if (!compute.has(std::string(kInstructions))) return instructions;
  for (const auto& [id, instruction] : compute.at(std::string(kInstructions)).members()) {
    instructions.push_back({id, instruction.at("title").text(), read_attributes(instruction)});
  }
  return instructions;
}

// Throws FormatError if this version cannot read the report. Gives a report of the previous version the current names.
void accept_version(Json& json) {
  const bool ours = json.is_object() && json.contains("schema_version") && json["schema_version"].is_number_integer() &&
                    json.contains("generator") && json["generator"].is_string() &&
                    json["generator"].get<std::string>().rfind("gputopo", 0) == 0;
  if (!ours) throw FormatError("not a gputopo report: use a JSON report written by 'gputopo --json FILE'");
  const auto version = json["schema_version"].get<std::int64_t>();
  if (version == kSchemaVersion - 1) return use_current_names(json);
  if (version != kSchemaVersion) {
    throw FormatError(
        fmt::format("the report has schema version {}, but this gputopo reads version {}: use the gputopo that "
                    "wrote it ({}), or measure again",
                    version, kSchemaVersion, shown(json["generator"].get<std::string>())));
  }
}

Json parse_document(std::string_view text) {
  try {
    return parse_json<Json>(text);
  } catch (const FormatError& error) {
    throw FormatError(
        fmt::format("not a gputopo report: {}, or the file is truncated there; use a JSON report written by "
                    "'gputopo --json FILE'",
                    error.what()));
  }
}

// The same check applies to every file that describes a device.
void check_sm_count(const Topology& topology) {
  const Attribute* count = find(topology.compute, AttributeId::kSmCount);
  if (count == nullptr || !count->available()) return;
  const std::optional<double> sms = count->number();
  if (!sms || *sms < 1 || *sms > limits::kMaxSms) {
    throw FormatError(
        fmt::format("the report's 'compute.sm_count.value' is not a number between 1 and {}", limits::kMaxSms));
  }
}

}  // namespace

nlohmann::ordered_json report::report_document(const Topology& topology) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["generator"] = topology.generator;
  json["timestamp"] = topology.timestamp;
  json["complete"] = topology.complete;
  json["device"] = device_json(topology);
  json["compute"] = Json::object();
  add_attributes(json["compute"], topology.compute);
  add_instructions(json["compute"], topology.instructions);
  add_elements(json["compute"], topology.memory, true);
  json["memory"] = Json::object();
  add_elements(json["memory"], topology.memory, false);
  json["timing"] = report::timing_json(topology);
  json["warnings"] = topology.warnings;
  return json;
}

std::string to_json(const Topology& topology) { return report::pretty_text(report::report_document(topology)); }

Topology read_json(std::string_view text) {
  Json json = parse_document(text);
  accept_version(json);

  const Node root(json);
  Topology topology;
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
  topology.instructions = read_instructions(root.at("compute"));
  check_sm_count(topology);
  const auto read_element = [&](const std::string& id, const Node& element) {
    topology.memory.push_back({id, element.at("title").text(), read_attributes(element)});
  };
  for (const auto& [id, element] : root.at("memory").members()) read_element(id, element);
  for (const auto& [id, element] : root.at("compute").members()) {
    if (is_unit(id)) read_element(id, element);
  }

  report::read_timing(root.at("timing"), topology);
  topology.warnings = root.at("warnings").texts();
  return topology;
}

}  // namespace gputopo
