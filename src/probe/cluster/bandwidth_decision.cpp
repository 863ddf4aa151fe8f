#include "probe/cluster/bandwidth_decision.h"

#include <fmt/format.h>

#include <optional>

namespace gputopo::probe {
namespace {

// Index of the fastest reads of this size and distance, the first of equal ones.
std::optional<std::size_t> best_of(std::span<const ClusterReads> reads, std::uint32_t size, std::uint32_t distance) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (reads[i].cluster_size != size || reads[i].rank_distance != distance) continue;
    if (!best || reads[i].bytes_per_second > reads[*best].bytes_per_second) best = i;
  }
  return best;
}

}  // namespace

Decision<ClusterRates> decide_cluster_rates(std::span<const ClusterReads> reads, std::span<const std::uint32_t> sizes) {
  ClusterRates found;
  std::optional<std::size_t> best;
  for (const std::uint32_t size : sizes) {
    const std::optional<std::size_t> next = best_of(reads, size, 1);
    const std::optional<std::size_t> half_way = best_of(reads, size, half_way_round(size));
    if (!next || !half_way) {
      return {.why_not = fmt::format("no reads between the blocks of {}-block clusters were measured", size)};
    }
    found.ring.push_back(reads[*next].bytes_per_second);
    found.half_way.push_back(reads[*half_way].bytes_per_second);
    if (!best || reads[*next].bytes_per_second > reads[*best].bytes_per_second) best = next;
  }
  if (!best) return {.why_not = "no cluster size was measured"};
  found.best = *best;
  return {.value = std::move(found)};
}

}  // namespace gputopo::probe
