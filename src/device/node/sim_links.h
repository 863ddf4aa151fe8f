// Answers transfers from a NodeSpec. Transfers that use the same segment share its rate.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/node/sim_node.h"
#include "gputopo/links.h"

namespace gputopo::node {

[[nodiscard]] std::unique_ptr<Links> make_sim_links(NodeSpec spec, std::uint64_t seed);

// Returns the true rate of each transfer, in bytes a second, when all run at once: max-min fair shares of segments.
[[nodiscard]] std::vector<double> fair_rates(const NodeSpec& spec, TransferOp op,
                                             const std::vector<Transfer>& transfers);

}  // namespace gputopo::node
