// How far SMs of a cluster are from one another, from chases through each other's shared memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct ClusterLatencyParameters {
  // No load leaves an SM and comes back sooner; one of an SM's own shared memory takes more, too. More would call a
  // fast GPU broken.
  double least_load_cycles = 8;
};

// One chase: one cluster in one copy of a program.
struct ClusterChase {
  std::uint32_t cluster_size = 0;
  std::uint32_t rank_distance = 0;  // 0: a block's own shared memory
  std::uint32_t reader_sm = 0;
  std::uint32_t target_sm = 0;
  std::uint32_t copy = 0;
  double cycles = 0;
};

struct ClusterLatency {
  using ReaderAndTarget = std::pair<std::uint32_t, std::uint32_t>;

  double cycles = 0;          // between two SMs of the largest clusters, the mean over the pairs
  stats::Interval interval;   // over the copies
  double nearest_cycles = 0;  // of all pairs
  double farthest_cycles = 0;
  double own_cycles = 0;                             // of an SM's own shared memory; 0 where that was not chased
  std::map<std::uint32_t, double> by_size_cycles;    // the mean over the pairs of clusters of a size
  std::map<ReaderAndTarget, double> by_pair_cycles;  // in the largest clusters: the median over the copies
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> by_rank_cycles;  // of a size and a distance of ranks
};

// `largest`: size of the largest clusters. No value where nothing was chased through them, or a load took impossibly
// little.
[[nodiscard]] Decision<ClusterLatency> decide_cluster_latency(std::span<const ClusterChase> chases,
                                                              std::uint32_t largest,
                                                              const ClusterLatencyParameters& parameters = {});

}  // namespace gputopo::probe
