// How far the SMs of a cluster are from one another, from chases through each other's shared memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct ClusterLatencyParameters {
  // No load from another SM is faster; even a load from an SM's own shared memory takes longer. Larger values would
  // call a fast GPU broken.
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

  double cycles = 0;          // mean over the pairs of SMs in the largest clusters
  stats::Interval interval;   // over the copies
  double nearest_cycles = 0;  // of the pairs in clusters of all sizes
  double farthest_cycles = 0;
  double own_cycles = 0;                             // of an SM's own shared memory; 0 if not measured
  std::map<std::uint32_t, double> by_size_cycles;    // mean over the pairs, by cluster size
  std::map<ReaderAndTarget, double> by_pair_cycles;  // in the largest clusters: median over the copies
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> by_rank_cycles;  // by cluster size and rank distance
};

// `largest`: size of the largest clusters. No value if nothing ran through them, or if a load was impossibly fast.
[[nodiscard]] Decision<ClusterLatency> decide_cluster_latency(std::span<const ClusterChase> chases,
                                                              std::uint32_t largest,
                                                              const ClusterLatencyParameters& parameters = {});

}  // namespace gputopo::probe
