#include "device/node/sim_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "device/node/places_json.h"
#include "device/sim/machine/builtin.h"
#include "file/json_text.h"
#include "file/limits.h"
#include "file/shown.h"

namespace gputopo::node {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kNodeVersion = 1;
constexpr std::size_t kMaxSegments = 4096;
constexpr double kMaxNanoseconds = 1e9;

double amount(const Json& json, const char* name, const std::string& path, double most, double otherwise) {
  const double value = optional_member<double>(json, name, path).value_or(otherwise);
  if (value < 0 || value > most) refuse(within(path, name), fmt::format("must be between 0 and {:g}", most));
  return value;
}

double rate(const Json& json, const char* name, const std::string& path, double otherwise) {
  return amount(json, name, path, limits::kMaxBytesPerSecond, otherwise);
}

std::vector<SegmentSpec> read_segments(const Json& root) {
  const Json& list = list_member(root, "segments", "");
  if (list.size() > kMaxSegments) refuse("segments", fmt::format("has more than {} entries", kMaxSegments));
  std::vector<SegmentSpec> segments;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = item_of("segments", i);
    SegmentSpec segment{.name = member<std::string>(list[i], "name", path),
                        .bytes_per_second = rate(list[i], "bytes_per_second", path, 0)};
    segment.back_bytes_per_second = rate(list[i], "back_bytes_per_second", path, segment.bytes_per_second);
    segment.both_bytes_per_second = rate(list[i], "both_bytes_per_second", path, 0);
    if (segment.bytes_per_second == 0 || segment.back_bytes_per_second == 0)
      refuse(path, "must have a bandwidth above 0 in both directions");
    segments.push_back(std::move(segment));
  }
  return segments;
}

// "pcie0", or "-pcie0" if the path passes the segment backward.
PathSpec::Part read_part(const std::string& text, const std::vector<SegmentSpec>& segments, const std::string& path) {
  const bool is_backward = text.starts_with('-');
  const auto found = std::ranges::find(segments, text.substr(is_backward ? 1 : 0), &SegmentSpec::name);
  if (found == segments.end()) refuse(path, fmt::format("is '{}', but no segment has that name", shown(text)));
  return {static_cast<std::size_t>(found - segments.begin()), is_backward};
}

PathSpec read_path(const Json& json, const std::string& path, const std::vector<SegmentSpec>& segments) {
  PathSpec spec{.from = parse_place(member<std::string>(json, "from", path), within(path, "from")),
                .to = parse_place(member<std::string>(json, "to", path), within(path, "to"))};
  const Json& over = list_member(json, "over", path);
  if (over.empty() || over.size() > limits::kMaxLevels) refuse(within(path, "over"), "must have 1 to 64 segments");
  for (std::size_t i = 0; i < over.size(); ++i) {
    const std::string place = item_of(within(path, "over"), i);
    if (!over[i].is_string()) refuse(place, "is not a string");
    spec.over.push_back(read_part(over[i].get<std::string>(), segments, place));
  }
  spec.copy_ns = amount(json, "copy_ns", path, kMaxNanoseconds, 1500);
  spec.load_ns = amount(json, "load_ns", path, kMaxNanoseconds, 1000);
  spec.atomic_ns = amount(json, "atomic_ns", path, kMaxNanoseconds, spec.load_ns);
  spec.store_ns = amount(json, "store_ns", path, kMaxNanoseconds, spec.load_ns);
  spec.sm_read_bytes_per_second = rate(json, "sm_read_bytes_per_second", path, 0);
  spec.sm_write_bytes_per_second = rate(json, "sm_write_bytes_per_second", path, 0);
  spec.pageable_bytes_per_second = rate(json, "pageable_bytes_per_second", path, 0);
  return spec;
}

// Every GPU must have a path to every NUMA node and to every other GPU.
void check_paths(const NodeSpec& spec) {
  std::map<std::pair<Endpoint, Endpoint>, int> seen;
  const auto exists = [&](const Endpoint& place) {
    return place.index < (place.kind == EndpointKind::kGpu ? spec.info.gpus.size() : spec.info.numa_nodes.size());
  };
  for (std::size_t i = 0; i < spec.paths.size(); ++i) {
    const auto& [from, to] = std::minmax(spec.paths[i].from, spec.paths[i].to);
    const bool joins = exists(from) && exists(to) && from != to && to.kind == EndpointKind::kGpu;
    if (!joins) refuse(item_of("paths", i), "does not connect a GPU to another place of the node");
    if (seen[{from, to}]++ > 0) refuse(item_of("paths", i), "is listed twice");
  }
  const std::size_t gpus = spec.info.gpus.size();
  if (seen.size() != gpus * spec.info.numa_nodes.size() + gpus * (gpus - 1) / 2) {
    refuse("paths", "must connect each GPU to each NUMA node and to each other GPU");
  }
}

}  // namespace

NodeSpec parse_node(std::string_view text) {
  const Json root = parse_json<Json>(text);
  if (member<std::uint32_t>(root, "node_version", "") != kNodeVersion) {
    refuse("node_version", fmt::format("must be {}", kNodeVersion));
  }
  NodeSpec spec;
  spec.info.backend = "sim";
  spec.info.simulated = true;
  spec.info.name = optional_member<std::string>(root, "name", "").value_or("");
  const Json& gpus = list_member(root, "gpus", "");
  for (std::size_t i = 0; i < gpus.size(); ++i) spec.info.gpus.push_back(read_gpu(gpus[i], item_of("gpus", i)));
  const Json& numa_nodes = list_member(root, "numa_nodes", "");
  for (std::size_t i = 0; i < numa_nodes.size(); ++i) {
    spec.info.numa_nodes.push_back(read_numa(numa_nodes[i], item_of("numa_nodes", i)));
  }
  const Json& peers = list_member(root, "peers", "");
  for (std::size_t i = 0; i < peers.size(); ++i) {
    PeerLink peer = read_peer(peers[i], item_of("peers", i));
    spec.info.peers.push_back(peer);
    std::swap(peer.from, peer.to);
    spec.info.peers.push_back(peer);
  }
  check_node(spec.info);
  spec.segments = read_segments(root);
  const Json& paths = list_member(root, "paths", "");
  constexpr std::size_t kMaxPaths = limits::kMaxNodeGpus * limits::kMaxNodeGpus;
  if (paths.size() > kMaxPaths) refuse("paths", fmt::format("has more than {} entries", kMaxPaths));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    spec.paths.push_back(read_path(paths[i], item_of("paths", i), spec.segments));
  }
  check_paths(spec);
  spec.noise = amount(root, "noise", "", 1, spec.noise);
  return spec;
}

std::vector<std::string> builtin_node_names() {
  std::vector<std::string> names;
  for (unsigned i = 0; i < sim::kBuiltinNodeCount; ++i) names.emplace_back(sim::kBuiltinNodes[i].name);
  return names;
}

std::optional<std::string> builtin_node(std::string_view name) {
  for (unsigned i = 0; i < sim::kBuiltinNodeCount; ++i) {
    if (sim::kBuiltinNodes[i].name == name) return std::string(sim::kBuiltinNodes[i].text);
  }
  return std::nullopt;
}

}  // namespace gputopo::node
