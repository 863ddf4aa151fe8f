#include "probe/cluster/latency_decision.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/bench/intervals.h"

namespace gputopo::probe {

Decision<ClusterLatency> decide_cluster_latency(std::span<const ClusterChase> chases, std::uint32_t largest,
                                                const ClusterLatencyParameters& parameters) {
  using Pair = ClusterLatency::ReaderAndTarget;
  std::map<std::pair<std::uint32_t, Pair>, std::vector<double>> by_pair;  // and by cluster size
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> by_rank;
  std::map<std::uint32_t, std::vector<double>> largest_by_copy;
  std::vector<double> own;
  for (const ClusterChase& chase : chases) {
    if (chase.rank_distance == 0) {
      own.push_back(chase.cycles);
      continue;
    }
    by_pair[{chase.cluster_size, {chase.reader_sm, chase.target_sm}}].push_back(chase.cycles);
    by_rank[{chase.cluster_size, chase.rank_distance}].push_back(chase.cycles);
    if (chase.cluster_size == largest) largest_by_copy[chase.copy].push_back(chase.cycles);
  }
  if (largest_by_copy.empty()) return {.why_not = "no pointer chase ran in a cluster of the largest size"};
  ClusterLatency found;
  std::map<std::uint32_t, std::vector<double>> by_size;
  std::vector<double> all;
  for (const auto& [key, cycles] : by_pair) {
    const auto& [size, pair] = key;
    const double median = stats::median(cycles);
    by_size[size].push_back(median);
    all.push_back(median);
    if (size == largest) found.by_pair_cycles[pair] = median;
  }
  found.nearest_cycles = std::ranges::min(all);
  if (found.nearest_cycles < parameters.least_load_cycles) {
    return {.why_not = fmt::format("a load from another SM took {:.1f} cycles, which is impossible: the program did "
                                   "not run as written",
                                   found.nearest_cycles)};
  }
  found.farthest_cycles = std::ranges::max(all);
  if (!own.empty()) found.own_cycles = stats::median(own);
  for (const auto& [size, cycles] : by_size) found.by_size_cycles[size] = stats::mean(cycles);
  for (const auto& [rank, cycles] : by_rank) found.by_rank_cycles[rank] = stats::median(cycles);
  found.cycles = found.by_size_cycles.at(largest);
  std::vector<double> copies;
  for (const auto& [copy, cycles] : largest_by_copy) copies.push_back(stats::mean(cycles));
  found.interval = timing_interval(copies, found.cycles);
  return {.value = std::move(found)};
}

}  // namespace gputopo::probe
