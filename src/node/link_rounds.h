// Plans which transfers between GPUs run at the same time to save time, and checks that they did not slow each other.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gputopo/links.h"
#include "node/link_decision.h"

namespace gputopo::node {

// Disjoint pairs of GPUs, each (smaller, larger). All rounds together hold each pair once: 8 GPUs need 7 rounds of 4.
using Round = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
[[nodiscard]] std::vector<Round> disjoint_rounds(std::size_t gpus);

// True if four or more GPUs are all joined by one kind of switch with equal lanes: disjoint pairs should not interfere.
[[nodiscard]] bool is_one_switch(const NodeInfo& info);

// Transfers that are measured at the same time. Only transfers through one switch share a batch, and no GPU is in two
// of them. One direction of the first round still runs alone: the other batches are compared with it.
using Batch = std::vector<Transfer>;
[[nodiscard]] std::vector<Batch> batches_of(const NodeInfo& info, const std::vector<Transfer>& transfers);

// True if a rate that was measured beside others matches every rate that was measured alone. Any other rate, lower or
// higher, must be measured alone: a higher one may still be lower than the link's own rate.
[[nodiscard]] bool matches_solo_rate(const Estimate& at_once, std::span<const double> alone);

}  // namespace gputopo::node
