#include "device/sim/cache.h"

#include <algorithm>
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

bool Cache::is_at_checkpoint() {
  return std::visit([](auto& sets) { return sets.is_at_checkpoint(); }, sets_);
}

bool Cache::chose_at_random() const {
  return std::visit([](const auto& sets) { return sets.chose_at_random(); }, sets_);
}

void Cache::access(std::span<const std::uint64_t> addresses, bool* hits) {
  Places places;
  find_places(addresses, places);
  std::visit(
      [&](auto& sets) { sets.access(std::span(places.lines).first(addresses.size()), places.sectors.data(), hits); },
      sets_);
}

void Cache::find_places(std::span<const std::uint64_t> addresses, Places& places) const {
  const std::size_t count = addresses.size();
  for (std::size_t i = 0; i < count; ++i) places.lines[i] = addresses[i] >> line_shift_;
  if (sector_mask_ == 0) {
    std::fill_n(places.sectors.begin(), count, 1u);
  } else {
    for (std::size_t i = 0; i < count; ++i) places.sectors[i] = 1u << ((addresses[i] >> sector_shift_) & sector_mask_);
  }
}

bool Cache::can_fill_back(bool is_empty, std::uint64_t stride_bytes) const {
  const auto* narrow = std::get_if<NarrowSets>(&sets_);
  return narrow != nullptr && narrow->can_fill_back(is_empty, stride_bytes >> line_shift_ > 0);
}

void Cache::start_fill_back() { std::get<NarrowSets>(sets_).start_fill_back(); }

void Cache::fill_back(std::span<const std::uint64_t> addresses) {
  Places places;
  find_places(addresses, places);
  std::get<NarrowSets>(sets_).fill_back(std::span(places.lines).first(addresses.size()), places.sectors.data());
}

void Cache::end_fill_back() { std::get<NarrowSets>(sets_).end_fill_back(); }

}  // namespace gputopo::sim
