// The effects of a walk through new memory on a hierarchy. Each cache either takes the walk as a whole or is filled
// from the walk's end, so that only the lines that stay are looked at.
#include <algorithm>
#include <array>
#include <vector>

#include "device/sim/memory/hierarchy.h"

namespace gputopo::sim {
namespace {

// Visits the caches that a load reaches if none of them serves it. `visit` gets the stop, the cache and, for a
// partition that is not near, its number.
template <typename Visit>
void for_each_cache(const Path& path, const Visit& visit) {
  for (const Path::Stop& stop : path.stops) {
    if (!stop.by_home) {
      visit(stop, *stop.cache, std::nullopt);
      continue;
    }
    for (std::uint32_t home = 0; home < path.partitions.caches.size(); ++home) {
      if (home != path.partitions.near) visit(stop, *path.partitions.caches[home], std::optional(home));
    }
  }
}

void fill_cache_back(const Path::Stop& stop, Cache& cache, std::span<const std::uint64_t> addresses) {
  if (stop.fetch_sectors == 1) return cache.fill_back(addresses);
  std::array<std::uint64_t, kMaxLoadsAtOnce> sectors;
  for (const std::uint64_t address : addresses) {
    const std::uint64_t start = address & ~(stop.fetch_bytes - 1);
    for (std::uint32_t s = 0; s < stop.fetch_sectors; ++s) {
      sectors[s] = start + (stop.fetch_sectors - 1 - s) * std::uint64_t{cache.sector_bytes()};
    }
    cache.fill_back(std::span(sectors).first(stop.fetch_sectors));
  }
}

}  // namespace

bool Hierarchy::is_empty() const {
  return std::ranges::none_of(instances_, [this](const auto& item) { return item.second.program == program_; });
}

std::optional<std::uint64_t> Hierarchy::fill_back_bytes(const Path& path, bool is_empty, const NewWalk& walk) {
  if (path.stops.empty()) return std::nullopt;
  const std::uint64_t first_bytes = path.stops.front().cache->sector_bytes();
  bool can = true;
  for_each_cache(path, [&](const Path::Stop& stop, const Cache& cache, std::optional<std::uint32_t> home) {
    const std::uint64_t bytes = std::max<std::uint64_t>(stop.fetch_bytes, cache.sector_bytes());
    const bool is_one_sector = stop.fetch_sectors == 1;
    can = can && bytes <= std::max(walk.stride_bytes, first_bytes) && stop.fetch_sectors <= kMaxLoadsAtOnce &&
          (cache.can_fill_back(is_empty && is_one_sector, walk.stride_bytes) ||
           (is_one_sector && cache.can_take_walk(walk, path.partitions.homes, home)));
  });
  return can ? std::optional(first_bytes) : std::nullopt;
}

bool Hierarchy::fill_back(const Path& path, const NewWalk& walk,
                          const std::function<std::span<const std::uint64_t>()>& next) {
  struct Filled {
    const Path::Stop& stop;
    Cache& cache;
    std::optional<std::uint32_t> home;
  };
  std::vector<Filled> filled;
  bool is_overfull = true;
  for_each_cache(path, [&](const Path::Stop& stop, Cache& cache, std::optional<std::uint32_t> home) {
    const std::optional<bool> taken =
        stop.fetch_sectors == 1 ? cache.take_walk(walk, path.partitions.homes, home) : std::nullopt;
    is_overfull = is_overfull && taken.value_or(true);
    if (taken) return;
    cache.start_fill_back();
    filled.push_back({stop, cache, home});
  });
  const auto has_room = [](const Filled& one) { return !one.cache.is_overfull(); };
  while (std::ranges::any_of(filled, has_room)) {
    const std::span<const std::uint64_t> addresses = next();
    if (addresses.empty()) break;
    for (const Filled& one : filled) {
      if (!has_room(one)) continue;
      std::array<std::uint64_t, kMaxLoadsAtOnce> there;
      auto* const end = std::ranges::copy_if(addresses, there.data(), [&](std::uint64_t address) {
                          return !one.home || path.partitions.homes.home_of(address) == *one.home;
                        }).out;
      fill_cache_back(one.stop, one.cache, {there.data(), end});
    }
  }
  for (const Filled& one : filled) {
    is_overfull = is_overfull && !has_room(one);
    one.cache.end_fill_back();
  }
  return is_overfull;
}

std::uint64_t Hierarchy::end_of_alike(const Path& path, std::uint64_t address) {
  unsigned shift = 63;
  if (!path.partitions.caches.empty()) shift = std::min(shift, path.partitions.homes.block_shift());
  if (!path.tlbs.empty()) shift = std::min(shift, path.page_shift);
  return ((address >> shift) + 1) << shift;
}

}  // namespace gputopo::sim
