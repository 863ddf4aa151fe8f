#include "probe/cluster/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "probe/bench/intervals.h"
#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {
namespace {

// The place of the best of those alike in size and distance, the first of several.
std::optional<std::size_t> best_of(std::span<const ClusterReads> reads, std::uint32_t size, std::uint32_t distance) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (reads[i].cluster_size != size || reads[i].rank_distance != distance) continue;
    if (!best || reads[i].bytes_per_second > reads[*best].bytes_per_second) best = i;
  }
  return best;
}

}  // namespace

MetInClusters sms_that_met(const std::vector<std::vector<std::uint32_t>>& clusters) {
  std::set<UnitPair> pairs;
  std::set<std::uint32_t> seen;
  for (const std::vector<std::uint32_t>& sms : clusters) {
    for (const std::uint32_t sm : sms) {
      seen.insert(sm);
      if (sm != sms.front()) pairs.emplace(std::min(sm, sms.front()), std::max(sm, sms.front()));
    }
  }
  MetInClusters found{.sms_seen = seen.size()};
  if (seen.empty()) return found;
  for (auto& group : connected_groups(*seen.rbegin() + 1, {pairs.begin(), pairs.end()})) {
    if (seen.contains(group.front())) found.groups.push_back(std::move(group));
  }
  return found;
}

Decision<std::vector<std::vector<std::uint32_t>>> decide_gpcs(
    const std::vector<std::vector<std::uint32_t>>& met, const std::vector<std::vector<std::uint32_t>>& clocks_agree,
    const GpcParameters& parameters) {
  if (clocks_agree.size() < 2) {
    return {.why_not = "the clocks of all SMs agree, and clusters alone may show a GPC in parts (see cluster_sms)"};
  }
  std::vector<std::size_t> large_parts(clocks_agree.size());
  for (const std::vector<std::uint32_t>& together : met) {
    const auto home = std::ranges::find_if(
        clocks_agree, [&](const std::vector<std::uint32_t>& group) { return std::ranges::includes(group, together); });
    if (home == clocks_agree.end()) {
      return {.why_not =
                  fmt::format("SM {} and others were in one cluster, and their clocks do not agree", together.front())};
    }
    if (together.size() <= parameters.most_apart) continue;
    if (++large_parts[static_cast<std::size_t>(home - clocks_agree.begin())] > 1) {
      return {.why_not = fmt::format("the clocks of SM {} and others agree with those of SMs that they meet in no "
                                     "cluster: one GPC in parts, or two",
                                     together.front())};
    }
  }
  return {.value = clocks_agree};
}

Decision<ClusterLatency> decide_cluster_latency(std::span<const ClusterChase> chases, std::uint32_t largest,
                                                const ClusterLatencyParameters& parameters) {
  using Pair = ClusterLatency::ReaderAndTarget;
  std::map<std::pair<std::uint32_t, Pair>, std::vector<double>> by_pair;  // and size of the cluster
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
  if (largest_by_copy.empty()) return {.why_not = "no cluster of the largest size was chased through"};
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
    return {.why_not = fmt::format("a load from another SM took {:.1f} cycles, which none can: the program did not run "
                                   "as written",
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

Decision<ClusterRates> decide_cluster_rates(std::span<const ClusterReads> reads, std::span<const std::uint32_t> sizes) {
  ClusterRates found;
  std::optional<std::size_t> best;
  for (const std::uint32_t size : sizes) {
    const std::optional<std::size_t> next = best_of(reads, size, 1);
    const std::optional<std::size_t> half_way = best_of(reads, size, half_way_round(size));
    if (!next || !half_way) return {.why_not = fmt::format("no blocks of clusters of {} read one another", size)};
    found.ring.push_back(reads[*next].bytes_per_second);
    found.half_way.push_back(reads[*half_way].bytes_per_second);
    if (!best || reads[*next].bytes_per_second > reads[*best].bytes_per_second) best = next;
  }
  if (!best) return {.why_not = "no size of clusters was read through"};
  found.best = *best;
  return {.value = std::move(found)};
}

}  // namespace gputopo::probe
