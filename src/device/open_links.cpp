// Opens the links of nodes by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_links.h"
#include "device/cuda/nvml_api.h"
#include "device/hip/hip_device.h"
#include "device/hip/hip_links.h"
#include "device/node/recorded_links.h"
#include "device/node/sim_links.h"
#include "device/node/sim_node.h"
#include "file/environment.h"
#include "file/limits.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/links.h"
#include "model/likeness.h"

namespace gputopo {
namespace {

std::unique_ptr<Links> open_simulated(const std::string& rest, std::uint64_t seed) {
  if (rest.ends_with(".json") || rest.find('/') != std::string::npos) {
    const std::string text = read_file(rest);
    try {
      return node::make_sim_links(node::parse_node(text), seed);
    } catch (const FormatError& error) {
      throw FormatError(fmt::format("{}: {}", rest, error.what()));
    }
  }
  const std::optional<std::string> text = node::builtin_node(rest);
  if (!text) {
    const std::vector<std::string> names = node::builtin_node_names();
    throw UsageError(fmt::format("no simulated node '{}'; {}use one of {}, or sim:FILE.json", rest,
                                 did_you_mean(rest, names, "sim:"), fmt::join(by_likeness(rest, names), ", ")));
  }
  return node::make_sim_links(node::parse_node(*text), seed);
}

bool is_there(const NodeInfo& info, const Endpoint& place) {
  return place.index < (place.kind == EndpointKind::kGpu ? info.gpus.size() : info.numa_nodes.size());
}

}  // namespace

const PeerLink* NodeInfo::peer(std::uint32_t from, std::uint32_t to) const {
  const auto found = std::ranges::find_if(peers, [&](const PeerLink& p) { return p.from == from && p.to == to; });
  return found == peers.end() ? nullptr : &*found;
}

void NodeInfo::check(const TransferProgram& program) const {
  const bool copies = program.op == TransferOp::kCopy || program.op == TransferOp::kPageableCopy;
  const bool stores = program.op == TransferOp::kWrite || program.op == TransferOp::kStore;
  for (const Transfer& transfer : program.transfers) {
    for (const Endpoint& place : {transfer.from, transfer.to}) {
      if (!is_there(*this, place)) throw UsageError(fmt::format("this node has no {}", to_text(place)));
    }
    if (copies || transfer.from.kind != transfer.to.kind) continue;
    const std::uint32_t worker = stores ? transfer.from.index : transfer.to.index;
    const std::uint32_t memory = stores ? transfer.to.index : transfer.from.index;
    const PeerLink* link = peer(memory, worker);
    if (link == nullptr || !link->is_reachable) {
      throw NotSupportedError("the driver does not allow peer access between these GPUs");
    }
  }
}

std::unique_ptr<Links> open_links(const std::string& spec, std::uint64_t seed) {
  if (spec.empty()) {
    const DefaultDevice chosen = default_device();
    if (chosen.spec.empty()) throw NoGpuError(chosen.problem);
    return chosen.spec.starts_with("cuda:") ? cuda::open_cuda_links() : hip::open_hip_links();
  }
  if (spec == "cuda") return cuda::open_cuda_links();
  if (spec == "hip") return hip::open_hip_links();
  const std::size_t colon = spec.find(':');
  const std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (spec.starts_with("sim:") && !rest.empty()) return open_simulated(rest, seed);
  if (spec.starts_with("replay:") && !rest.empty()) return node::open_recorded_links(rest);
  throw UsageError(
      fmt::format("unknown node '{}'; use one of cuda, hip, sim:NAME, sim:FILE.json, replay:FOLDER", spec));
}

std::vector<std::string> likely_gpus(const std::string& spec) {
  // The variable for the user's choice of GPUs has a syntax of the driver's own.
  if ((!spec.empty() && spec != "cuda") || environment_variable("CUDA_VISIBLE_DEVICES") != nullptr) return {};
  // If the default may be other GPUs, NVIDIA's library is not called.
  if (spec.empty() && !kernel_has_nvidia_gpus()) return {};
  std::vector<std::string> specs;
  const std::size_t count = std::min<std::size_t>(cuda::count_nvml_gpus(), limits::kMaxNodeGpus);
  for (std::size_t ordinal = 0; ordinal < count; ++ordinal) {
    specs.push_back(fmt::format("cuda:{}", ordinal));
  }
  return specs;
}

}  // namespace gputopo
