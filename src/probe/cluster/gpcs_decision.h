// Decides which SMs share a GPC, from the clusters in which they met and from their clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct MetInClusters {
  std::vector<std::vector<std::uint32_t>> groups;  // of seen SMs, each ascending, ordered by first SM
  std::size_t sms_seen = 0;
};

// `clusters`: the SMs of every cluster that ran. Two SMs met if one cluster had both, or if both met a third SM.
[[nodiscard]] MetInClusters sms_that_met(const std::vector<std::vector<std::uint32_t>>& clusters);

struct GpcParameters {
  // Largest group of SMs that may meet no other SMs of its GPC, because the driver keeps some TPCs (two SMs) apart.
  // Larger values take two GPCs whose clocks agree for one.
  std::size_t most_apart = 2;
};

// A cluster lies within a GPC, and so do SMs whose clocks agree, if some clocks differ: two independent experiments.
// Clusters alone split a GPC into parts (four TPCs of an H200 are never in a cluster with others); clocks alone merge
// two GPCs that started together. No value if they contradict each other or if all clocks agree.
[[nodiscard]] Decision<std::vector<std::vector<std::uint32_t>>> decide_gpcs(
    const std::vector<std::vector<std::uint32_t>>& met, const std::vector<std::vector<std::uint32_t>>& clocks_agree,
    const GpcParameters& parameters = {});

}  // namespace gputopo::probe
