// Which transfers between GPUs may run at once to be measured sooner, and whether they had their own rates then.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gputopo/links.h"
#include "node/link_decision.h"

namespace gputopo::node {

// Every pair of GPUs once, (smaller, larger): in each round no GPU is in two pairs. Of 8 GPUs 7 rounds of 4.
using Round = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
[[nodiscard]] std::vector<Round> disjoint_rounds(std::size_t gpus);

// All GPUs reach all others through one kind of switch, over as many lanes, and there are four at least: pairs that
// share no GPU are expected not to meet.
[[nodiscard]] bool is_one_switch(const NodeInfo& info);

// Transfers that are measured at once. Each is alone, but those through one switch: of these one way of the first round
// is alone, which the others are compared with, and no GPU is in two of a batch.
using Batch = std::vector<Transfer>;
[[nodiscard]] std::vector<Batch> batches_of(const NodeInfo& info, const std::vector<Transfer>& transfers);

// One that has beside others what several had alone, all of them the same, met nobody. What has less or more is to be
// asked alone: more may be less than it has alone.
[[nodiscard]] bool is_as_alone(const Estimate& at_once, std::span<const double> alone);

}  // namespace gputopo::node
