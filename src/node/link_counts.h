// Judges widths and numbers of links: PCIe lanes, NVLinks, and how pairs of GPUs are joined. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gputopo/node.h"

namespace gputopo::node {

inline constexpr std::string_view kCheckHostLink =
    "look for PCIe errors in the kernel log, compare 'lspci -vv' (LnkSta) with that of a healthy GPU, and reseat the "
    "board or its riser";
inline constexpr std::string_view kCheckPeerLink =
    "run 'nvidia-smi nvlink -s' and 'nvidia-smi nvlink -e' (AMD: 'amd-smi xgmi'), and restart the fabric manager";

[[nodiscard]] inline Endpoint gpu_end(std::uint32_t index) { return {EndpointKind::kGpu, index}; }

// Null if the driver does not report it.
[[nodiscard]] const PeerLink* find_peer(const NodeReport& report, std::uint32_t from, std::uint32_t to);

// Verdicts on each GPU's PCIe lanes and NVLinks, and on pairs that are joined by less than most pairs of their node. A
// GPU without NVLinks that its model, its driver or its sister boards promise is bad. None for what has no expectation.
[[nodiscard]] std::vector<Verdict> judge_link_counts(const NodeReport& report);

}  // namespace gputopo::node
