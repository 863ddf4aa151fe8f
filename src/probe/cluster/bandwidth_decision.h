// How fast the blocks of a cluster read from one another, from reads of several shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct ClusterReads {
  std::uint32_t cluster_size = 0;
  std::uint32_t rank_distance = 0;
  std::uint32_t warps = 0;
  double bytes_per_second = 0;  // median over the copies
};

// The best rates over several numbers of warps, by cluster size: for blocks that read the next rank, and for blocks
// that read the rank half way round the cluster, where no block reads from its own TPC. Clusters of up to three blocks
// use the next rank for both.
struct ClusterRates {
  std::size_t best = 0;  // index of the fastest ring
  std::vector<double> ring;
  std::vector<double> half_way;
};

// No value if a size has no such reads.
[[nodiscard]] Decision<ClusterRates> decide_cluster_rates(std::span<const ClusterReads> reads,
                                                          std::span<const std::uint32_t> sizes);

[[nodiscard]] constexpr std::uint32_t half_way_round(std::uint32_t cluster_size) {
  return cluster_size > 3 ? cluster_size / 2 : 1;
}

}  // namespace gputopo::probe
