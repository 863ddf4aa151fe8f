#include "kernel_model/kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "file/json_text.h"
#include "file/limits.h"
#include "file/shown.h"

namespace gputopo::kernel_model {
namespace {

using Json = nlohmann::ordered_json;

// No real kernel comes near this. Products of a few such numbers stay finite.
constexpr double kMostOfAnything = 1e15;
constexpr std::uint64_t kMaxBlocks = 1ull << 40;
constexpr std::size_t kMaxNameBytes = 200;
constexpr std::string_view kOther = "other";

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw FormatError(path.empty() ? problem : fmt::format("'{}' {}", shown(path), problem));
}

// A JSON object of the file. Fields are looked up by name; refuse_unknown() rejects all that were never looked up.
class Fields {
 public:
  Fields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) refuse(path_, path_.empty() ? "the kernel is not an object" : "is not an object");
  }

  [[nodiscard]] const Json* find(const std::string& name) {
    known_.insert(name);
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  [[nodiscard]] const Json& need(const std::string& name) {
    const Json* const value = find(name);
    if (value == nullptr) refuse(path_, fmt::format("{} no '{}'", path_.empty() ? "the kernel has" : "has", name));
    return *value;
  }

  [[nodiscard]] double number(const std::string& name, double least, std::optional<double> preset = std::nullopt) {
    const Json* const value = preset ? find(name) : &need(name);
    return value == nullptr ? *preset : number_of(*value, path_of(name), least);
  }

  [[nodiscard]] std::uint64_t whole(const std::string& name, std::uint64_t least, std::uint64_t most,
                                    std::optional<std::uint64_t> preset = std::nullopt) {
    const Json* const value = preset ? find(name) : &need(name);
    if (value == nullptr) return *preset;
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() < least || value->get<std::uint64_t>() > most) {
      refuse(path_of(name), fmt::format("must be a whole number from {} to {}", least, most));
    }
    return value->get<std::uint64_t>();
  }

  [[nodiscard]] std::string text(const std::string& name, const std::string& preset) {
    const Json* const value = find(name);
    if (value == nullptr) return preset;
    if (!value->is_string()) refuse(path_of(name), "must be a string");
    std::string text = value->get<std::string>();
    if (text.size() > kMaxNameBytes) refuse(path_of(name), fmt::format("is longer than {} bytes", kMaxNameBytes));
    return text;
  }

  [[nodiscard]] std::string path_of(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  static double number_of(const Json& value, const std::string& path, double least) {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= least && number <= kMostOfAnything)) {
      refuse(path, fmt::format("must be a number from {} to {:g}", least, kMostOfAnything));
    }
    return number;
  }

  void refuse_unknown() {
    known_.insert("comment");
    for (const auto& [name, value] : json_.items()) {
      if (!known_.contains(name)) {
        refuse(path_of(name), fmt::format("is not a known field; the fields here are {}", fmt::join(known_, ", ")));
      }
    }
  }

 private:
  const Json& json_;
  std::string path_;
  std::set<std::string> known_;
};

void read_operations(const Json& json, Kernel& kernel) {
  const std::string path = "instructions";
  if (!json.is_object()) refuse(path, "is not an object");
  for (const auto& [name, value] : json.items()) {
    const std::string place = fmt::format("{}.{}", path, name);
    const double count = Fields::number_of(value, place, 0);
    if (name == kOther) {
      kernel.other_instructions = count;
      continue;
    }
    const OperationInfo* operation = find_operation(name);
    if (operation == nullptr) {
      refuse(place,
             fmt::format("is neither an operation of gputopo ('fma.f32', ..., see docs/model.md) nor '{}'", kOther));
    }
    kernel.operations.push_back({operation->id, count});
  }
}

ElementId level_of(const std::string& name, const std::string& path) {
  const ElementInfo* element = find_element(name);
  const auto is_level = [](const ElementInfo& info) {
    const std::span<const AttributeInfo> attributes = attributes_of(info);
    return info.space.has_value() &&
           std::ranges::find(attributes, AttributeId::kReadBandwidth, &AttributeInfo::id) != attributes.end() &&
           (info.kind == ElementKind::kDataCache || info.kind == ElementKind::kScratchpad ||
            info.kind == ElementKind::kMemory);
  };
  if (element != nullptr && is_level(*element)) return element->id;
  std::vector<std::string_view> names;
  for (const ElementInfo& info : element_catalogue()) {
    if (is_level(info)) names.push_back(info.name);
  }
  refuse(path, fmt::format("must be one of {}", fmt::join(names, ", ")));
}

MemoryAccess read_access(const Json& json, const std::string& path) {
  Fields fields(json, path);
  MemoryAccess access;
  static_cast<void>(fields.need("level"));
  access.level = level_of(fields.text("level", ""), fields.path_of("level"));
  const std::string kind = fields.text("access", "load");
  if (kind != "load" && kind != "store") refuse(fields.path_of("access"), "must be \"load\" or \"store\"");
  access.is_store = kind == "store";
  access.count = fields.number("count", 0);
  access.bytes = fields.number("bytes", 1);
  access.in_flight = fields.number("in_flight", 1, 1.0);
  if (fields.find("transactions") != nullptr) access.transactions = fields.number("transactions", 1);
  fields.refuse_unknown();
  return access;
}

}  // namespace

Kernel read_kernel(std::string_view text) {
  const Json document = parse_json<Json>(text);
  Fields fields(document, "");
  Kernel kernel;
  kernel.name = fields.text("name", "kernel");
  kernel.grid_blocks = fields.whole("grid_blocks", 1, kMaxBlocks);
  kernel.block_threads = static_cast<std::uint32_t>(fields.whole("block_threads", 1, limits::kMaxDeviceUnits));
  if (fields.find("registers_per_thread") != nullptr) {
    kernel.registers_per_thread =
        static_cast<std::uint32_t>(fields.whole("registers_per_thread", 1, limits::kMaxDeviceUnits));
  }
  kernel.shared_bytes_per_block = fields.whole("shared_bytes_per_block", 0, limits::kMaxDeviceBytes, 0);
  kernel.ilp = fields.number("ilp", 1, 1.0);
  kernel.barriers = fields.number("barriers", 0, 0.0);
  if (const Json* operations = fields.find("instructions")) read_operations(*operations, kernel);
  if (const Json* memory = fields.find("memory")) {
    if (!memory->is_array()) refuse("memory", "is not a list");
    for (const Json& access : *memory) {
      kernel.memory.push_back(read_access(access, fmt::format("memory[{}]", kernel.memory.size())));
    }
  }
  fields.refuse_unknown();
  return kernel;
}

}  // namespace gputopo::kernel_model
