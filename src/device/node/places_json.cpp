#include "device/node/places_json.h"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <limits>

#include "file/limits.h"
#include "file/shown.h"
#include "gputopo/error.h"

namespace gputopo::node {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Value value_of(const Json& json, const std::string& path) {
  if constexpr (std::same_as<Value, std::string>) {
    if (!json.is_string()) refuse(path, "is not a string");
  } else if constexpr (std::same_as<Value, bool>) {
    if (!json.is_boolean()) refuse(path, "is not true or false");
  } else if constexpr (std::integral<Value>) {
    const bool fits = json.is_number_unsigned() && json.get<std::uint64_t>() <= std::numeric_limits<Value>::max();
    if (!fits) refuse(path, fmt::format("is not a whole number up to {}", std::numeric_limits<Value>::max()));
  } else {
    if (!json.is_number() || !std::isfinite(json.get<double>())) refuse(path, "is not a finite number");
  }
  return json.get<Value>();
}

template <typename Value>
void put(Json& json, const char* name, const std::optional<Value>& value) {
  if (value) json[name] = *value;
}
void put(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

std::string optional_text(const Json& json, const char* name, const std::string& path) {
  return optional_member<std::string>(json, name, path).value_or("");
}

}  // namespace

void refuse(const std::string& path, const std::string& problem) {
  throw FormatError(fmt::format("'{}' {}", path.empty() ? "document" : path, problem));
}

std::string within(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}
std::string item_of(const std::string& path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

template <typename Value>
Value member(const Json& json, const char* name, const std::string& path) {
  if (!json.is_object()) refuse(path, "is not an object");
  const auto found = json.find(name);
  if (found == json.end()) refuse(within(path, name), "is missing");
  return value_of<Value>(*found, within(path, name));
}

template <typename Value>
std::optional<Value> optional_member(const Json& json, const char* name, const std::string& path) {
  if (!json.is_object()) refuse(path, "is not an object");
  const auto found = json.find(name);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return value_of<Value>(*found, within(path, name));
}

template std::string member(const Json&, const char*, const std::string&);
template bool member(const Json&, const char*, const std::string&);
template double member(const Json&, const char*, const std::string&);
template std::uint32_t member(const Json&, const char*, const std::string&);
template std::uint64_t member(const Json&, const char*, const std::string&);
template std::optional<std::string> optional_member(const Json&, const char*, const std::string&);
template std::optional<bool> optional_member(const Json&, const char*, const std::string&);
template std::optional<double> optional_member(const Json&, const char*, const std::string&);
template std::optional<std::uint32_t> optional_member(const Json&, const char*, const std::string&);
template std::optional<std::uint64_t> optional_member(const Json&, const char*, const std::string&);

const Json& list_member(const Json& json, const char* name, const std::string& path) {
  static const Json kNone = Json::array();
  if (!json.is_object()) refuse(path, "is not an object");
  const auto found = json.find(name);
  if (found == json.end()) return kNone;
  if (!found->is_array()) refuse(within(path, name), "is not a list");
  return *found;
}

Endpoint parse_place(std::string_view text, const std::string& path) {
  if (const std::optional<Endpoint> place = parse_endpoint(text)) return *place;
  refuse(path, fmt::format("is '{}', not a place such as host0 or gpu1", shown(text)));
}

Json gpu_json(const NodeGpu& gpu) {
  Json json;
  json["spec"] = gpu.spec;
  json["name"] = gpu.name;
  put(json, "id", gpu.id);
  put(json, "pci_address", gpu.pci_address);
  put(json, "numa_node", gpu.numa_node);
  put(json, "cpus", gpu.cpus);
  put(json, "pcie_generation", gpu.pci_link.generation);
  put(json, "pcie_width", gpu.pci_link.width);
  put(json, "pcie_generation_max", gpu.pci_link.generation_max);
  put(json, "pcie_width_max", gpu.pci_link.width_max);
  put(json, "pcie_slot_generation_max", gpu.pci_link.slot_generation_max);
  put(json, "pcie_slot_width_max", gpu.pci_link.slot_width_max);
  for (const PciHop& hop : gpu.pci_link.hops) {
    Json& one = json["pcie_hops"].emplace_back(Json::object());
    put(one, "port", hop.port);
    put(one, "width", hop.width);
    put(one, "generation_max", hop.generation_max);
    put(one, "width_max", hop.width_max);
  }
  put(json, "nvlinks", gpu.nvlinks);
  put(json, "nvlinks_max", gpu.nvlinks_max);
  return json;
}

namespace {

std::vector<PciHop> read_hops(const Json& json, const std::string& path) {
  const Json& list = list_member(json, "pcie_hops", path);
  std::vector<PciHop> hops;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = item_of(within(path, "pcie_hops"), i);
    const auto count = [&](const char* name) { return optional_member<std::uint32_t>(list[i], name, place); };
    hops.push_back({.port = optional_text(list[i], "port", place),
                    .width = count("width"),
                    .generation_max = count("generation_max"),
                    .width_max = count("width_max")});
  }
  return hops;
}

}  // namespace

NodeGpu read_gpu(const Json& json, const std::string& path) {
  const auto count = [&](const char* name) { return optional_member<std::uint32_t>(json, name, path); };
  return {.spec = member<std::string>(json, "spec", path),
          .name = optional_text(json, "name", path),
          .id = optional_text(json, "id", path),
          .pci_address = optional_text(json, "pci_address", path),
          .numa_node = optional_member<std::uint32_t>(json, "numa_node", path),
          .cpus = optional_text(json, "cpus", path),
          .pci_link = {.generation = count("pcie_generation"),
                       .width = count("pcie_width"),
                       .generation_max = count("pcie_generation_max"),
                       .width_max = count("pcie_width_max"),
                       .slot_generation_max = count("pcie_slot_generation_max"),
                       .slot_width_max = count("pcie_slot_width_max"),
                       .hops = read_hops(json, path)},
          .nvlinks = count("nvlinks"),
          .nvlinks_max = count("nvlinks_max")};
}

Json numa_json(const NumaNode& numa) {
  Json json;
  json["id"] = numa.id;
  put(json, "cpus", numa.cpus);
  put(json, "memory_bytes", numa.memory_bytes);
  return json;
}

NumaNode read_numa(const Json& json, const std::string& path) {
  return {.id = member<std::uint32_t>(json, "id", path),
          .cpus = optional_text(json, "cpus", path),
          .memory_bytes = optional_member<std::uint64_t>(json, "memory_bytes", path)};
}

Json peer_json(const PeerLink& peer) {
  Json json;
  json["from"] = to_text(Endpoint{EndpointKind::kGpu, peer.from});
  json["to"] = to_text(Endpoint{EndpointKind::kGpu, peer.to});
  put(json, "kind", peer.kind);
  put(json, "lanes", peer.lanes);
  put(json, "lane_bytes_per_second", peer.lane_bytes_per_second);
  json["is_reachable"] = peer.is_reachable;
  put(json, "has_atomics", peer.has_atomics);
  return json;
}

PeerLink read_peer(const Json& json, const std::string& path) {
  const auto gpu = [&](const char* name) {
    const Endpoint place = parse_place(member<std::string>(json, name, path), within(path, name));
    if (place.kind != EndpointKind::kGpu) refuse(within(path, name), "is not a GPU");
    return place.index;
  };
  return {.from = gpu("from"),
          .to = gpu("to"),
          .kind = optional_text(json, "kind", path),
          .lanes = optional_member<std::uint32_t>(json, "lanes", path),
          .lane_bytes_per_second = optional_member<double>(json, "lane_bytes_per_second", path),
          .is_reachable = member<bool>(json, "is_reachable", path),
          .has_atomics = optional_member<bool>(json, "has_atomics", path)};
}

Json info_json(const NodeInfo& info) {
  Json json;
  json["backend"] = info.backend;
  json["simulated"] = info.simulated;
  put(json, "name", info.name);
  put(json, "driver_version", info.driver_version);
  json["gpus"] = Json::array();
  for (const NodeGpu& gpu : info.gpus) json["gpus"].push_back(gpu_json(gpu));
  json["numa_nodes"] = Json::array();
  for (const NumaNode& numa : info.numa_nodes) json["numa_nodes"].push_back(numa_json(numa));
  json["peers"] = Json::array();
  for (const PeerLink& peer : info.peers) json["peers"].push_back(peer_json(peer));
  return json;
}

NodeInfo read_info(const Json& json) {
  const std::string path = "info";
  NodeInfo info{.backend = member<std::string>(json, "backend", path),
                .simulated = member<bool>(json, "simulated", path),
                .name = optional_text(json, "name", path),
                .driver_version = optional_text(json, "driver_version", path)};
  const Json& gpus = list_member(json, "gpus", path);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    info.gpus.push_back(read_gpu(gpus[i], item_of(within(path, "gpus"), i)));
  }
  const Json& numa_nodes = list_member(json, "numa_nodes", path);
  for (std::size_t i = 0; i < numa_nodes.size(); ++i) {
    info.numa_nodes.push_back(read_numa(numa_nodes[i], item_of(within(path, "numa_nodes"), i)));
  }
  const Json& peers = list_member(json, "peers", path);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    info.peers.push_back(read_peer(peers[i], item_of(within(path, "peers"), i)));
  }
  check_node(info);
  return info;
}

void check_node(const NodeInfo& info) {
  if (info.gpus.empty() || info.gpus.size() > limits::kMaxNodeGpus) {
    refuse("gpus", fmt::format("must have 1 to {} entries", limits::kMaxNodeGpus));
  }
  if (info.numa_nodes.empty() || info.numa_nodes.size() > limits::kMaxNumaNodes) {
    refuse("numa_nodes", fmt::format("must have 1 to {} entries", limits::kMaxNumaNodes));
  }
  for (std::size_t i = 0; i < info.gpus.size(); ++i) {
    if (info.gpus[i].numa_node.value_or(0) >= info.numa_nodes.size()) {
      refuse(within(item_of("gpus", i), "numa_node"), "is not an index into numa_nodes");
    }
  }
  if (info.peers.size() > info.gpus.size() * info.gpus.size())
    refuse("peers", "has more entries than the node has pairs of GPUs");
  for (std::size_t i = 0; i < info.peers.size(); ++i) {
    const PeerLink& peer = info.peers[i];
    if (peer.from >= info.gpus.size() || peer.to >= info.gpus.size() || peer.from == peer.to) {
      refuse(item_of("peers", i), "does not connect two GPUs of the node");
    }
  }
}

}  // namespace gputopo::node
