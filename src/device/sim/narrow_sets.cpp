#include "device/sim/narrow_sets.h"

#include <algorithm>

namespace gputopo::sim {

NarrowSets::NarrowSets(const CacheGeometry& geometry)
    : index_(geometry),
      victim_(geometry),
      replacement_(geometry.replacement),
      protected_ways_(geometry.protected_ways),
      orders_by_hits_(replacement_ == Replacement::kLru || replacement_ == Replacement::kSegmentedLru),
      has_state_(replacement_ == Replacement::kTreePlru || replacement_ == Replacement::kSrrip),
      sectored_(geometry.line_bytes != geometry.sector_bytes),
      stride_(most_ways_of(geometry)),
      sets_(geometry.set_ways.size()),
      lines_(sets_.size() * stride_),
      sectors_(sectored_ ? lines_.size() : 0) {
  for (std::size_t s = 0; s < sets_.size(); ++s) sets_[s].ways = static_cast<std::uint16_t>(geometry.set_ways[s]);
}

void NarrowSets::start_program(std::uint64_t seed) {
  ++program_;
  seed_ = seed;
  chose_at_random_ = false;
  saving_ = false;
  last_ = {};
  highest_line_ = 0;
}

void NarrowSets::checkpoint() {
  saving_ = true;
  ++checkpoint_;
  saved_.clear();
  saved_lines_.clear();
  saved_sectors_.clear();
}

void NarrowSets::rollback(std::uint64_t seed) {
  auto lines = saved_lines_.begin();
  auto sectors = saved_sectors_.begin();
  for (const Saved& saved : saved_) {
    const std::size_t first = std::size_t{saved.set_index} * stride_;
    sets_[saved.set_index] = saved.set;
    std::copy_n(lines, saved.set.used, lines_.begin() + static_cast<std::ptrdiff_t>(first));
    lines += saved.set.used;
    if (!sectored_) continue;
    std::copy_n(sectors, saved.set.used, sectors_.begin() + static_cast<std::ptrdiff_t>(first));
    sectors += saved.set.used;
  }
  checkpoint();
  last_ = {};
  seed_ = seed;
  chose_at_random_ = false;
}

void NarrowSets::save_set(std::uint32_t set_index) {
  Set& set = sets_[set_index];
  const std::size_t first = std::size_t{set_index} * stride_;
  saved_.push_back({set_index, set});
  const std::span lines = std::span(lines_).subspan(first, set.used);
  saved_lines_.insert(saved_lines_.end(), lines.begin(), lines.end());
  if (sectored_) {
    const std::span sectors = std::span(sectors_).subspan(first, set.used);
    saved_sectors_.insert(saved_sectors_.end(), sectors.begin(), sectors.end());
  }
  set.saved_at = checkpoint_;
}

std::uint32_t NarrowSets::insert(std::uint32_t set_index, std::uint64_t line, std::uint32_t sector) {
  save(set_index);
  Set& set = sets_[set_index];
  const bool full = set.used == set.ways;
  const std::uint32_t way = full ? way_to_replace(set_index) : set.used++;
  const std::size_t at = std::size_t{set_index} * stride_ + way;
  lines_[at] = line;
  if (sectored_) sectors_[at] = sector;
  switch (replacement_) {
    case Replacement::kLru:
      move_to_front(set_index, way);
      return 0;
    case Replacement::kFifo:
      set.turn = way;
      break;
    case Replacement::kTreePlru:
      point_away(set, way);
      break;
    case Replacement::kSegmentedLru:
      move_to_front(set_index, way, set.turn);
      return set.turn;
    case Replacement::kSrrip:
      expect(set, way, 2);
      break;
    case Replacement::kRandom:
      break;
  }
  return way;
}

// In a full set.
std::uint32_t NarrowSets::way_to_replace(std::uint32_t set_index) {
  Set& set = sets_[set_index];
  switch (replacement_) {
    case Replacement::kLru:
    case Replacement::kSegmentedLru:
      break;
    case Replacement::kSrrip:
      return way_expected_last(set);
    case Replacement::kFifo:
      return set.turn + 1u == set.ways ? 0 : set.turn + 1;
    case Replacement::kRandom:
      chose_at_random_ = true;
      return victim_.way(seed_, set_index, set.turn++, set.ways);
    case Replacement::kTreePlru: {
      std::uint32_t node = 1;
      while (node < set.ways) node = 2 * node + (set.state >> node & 1);
      return node - set.ways;
    }
  }
  return set.ways - 1u;
}

void NarrowSets::move_to_front(std::uint32_t set_index, std::uint32_t way, std::uint32_t front) {
  const std::size_t first = std::size_t{set_index} * stride_ + front;
  const auto turn = [first, way = way - front](auto& values) {
    auto* const newest = &values[first];
    const auto moved = newest[way];
    std::copy_backward(newest, newest + way, newest + way + 1);
    *newest = moved;
  };
  turn(lines_);
  if (sectored_) turn(sectors_);
}

void NarrowSets::point_away(Set& set, std::uint32_t way) {
  for (std::uint32_t node = set.ways + way; node > 1; node /= 2) {
    const std::uint64_t parent = 1ull << (node / 2);
    set.state = (node & 1) == 0 ? set.state | parent : set.state & ~parent;
  }
}

// The first that is not expected before the longest interval; where there is none, all grow older until there is.
std::uint32_t NarrowSets::way_expected_last(Set& set) {
  const auto interval = [&](std::uint32_t way) { return set.state >> (2 * way) & 3; };
  std::uint64_t longest = 0;
  for (std::uint32_t way = 0; way < set.ways; ++way) longest = std::max(longest, interval(way));
  std::uint32_t victim = set.ways;
  for (std::uint32_t way = set.ways; way-- > 0;) {
    if (interval(way) == longest) victim = way;
    expect(set, way, interval(way) + 3 - longest);
  }
  return victim;
}

}  // namespace gputopo::sim
