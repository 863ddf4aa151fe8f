// Decides which SMs share a GPC, from the clusters in which they met and from their clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct MetInClusters {
  std::vector<std::vector<std::uint32_t>> groups;  // of SMs that were seen, each ascending, by their first
  std::size_t sms_seen = 0;
};

// `clusters`: the SMs of every cluster that ran. SMs met if they were in one cluster, or each in one with a third.
[[nodiscard]] MetInClusters sms_that_met(const std::vector<std::vector<std::uint32_t>>& clusters);

struct GpcParameters {
  // SMs of a GPC that meet no others in clusters are so few: the driver keeps some TPCs, of two SMs, to themselves.
  // More: two GPCs whose clocks agree are taken for one.
  std::size_t most_apart = 2;
};

// A cluster lies within a GPC, and so do SMs whose clocks agree, where some do not: two experiments that share nothing.
// Clusters alone show a GPC in parts (four TPCs of an H200 are never in a cluster with others), clocks alone would take
// two GPCs for one that were started together. No value where they contradict each other, or where all clocks agree.
[[nodiscard]] Decision<std::vector<std::vector<std::uint32_t>>> decide_gpcs(
    const std::vector<std::vector<std::uint32_t>>& met, const std::vector<std::vector<std::uint32_t>>& clocks_agree,
    const GpcParameters& parameters = {});

}  // namespace gputopo::probe
