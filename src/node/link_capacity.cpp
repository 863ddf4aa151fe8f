#include "node/link_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "report/words/units.h"

namespace gputopo::node {
namespace {

std::optional<std::uint32_t> least(std::optional<std::uint32_t> gpu, std::optional<std::uint32_t> slot) {
  return gpu && slot ? std::min(gpu, slot) : gpu;
}

std::optional<LinkCapacity> pcie_capacity(std::optional<std::uint32_t> generation, std::optional<std::uint32_t> width) {
  const auto lane = generation ? pcie_lane_bytes_per_second(*generation) : std::nullopt;
  if (!lane || !width || *width == 0) return std::nullopt;
  return LinkCapacity{*lane * *width, fmt::format("PCIe {}.0 x{}", *generation, *width)};
}

std::optional<LinkModel> named_in(std::string_view gpu_name, std::span<const LinkModel> models) {
  const auto found = std::ranges::find_if(
      models, [gpu_name](const LinkModel& model) { return gpu_name.find(model.name) != std::string_view::npos; });
  return found == models.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<double> pcie_lane_bytes_per_second(std::uint32_t generation) {
  constexpr std::array kLanes = {
      0.25e9, 0.5e9, 8e9 / 8 * 128 / 130, 16e9 / 8 * 128 / 130, 32e9 / 8 * 128 / 130, 64e9 / 8 * 242 / 256};
  if (generation < 1 || generation > kLanes.size()) return std::nullopt;
  return kLanes[generation - 1];
}

std::optional<LinkModel> nvlink_model(std::string_view gpu_name) {
  // Whitepapers and data sheets of NVIDIA V100, A100, H100, H200, B200 and B300 (SXM boards).
  constexpr std::array kModels{
      LinkModel{"V100-SXM", 6, 25e9}, LinkModel{"A100-SXM", 12, 25e9},
      LinkModel{"A800-SXM", 8, 25e9}, LinkModel{"H100 80GB HBM3", 18, 25e9},
      LinkModel{"H200", 18, 25e9},    LinkModel{"H20", 18, 25e9},
      LinkModel{"H800", 8, 25e9},     LinkModel{"GB200", 18, 50e9},
      LinkModel{"B200", 18, 50e9},    LinkModel{"GB300", 18, 50e9},
      LinkModel{"B300", 18, 50e9},
  };
  // Boards that plug into PCIe have bridges for some of the links.
  const bool is_plugged =
      gpu_name.find("PCIe") != std::string_view::npos || gpu_name.find("NVL") != std::string_view::npos;
  return is_plugged ? std::nullopt : named_in(gpu_name, kModels);
}

std::optional<LinkModel> xgmi_model(std::string_view gpu_name) {
  // Data sheets of AMD Instinct MI300X, MI325X and MI355X and of their platforms: 128 and 153.6 GB/s both ways.
  constexpr std::array kModels{
      LinkModel{"MI300X", 7, 64e9},   LinkModel{"MI308X", 7, 64e9},   LinkModel{"MI325X", 7, 64e9},
      LinkModel{"MI350X", 7, 76.8e9}, LinkModel{"MI355X", 7, 76.8e9},
  };
  return named_in(gpu_name, kModels);
}

std::optional<LinkCapacity> host_link_capacity(const PciLink& link) {
  // What a link runs at now cannot be its own standard: it may be degraded, and idle links run at generation 1.
  const auto generation = least(link.generation_max, link.slot_generation_max);
  const auto width = least(link.width_max, link.slot_width_max ? link.slot_width_max : link.width);
  std::optional<LinkCapacity> capacity = pcie_capacity(generation, width);
  for (const PciHop& hop : link.hops) {
    const std::optional<LinkCapacity> of_hop = pcie_capacity(hop.generation_max, hop.width_max);
    if (capacity && of_hop && of_hop->bytes_per_second < capacity->bytes_per_second) capacity = of_hop;
  }
  return capacity;
}

bool is_slot_known(const PciLink& link) {
  return link.slot_generation_max && link.slot_width_max &&
         std::ranges::all_of(link.hops, [](const PciHop& hop) { return hop.generation_max && hop.width_max; });
}

std::optional<LinkCapacity> peer_link_capacity(const PeerLink& peer, std::string_view gpu_name) {
  const bool is_xgmi = peer.kind == "xgmi";
  const auto model = is_xgmi                       ? xgmi_model(gpu_name)
                     : peer.kind.starts_with("nv") ? nvlink_model(gpu_name)
                                                   : std::nullopt;
  std::uint32_t lanes = peer.lanes.value_or(0);
  // A switch joins all links of a GPU.
  if (!peer.lanes && peer.kind == "nvswitch" && model) lanes = model->links;
  if (!peer.lanes && is_xgmi && model) lanes = 1;
  const double lane = std::max(peer.lane_bytes_per_second.value_or(0), model ? model->link_bytes_per_second : 0);
  if (!(lane > 0) || lanes == 0) return std::nullopt;
  return LinkCapacity{lane * lanes, fmt::format("{} x {} {}", lanes, report::human_bandwidth(lane), peer.kind)};
}

std::optional<double> least_healthy_fraction(std::string_view kind) {
  if (kind == "nvlink" || kind == "nvswitch") return 0.8;
  if (kind == "host") return 0.7;
  if (kind == "xgmi") return 0.5;
  return std::nullopt;
}

}  // namespace gputopo::node
