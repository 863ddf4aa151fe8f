#include "probe/sharing/neighbour_sets.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "probe/sharing/eviction.h"

namespace gputopo::probe {

std::optional<std::uint64_t> find_stride_that_stays(ProbeRunner& runner, const Cache& cache,
                                                    const NeighbourSetsParameters& parameters) {
  if (cache.nearer_bytes > 0 || cache.fits_bytes > parameters.most_ways * cache.fetch_bytes) return std::nullopt;
  const auto fetch = static_cast<double>(cache.fetch_bytes);
  const auto lines = static_cast<std::uint64_t>(std::ceil(parameters.more * cache.held_bytes() / fetch)) + 1;
  const std::uint64_t limit = cache.site().limit_bytes;
  std::vector<std::uint64_t> strides;
  std::vector<EvictionTrial> trials;
  for (std::uint64_t stride = 2 * cache.fetch_bytes; stride <= parameters.largest_stride_bytes; stride *= 2) {
    if (limit != 0 && lines * stride > limit) break;
    strides.push_back(stride);
    trials.push_back({.victim = make_array(cache.site(), lines * stride, stride)});
  }
  const std::vector<double> hits = surviving_fractions(runner, cache, trials);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits[i] < parameters.stays) continue;
    runner.log(
        fmt::format("size: {} lines at a stride of {} B stay resident, but contiguous lines do so only up to {} B",
                    lines, strides[i], cache.fits_bytes));
    return strides[i];
  }
  return std::nullopt;
}

}  // namespace gputopo::probe
