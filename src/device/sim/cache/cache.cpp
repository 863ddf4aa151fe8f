#include "device/sim/cache/cache.h"

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

std::optional<LineWalk> Cache::lines_of(const NewWalk& walk, const HomeMap& homes,
                                        std::optional<std::uint32_t> home) const {
  const std::uint64_t line_bytes = std::uint64_t{1} << line_shift_;
  const std::uint64_t stride = walk.stride_bytes;
  if (walk.loads == 0 || line_bytes % stride != 0 || walk.first_address % line_bytes != 0) return std::nullopt;
  const std::uint64_t loads_of_line = line_bytes / stride;
  if (walk.done % loads_of_line != 0) return std::nullopt;
  const auto sectors_of = [&](std::uint64_t loads) {
    std::uint32_t sectors = 0;
    for (std::uint64_t i = 0; i < loads; ++i) sectors |= 1u << ((i * stride >> sector_shift_) & sector_mask_);
    return sectors;
  };
  LineWalk lines{.first_line = walk.first_address >> line_shift_,
                 .lines = (walk.loads + loads_of_line - 1) / loads_of_line,
                 .done = walk.done / loads_of_line,
                 .sectors = sectors_of(loads_of_line),
                 .last_sectors = sectors_of((walk.loads - 1) % loads_of_line + 1)};
  if (home) lines.home = {homes, *home, line_shift_};
  return lines;
}

std::optional<bool> Cache::take_walk(const NewWalk& walk, const HomeMap& homes, std::optional<std::uint32_t> home) {
  const std::optional<LineWalk> lines = lines_of(walk, homes, home);
  return lines ? std::get<NarrowSets>(sets_).take_walk(*lines) : std::nullopt;
}

bool Cache::can_take_walk(const NewWalk& walk, const HomeMap& homes, std::optional<std::uint32_t> home) const {
  const auto* narrow = std::get_if<NarrowSets>(&sets_);
  if (narrow == nullptr || walk.stride_bytes >> line_shift_ != 1) return false;
  const std::optional<LineWalk> lines = lines_of(walk, homes, home);
  return lines && narrow->can_replay(*lines);
}

void Cache::end_fill_back() { std::get<NarrowSets>(sets_).end_fill_back(); }

}  // namespace gputopo::sim
