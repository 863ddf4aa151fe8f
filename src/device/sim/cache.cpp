#include "device/sim/cache.h"

#include <bit>

namespace gputopo::sim {
namespace {

constexpr std::size_t kLargeLines = 16384;

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

bool Cache::wants_prefetch(bool in_order) const {
  return std::visit(
      [in_order](const auto& sets) { return sets.line_count() > kLargeLines && !(in_order && sets.walks_in_order()); },
      sets_);
}

}  // namespace gputopo::sim
