// Bandwidth that the hardware of a link allows in one direction, from what the driver reports and cited tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gputopo/node.h"

namespace gputopo::node {

struct LinkCapacity {
  double bytes_per_second = 0;
  std::string text;  // "PCIe 5.0 x16", "18 x 25 GB/s nvswitch"
  friend bool operator==(const LinkCapacity&, const LinkCapacity&) = default;
};

// A lane carries 2.5 GT/s times a power of two with 8b/10b coding (generations 1 and 2), 128b/130b (3 to 5) or 242 of
// 256 bytes (6). Source: PCI Express Base Specification 6.0. Nothing for other generations.
[[nodiscard]] std::optional<double> pcie_lane_bytes_per_second(std::uint32_t generation);

// Links of a GPU model to other GPUs and the rate of each in one direction, from NVIDIA's and AMD's data sheets.
// Nothing for other models.
struct LinkModel {
  std::string_view name;  // part of the GPU's name
  std::uint32_t links = 0;
  double link_bytes_per_second = 0;
};
[[nodiscard]] std::optional<LinkModel> nvlink_model(std::string_view gpu_name);
// Models whose boards of eight GPUs join each pair by one link.
[[nodiscard]] std::optional<LinkModel> xgmi_model(std::string_view gpu_name);

// Returns what the path to the host could carry if all links ran at their maximum, so that a link trained at a lower
// rate falls short of it. If the slot is unknown, the lanes in use count. Nothing if the driver does not report the
// GPU's maximum.
[[nodiscard]] std::optional<LinkCapacity> host_link_capacity(const PciLink& link);
// Whether the whole path is known, so that it cannot be slower than its capacity without a fault.
[[nodiscard]] bool is_slot_known(const PciLink& link);
// A lane counts with the larger of what the driver and the data sheet say: the driver's rate may be that of a lane that
// trained at a lower one.
[[nodiscard]] std::optional<LinkCapacity> peer_link_capacity(const PeerLink& peer, std::string_view gpu_name);

// Smallest healthy fraction of the capacity that a transfer reaches, by kind of link. Healthy ones in the recordings:
// 84% to 88% for PCIe 5.0 x16 and 88% for 18 NVLinks; one lost lane of two leaves less than half. Hosts differ in what
// they make of PCIe, so it gets more room, and xGMI, which was never recorded, gets most. Nothing: transfers over such
// links are not bound by the link alone.
[[nodiscard]] std::optional<double> least_healthy_fraction(std::string_view kind);

}  // namespace gputopo::node
