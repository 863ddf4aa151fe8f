// Answers transfers from a NodeSpec: what shares a segment shares its rate.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/node/sim_node.h"
#include "gputopo/links.h"

namespace gputopo::node {

[[nodiscard]] std::unique_ptr<Links> make_sim_links(NodeSpec spec, std::uint64_t seed);

// The true rate of each transfer when all of them run at once, in bytes a second: segments are shared max-min fairly.
[[nodiscard]] std::vector<double> fair_rates(const NodeSpec& spec, TransferOp op,
                                             const std::vector<Transfer>& transfers);

}  // namespace gputopo::node
