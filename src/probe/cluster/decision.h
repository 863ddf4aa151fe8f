// What chases and reads through clusters of blocks tell: which SMs share a GPC, how far they are from one another, how
// fast they read one another.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// ---- GPCs ----

struct MetInClusters {
  std::vector<std::vector<std::uint32_t>> groups;  // of SMs that were seen, each ascending, by their first
  std::size_t sms_seen = 0;
};
// Of the SMs of every cluster that ran: those that were in one cluster, and those that were in one with a third.
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

// ---- Latency ----

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

// ---- Bandwidth ----

// The reads of one shape of program.
struct ClusterReads {
  std::uint32_t cluster_size = 0;
  std::uint32_t rank_distance = 0;
  std::uint32_t warps = 0;
  double bytes_per_second = 0;  // the median over the copies
};

// Of several numbers of warps the best, by cluster size: of blocks that read the next rank, and one half way round the
// cluster, where no block reads from its own TPC. Clusters of up to three have no half way; they have the next.
struct ClusterRates {
  std::size_t best = 0;  // place of the fastest ring
  std::vector<double> ring;
  std::vector<double> half_way;
};
// No value where a size has no such reads.
[[nodiscard]] Decision<ClusterRates> decide_cluster_rates(std::span<const ClusterReads> reads,
                                                          std::span<const std::uint32_t> sizes);
[[nodiscard]] constexpr std::uint32_t half_way_round(std::uint32_t cluster_size) {
  return cluster_size > 3 ? cluster_size / 2 : 1;
}

}  // namespace gputopo::probe
