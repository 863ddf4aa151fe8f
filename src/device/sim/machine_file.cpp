#include "device/sim/machine_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "device/sim/machine/builtin.h"
#include "device/sim/machine/fields.h"
#include "device/sim/machine_check.h"
#include "file/json_text.h"
#include "file/shown.h"

namespace gputopo::sim {
namespace {

using SortedJson = nlohmann::json;

constexpr int kMachineVersion = 1;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw FormatError(fmt::format("{}: {}", path.empty() ? "machine file" : path, problem));
}

// A value as a message shows it; lists and objects by their kind only, because they may be long.
std::string text_of(const SortedJson& node) {
  if (node.is_array()) return "a list";
  if (node.is_object()) return "an object";
  return shown(node.dump());
}

std::string join_path(const std::string& path, const std::string& key) {
  return path.empty() ? shown(key) : path + "." + shown(key);
}

// Returns the value inside {"value": ..., "source": ...}, or the node itself.
const SortedJson& unwrap(const SortedJson& node, const std::string& path) {
  if (!node.is_object() || !node.contains("value")) return node;
  for (const auto& [key, value] : node.items()) {
    const bool fits =
        key == "value" || (key == "source" && value.is_string()) || (key == "guess" && value.is_boolean());
    if (!fits)
      refuse(join_path(path, key), "only \"source\" (a string) and \"guess\" (true or false) may accompany \"value\"");
  }
  if (!node.contains("source")) refuse(path, "a \"value\" requires a \"source\" next to it");
  return node["value"];
}

// ---- Values ----

template <typename T>
void read(const SortedJson& wrapped, const std::string& path, T& out);

void read_value(const SortedJson& node, const std::string& path, bool& out) {
  if (!node.is_boolean()) refuse(path, fmt::format("{} is not true or false", text_of(node)));
  out = node.get<bool>();
}

void read_value(const SortedJson& node, const std::string& path, std::string& out) {
  if (!node.is_string()) refuse(path, fmt::format("{} is not a string", text_of(node)));
  out = node.get<std::string>();
}

void read_value(const SortedJson& node, const std::string& path, double& out) {
  if (!node.is_number()) refuse(path, fmt::format("{} is not a number", text_of(node)));
  out = node.get<double>();
}

template <typename Integer>
requires std::is_integral_v<Integer>
void read_value(const SortedJson& node, const std::string& path, Integer& out) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
  if (!node.is_number_unsigned() || node.get<std::uint64_t>() > kMax) {
    refuse(path, fmt::format("{} is not a whole number between 0 and {}", text_of(node), kMax));
  }
  out = node.get<Integer>();
}

template <typename Enum>
requires std::is_enum_v<Enum>
void read_value(const SortedJson& node, const std::string& path, Enum& out) {
  const auto& names = kNames<Enum>;
  const auto found = std::ranges::find(names, node.is_string() ? node.get<std::string>() : "");
  if (found == names.end()) refuse(path, fmt::format("{} is not one of {}", text_of(node), fmt::join(names, ", ")));
  out = static_cast<Enum>(found - names.begin());
}

template <typename T>
void read_value(const SortedJson& node, const std::string& path, std::optional<T>& out) {
  read(node, path, out.emplace());
}

template <typename T>
void read_value(const SortedJson& node, const std::string& path, std::vector<T>& out) {
  if (!node.is_array()) refuse(path, "is not a list");
  for (std::size_t i = 0; i < node.size(); ++i) read(node[i], fmt::format("{}[{}]", path, i), out.emplace_back());
}

// ---- Objects: a table of fields, one row each ----

struct Field {
  std::string name;
  std::function<void(const SortedJson& node, const std::string& path)> read_into;
  Presence presence = Presence::kOptional;
};

template <typename T>
Field field(std::string name, T& out, Presence presence) {
  return {std::move(name), [&out](const SortedJson& node, const std::string& path) { read(node, path, out); },
          presence};
}

// Every key must be a field of the table, or "comment".
void read_object(const SortedJson& node, const std::string& path, const std::vector<Field>& fields) {
  if (!node.is_object()) refuse(path, "is not an object");
  for (const auto& [key, value] : node.items()) {
    if (key == "comment") continue;
    const auto row =
        std::find_if(fields.begin(), fields.end(), [&, &name = key](const Field& f) { return f.name == name; });
    if (row == fields.end()) {
      std::vector<std::string> known;
      for (const Field& f : fields) known.push_back(f.name);
      refuse(join_path(path, key), fmt::format("unknown field; the fields here are {}", fmt::join(known, ", ")));
    }
    row->read_into(value, join_path(path, key));
  }
  for (const Field& f : fields) {
    if (f.presence == Presence::kRequired && !node.contains(f.name)) refuse(join_path(path, f.name), "is missing");
  }
}

template <typename Object>
std::vector<Field> fields_of(Object& object) {
  std::vector<Field> fields;
  visit_fields(object, [&](std::string_view name, auto& out, Presence presence) {
    fields.push_back(field(std::string(name), out, presence));
  });
  return fields;
}

template <typename Object>
requires std::is_class_v<Object>
void read_value(const SortedJson& node, const std::string& path, Object& object) {
  read_object(node, path, fields_of(object));
}

void read_value(const SortedJson& node, const std::string& path, std::map<Space, SpaceSpec>& spaces) {
  std::map<Space, SpaceSpec> all;
  std::vector<Field> fields;
  for (const Space space : kAllSpaces) {
    fields.push_back(field(std::string(to_string(space)), all[space], Presence::kOptional));
  }
  read_object(node, path, fields);
  for (const auto& [space, spec] : all) {
    if (node.contains(to_string(space))) spaces[space] = spec;
  }
}

// The keys are names of levels. check_machine() rejects unknown ones.
template <typename Spec>
void read_value(const SortedJson& node, const std::string& path, std::map<std::string, Spec>& levels) {
  if (!node.is_object()) refuse(path, "is not an object");
  for (const auto& [level, value] : node.items()) {
    if (level != "comment") read(value, join_path(path, level), levels[level]);
  }
}

template <typename T>
void read(const SortedJson& wrapped, const std::string& path, T& out) {
  read_value(unwrap(wrapped, path), path, out);
}

SortedJson parse_document(const std::string& json_text) {
  try {
    return parse_json<SortedJson>(json_text);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("machine file: {}; correct the file", error.what()));
  }
}

}  // namespace

MachineSpec parse_machine(const std::string& json_text) {
  const SortedJson document = parse_document(json_text);
  MachineSpec spec;
  int version = 0;
  std::vector<Field> fields = fields_of(spec);
  fields.insert(fields.begin(), field("machine_version", version, Presence::kRequired));
  read_object(document, "", fields);
  if (version != kMachineVersion) {
    refuse("machine_version", fmt::format("{} is not {}; this gputopo reads only machine files of version {}", version,
                                          kMachineVersion, kMachineVersion));
  }
  check_machine(spec);
  return spec;
}

namespace {

const Builtin* find_builtin(const std::string& name) {
  const std::span machines(kBuiltinMachines, kBuiltinMachineCount);
  const auto found = std::ranges::find(machines, name, &Builtin::name);
  return found == machines.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> builtin_machine(const std::string& name) {
  const Builtin* machine = find_builtin(name);
  return machine == nullptr ? std::nullopt : std::optional<std::string>(machine->text);
}

std::optional<DeviceInfo> builtin_machine_info(const std::string& name) {
  const Builtin* machine = find_builtin(name);
  if (machine == nullptr) return std::nullopt;
  DeviceInfo info;
  read(parse_document(std::string(machine->info)), "info", info);
  return info;
}

std::vector<std::string> builtin_machine_names() {
  std::vector<std::string> names;
  for (unsigned i = 0; i < kBuiltinMachineCount; ++i) names.emplace_back(kBuiltinMachines[i].name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace gputopo::sim
