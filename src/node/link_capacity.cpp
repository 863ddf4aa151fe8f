#include "node/link_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/words/units.h"

namespace gputopo::node {
namespace {

std::optional<std::uint32_t> least(std::optional<std::uint32_t> gpu, std::optional<std::uint32_t> slot) {
  return gpu && slot ? std::min(gpu, slot) : gpu;
}

}  // namespace

std::optional<double> pcie_lane_bytes_per_second(std::uint32_t generation) {
  constexpr std::array kLanes = {
      0.25e9, 0.5e9, 8e9 / 8 * 128 / 130, 16e9 / 8 * 128 / 130, 32e9 / 8 * 128 / 130, 64e9 / 8 * 242 / 256};
  if (generation < 1 || generation > kLanes.size()) return std::nullopt;
  return kLanes[generation - 1];
}

std::optional<NvLinkModel> nvlink_model(std::string_view gpu_name) {
  // Whitepapers and data sheets of NVIDIA V100, A100, H100, H200, B200 and B300 (SXM boards).
  constexpr std::array kModels{
      NvLinkModel{"V100-SXM", 6, 25e9}, NvLinkModel{"A100-SXM", 12, 25e9},
      NvLinkModel{"A800-SXM", 8, 25e9}, NvLinkModel{"H100 80GB HBM3", 18, 25e9},
      NvLinkModel{"H200", 18, 25e9},    NvLinkModel{"H20", 18, 25e9},
      NvLinkModel{"H800", 8, 25e9},     NvLinkModel{"GB200", 18, 50e9},
      NvLinkModel{"B200", 18, 50e9},    NvLinkModel{"GB300", 18, 50e9},
      NvLinkModel{"B300", 18, 50e9},
  };
  const auto found = std::ranges::find_if(
      kModels, [gpu_name](const NvLinkModel& model) { return gpu_name.find(model.name) != std::string_view::npos; });
  // Boards that plug into PCIe have bridges for some of the links.
  const bool is_plugged =
      gpu_name.find("PCIe") != std::string_view::npos || gpu_name.find("NVL") != std::string_view::npos;
  return found == kModels.end() || is_plugged ? std::nullopt : std::optional(*found);
}

std::optional<LinkCapacity> host_link_capacity(const PciLink& link) {
  // What a link runs at now cannot be its own standard: it may be degraded, and idle links run at generation 1.
  const auto generation = least(link.generation_max, link.slot_generation_max);
  const auto width = least(link.width_max, link.slot_width_max ? link.slot_width_max : link.width);
  const auto lane = generation ? pcie_lane_bytes_per_second(*generation) : std::nullopt;
  if (!lane || !width || *width == 0) return std::nullopt;
  return LinkCapacity{*lane * *width, fmt::format("PCIe {}.0 x{}", *generation, *width)};
}

std::optional<LinkCapacity> peer_link_capacity(const PeerLink& peer, std::string_view gpu_name) {
  const auto model = peer.kind.starts_with("nv") ? nvlink_model(gpu_name) : std::nullopt;
  std::uint32_t lanes = peer.lanes.value_or(0);
  // A switch joins all links of a GPU.
  if (!peer.lanes && peer.kind == "nvswitch" && model) lanes = model->links;
  std::optional<double> lane = peer.lane_bytes_per_second;
  if (!lane && model) lane = model->link_bytes_per_second;
  if (!lane || lanes == 0) return std::nullopt;
  return LinkCapacity{*lane * lanes, fmt::format("{} x {} {}", lanes, report::human_bandwidth(*lane), peer.kind)};
}

std::optional<double> least_healthy_fraction(std::string_view kind) {
  if (kind == "nvlink" || kind == "nvswitch") return 0.8;
  if (kind == "host") return 0.7;
  if (kind == "xgmi") return 0.5;
  return std::nullopt;
}

}  // namespace gputopo::node
