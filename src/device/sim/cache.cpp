#include "device/sim/cache.h"

#include <algorithm>
#include <array>
#include <bit>

namespace gputopo::sim {
namespace {

std::variant<NarrowSets, WideSets> sets_for(const CacheGeometry& geometry) {
  if (most_ways_of(geometry) <= NarrowSets::kMaxWays) return NarrowSets(geometry);
  return WideSets(geometry);
}

}  // namespace

Cache::Cache(const CacheGeometry& geometry)
    : line_shift_(static_cast<std::uint32_t>(std::countr_zero(geometry.line_bytes))),
      sector_shift_(static_cast<std::uint32_t>(std::countr_zero(geometry.sector_bytes))),
      sector_mask_(geometry.line_bytes / geometry.sector_bytes - 1),
      sets_(sets_for(geometry)) {}

void Cache::start_program(std::uint64_t seed) {
  std::visit([seed](auto& sets) { sets.start_program(seed); }, sets_);
}

void Cache::checkpoint() {
  std::visit([](auto& sets) { sets.checkpoint(); }, sets_);
}

void Cache::rollback(std::uint64_t seed) {
  std::visit([seed](auto& sets) { sets.rollback(seed); }, sets_);
}

void Cache::end_checkpoint() {
  std::visit([](auto& sets) { sets.end_checkpoint(); }, sets_);
}

bool Cache::chose_at_random() const {
  return std::visit([](const auto& sets) { return sets.chose_at_random(); }, sets_);
}

void Cache::access(std::span<const std::uint64_t> addresses, bool* hits) {
  const std::size_t count = addresses.size();
  std::array<std::uint64_t, kMaxLoadsAtOnce> lines;
  std::array<std::uint32_t, kMaxLoadsAtOnce> sectors;
  for (std::size_t i = 0; i < count; ++i) lines[i] = addresses[i] >> line_shift_;
  if (sector_mask_ == 0) {
    std::fill_n(sectors.begin(), count, 1u);
  } else {
    for (std::size_t i = 0; i < count; ++i) sectors[i] = 1u << ((addresses[i] >> sector_shift_) & sector_mask_);
  }
  std::visit([&](auto& sets) { sets.access(std::span(lines).first(count), sectors.data(), hits); }, sets_);
}

}  // namespace gputopo::sim
