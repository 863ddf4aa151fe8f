#include "device/sim/cache/narrow_sets.h"

#include <algorithm>
#include <array>

namespace gputopo::sim {
namespace {

// Prefetch distance in loads, if the simulated cache does not fit the host's caches.
constexpr std::size_t kPrefetchDistance = 12;
// Up to this many ways, comparing all of them takes less time than a mispredicted branch.
constexpr std::uint32_t kFewWays = 16;

// The nodes above a way of a tree, and those of them that point right after an access because the way lies to the left.
struct Away {
  std::uint64_t nodes = 0;
  std::uint64_t right = 0;
};
using AwaysOfTree = std::array<Away, NarrowSets::kMaxWays>;

// By the ways of the tree, then by the way.
constexpr std::array<AwaysOfTree, NarrowSets::kMaxWays + 1> kAways = [] {
  std::array<AwaysOfTree, NarrowSets::kMaxWays + 1> aways{};
  for (std::uint32_t ways = 1; ways < aways.size(); ++ways) {
    for (std::uint32_t way = 0; way < ways; ++way) {
      Away& away = aways[ways][way];
      for (std::uint32_t node = ways + way; node > 1; node /= 2) {
        away.nodes |= 1ull << (node / 2);
        if (node % 2 == 0) away.right |= 1ull << (node / 2);
      }
    }
  }
  return aways;
}();

}  // namespace

NarrowSets::NarrowSets(const CacheGeometry& geometry)
    : index_(geometry),
      victim_(geometry),
      // One way leaves nothing to choose.
      replacement_(most_ways_of(geometry) == 1 ? Replacement::kLru : geometry.replacement),
      protected_ways_(geometry.protected_ways),
      sectored_(geometry.line_bytes != geometry.sector_bytes),
      stride_(most_ways_of(geometry)),
      least_ways_(std::ranges::min(geometry.set_ways)),
      sets_(geometry.set_ways.size()),
      lines_(sets_.size() * stride_),
      sectors_(sectored_ ? lines_.size() : 0) {
  for (std::size_t s = 0; s < sets_.size(); ++s) sets_[s].ways = static_cast<std::uint8_t>(geometry.set_ways[s]);
}

void NarrowSets::start_program(std::uint64_t seed) {
  ++program_;
  seed_ = seed;
  chose_at_random_ = false;
  saving_ = false;
  last_ = {};
  highest_line_ = 0;
  walked_ = {};
}

void NarrowSets::checkpoint() {
  saving_ = true;
  walked_at_checkpoint_ = walked_;
  for (const Saved& saved : saved_) sets_[saved.set_index].saved = false;
  saved_.clear();
  saved_lines_.clear();
  saved_sectors_.clear();
}

void NarrowSets::rollback(std::uint64_t seed) {
  auto lines = saved_lines_.begin();
  auto sectors = saved_sectors_.begin();
  for (const Saved& saved : saved_) {
    Set& set = sets_[saved.set_index];
    set = saved.set;
    const auto first = static_cast<std::ptrdiff_t>(first_of(set) + first_way(set));
    std::copy_n(lines, set.used, lines_.begin() + first);
    lines += set.used;
    if (!sectored_) continue;
    std::copy_n(sectors, set.used, sectors_.begin() + first);
    sectors += set.used;
  }
  walked_ = walked_at_checkpoint_;
  checkpoint();
  last_ = {};
  seed_ = seed;
  chose_at_random_ = false;
}

bool NarrowSets::is_at_checkpoint() const {
  if (walked_.walk().lines != walked_at_checkpoint_.walk().lines) return false;
  std::size_t first = 0;
  return std::ranges::all_of(saved_, [&](const Saved& saved) {
    const bool same = is_as(saved.set, sets_[saved.set_index], first);
    first += saved.set.used;
    return same;
  });
}

bool NarrowSets::is_as(const Set& was, const Set& set, std::size_t first) const {
  if (was.program != set.program || was.used != set.used) return false;
  const auto is_same = [&](std::uint32_t way_then, std::uint32_t way) {
    const std::size_t then = first + way_then - first_way(was);
    const std::size_t now = first_of(set) + way;
    return saved_lines_[then] == lines_[now] && (!sectored_ || saved_sectors_[then] == sectors_[now]);
  };
  if (!replaces_by_age(replacement_)) {
    if (was.state != set.state) return false;
    for (std::uint32_t way = 0; way < set.used; ++way) {
      if (!is_same(way, way)) return false;
    }
    return true;
  }
  auto way_then = static_cast<std::uint32_t>(was.state);
  auto way = static_cast<std::uint32_t>(set.state);
  for (std::uint32_t i = 0; i < set.used; ++i) {
    if (!is_same(way_then, way)) return false;
    way_then = older_than(was, way_then);
    way = older_than(set, way);
  }
  return true;
}

void NarrowSets::save_set(Set& set) {
  const std::size_t first = first_of(set) + first_way(set);
  saved_.push_back({static_cast<std::uint32_t>(&set - sets_.data()), set});
  const std::span lines = std::span(lines_).subspan(first, set.used);
  saved_lines_.insert(saved_lines_.end(), lines.begin(), lines.end());
  if (sectored_) {
    const std::span sectors = std::span(sectors_).subspan(first, set.used);
    saved_sectors_.insert(saved_sectors_.end(), sectors.begin(), sectors.end());
  }
  set.saved = true;
}

void NarrowSets::start_set(Set& set) {
  set.used = 0;  // lines of another program need not be saved
  save(set);
  set.program = program_;
  set.state = replacement_ == Replacement::kLru ? set.ways : 0;
  if (!walked_.is_empty()) take_walked(set, 0);
}

void NarrowSets::access(std::span<const std::uint64_t> lines, const std::uint32_t* sectors, bool* hits) {
  std::array<std::uint32_t, kMaxLoadsAtOnce> sets;
  index_.sets_of(lines, sets.data());
  switch (replacement_) {
    case Replacement::kLru:
      return access_each<Replacement::kLru>(lines, sectors, sets.data(), hits);
    case Replacement::kTreePlru:
      return access_each<Replacement::kTreePlru>(lines, sectors, sets.data(), hits);
    case Replacement::kRandom:
      return access_each<Replacement::kRandom>(lines, sectors, sets.data(), hits);
    case Replacement::kFifo:
      return access_each<Replacement::kFifo>(lines, sectors, sets.data(), hits);
    case Replacement::kSegmentedLru:
      return access_each<Replacement::kSegmentedLru>(lines, sectors, sets.data(), hits);
    case Replacement::kSrrip:
      return access_each<Replacement::kSrrip>(lines, sectors, sets.data(), hits);
  }
}

template <Replacement kPolicy>
void NarrowSets::access_each(std::span<const std::uint64_t> lines, const std::uint32_t* sectors,
                             const std::uint32_t* sets, bool* hits) {
  const bool is_large = lines_.size() > kLinesBeyondHostCaches;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_large && i + kPrefetchDistance < lines.size()) {
      const std::size_t ahead = sets[i + kPrefetchDistance];
      __builtin_prefetch(&sets_[ahead]);
      __builtin_prefetch(&lines_[ahead * stride_]);
      __builtin_prefetch(&lines_[ahead * stride_ + stride_ - 1]);
    }
    hits[i] = access_one<kPolicy>(sets[i], lines[i], sectors[i]);
  }
}

template <Replacement kPolicy>
bool NarrowSets::access_one(std::uint32_t set_index, std::uint64_t line, std::uint32_t sector) {
  Set& set = sets_[set_index];
  if (line == last_.line) {  // the next sector of a walk
    const bool present = hit<kPolicy>(set, std::size_t{set_index} * stride_, last_.way, sector);
    if (kPolicy == Replacement::kSegmentedLru) last_.way = 0;
    return present;
  }
  if (set.program != program_) start_set(set);
  const std::size_t first = std::size_t{set_index} * stride_;
  const std::uint32_t way = way_of<kPolicy>(set, first, line);
  if (way == kNoWay) {
    last_ = {line, set_index, insert<kPolicy>(set, line, sector)};
    return false;
  }
  const bool present = hit<kPolicy>(set, first, way, sector);
  last_ = {line, set_index, way};
  if (kPolicy == Replacement::kLru) last_.way = static_cast<std::uint32_t>(set.state);
  if (kPolicy == Replacement::kSegmentedLru) last_.way = 0;
  return present;
}

template <Replacement kPolicy>
std::uint32_t NarrowSets::way_of(const Set& set, std::size_t first, std::uint64_t line) {
  if (line > highest_line_) {  // the program has loaded no line so high: it is in no way
    highest_line_ = line;
    return kNoWay;
  }
  if (set.used == 0) return kNoWay;
  const std::uint64_t* const lines = lines_.data() + first;
  if constexpr (kPolicy == Replacement::kLru) return way_in_ring(set, lines, line);
  if (set.used > kFewWays) {
    for (std::uint32_t way = set.used; way-- > 0;) {
      if (lines[way] == line) return way;
    }
    return kNoWay;
  }
  // The place is hard to predict, so the host compares all.
  std::uint32_t found = kNoWay;
  for (std::uint32_t way = 0; way < set.used; ++way) found = lines[way] == line ? way : found;
  return found;
}

template <Replacement kPolicy>
bool NarrowSets::hit(Set& set, std::size_t first, std::uint32_t way, std::uint32_t sector) {
  const bool present = !sectored_ || (sectors_[first + way] & sector) != 0;
  bool changes = true;
  if (kPolicy == Replacement::kLru) changes = way != set.state;
  if (kPolicy == Replacement::kSegmentedLru) changes = way != 0 || set.state < protected_of(set);
  if (kPolicy == Replacement::kFifo || kPolicy == Replacement::kRandom) changes = false;
  if (!changes && present) return true;
  save(set);
  if (!present) sectors_[first + way] |= sector;
  if (!changes) return present;
  if (kPolicy == Replacement::kLru) make_newest(set, first, way);
  if (kPolicy == Replacement::kTreePlru) update_plru_tree(set, way);
  if (kPolicy == Replacement::kSrrip) expect(set, way, 0);
  if (kPolicy == Replacement::kSegmentedLru) {
    move_to_front(first, way, 0);
    if (way >= set.state) set.state = std::min<std::uint64_t>(set.state + 1, protected_of(set));
  }
  return present;
}

template <Replacement kPolicy>
std::uint32_t NarrowSets::insert(Set& set, std::uint64_t line, std::uint32_t sector) {
  save(set);
  const std::size_t first = first_of(set);
  const std::uint32_t way = way_to_fill<kPolicy>(set, first);
  lines_[first + way] = line;
  if (sectored_) sectors_[first + way] = sector;
  if (kPolicy == Replacement::kLru || kPolicy == Replacement::kFifo) set.state = way;
  if (kPolicy == Replacement::kTreePlru) update_plru_tree(set, way);
  if (kPolicy == Replacement::kSrrip) expect(set, way, 2);
  if (kPolicy != Replacement::kSegmentedLru) return way;
  const auto front = static_cast<std::uint32_t>(set.state);
  move_to_front(first, way, front);
  return front;
}

// Returns a free way, or the victim in a full set.
template <Replacement kPolicy>
std::uint32_t NarrowSets::way_to_fill(Set& set, std::size_t first) {
  if (set.used < set.ways) {
    if (kPolicy != Replacement::kLru) return set.used++;
    if (set.used != 0) straighten(set, first);
    return set.ways - ++set.used;
  }
  switch (kPolicy) {
    case Replacement::kLru:
      return oldest_of(set);
    case Replacement::kSegmentedLru:
      return set.ways - 1u;
    case Replacement::kSrrip:
      return way_expected_last(set);
    case Replacement::kFifo:
      return set.state + 1 == set.ways ? 0 : static_cast<std::uint32_t>(set.state) + 1;
    case Replacement::kRandom:
      chose_at_random_ = true;
      return victim_.way(seed_, static_cast<std::uint32_t>(&set - sets_.data()),
                         static_cast<std::uint32_t>(set.state++), set.ways);
    case Replacement::kTreePlru:
      break;
  }
  std::uint32_t node = 1;
  while (node < set.ways) node = 2 * node + (set.state >> node & 1);
  return node - set.ways;
}

void NarrowSets::replay(Set& set, std::uint64_t done) {
  const auto by = [&]<Replacement kPolicy>() {
    walked_.for_each_of(static_cast<std::uint32_t>(&set - sets_.data()), done,
                        [&](std::uint64_t line, std::uint32_t sector) { insert<kPolicy>(set, line, sector); });
  };
  if (replacement_ == Replacement::kTreePlru) by.operator()<Replacement::kTreePlru>();
  if (replacement_ == Replacement::kRandom) by.operator()<Replacement::kRandom>();
  if (replacement_ == Replacement::kSrrip) by.operator()<Replacement::kSrrip>();
}

std::optional<std::size_t> NarrowSets::find(std::uint32_t set_index, std::uint64_t line) {
  Set& set = sets_[set_index];
  if (set.program != program_ && walked_.is_empty()) return std::nullopt;
  if (set.program != program_) start_set(set);
  const std::size_t first = first_of(set) + first_way(set);
  for (std::size_t place = first; place < first + set.used; ++place) {
    if (lines_[place] == line) return place;
  }
  return std::nullopt;
}

bool NarrowSets::holds(std::uint64_t line, std::uint32_t sector) {
  const std::optional<std::size_t> place = find(index_.set_of(line), line);
  return place && (!sectored_ || (sectors_[*place] & sector) != 0);
}

void NarrowSets::invalidate(std::uint64_t line) {
  const std::uint32_t set_index = index_.set_of(line);
  const std::optional<std::size_t> place = find(set_index, line);
  if (!place) return;
  save(sets_[set_index]);
  lines_[*place] = kNoLine;
  last_ = {};
}

std::uint32_t NarrowSets::older_than(const Set& set, std::uint32_t way) const {
  if (replacement_ == Replacement::kFifo) return (way == 0 ? set.used : way) - 1u;
  return way + 1 == set.ways ? first_way(set) : way + 1;
}

void NarrowSets::straighten(Set& set, std::size_t first) {
  const std::uint32_t front = set.ways - set.used;
  if (set.state == front) return;
  const auto turn = [&](auto& values) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    std::rotate(begin + front, begin + static_cast<std::ptrdiff_t>(set.state), begin + set.ways);
  };
  turn(lines_);
  if (sectored_) turn(sectors_);
  set.state = front;
}

void NarrowSets::make_newest(Set& set, std::size_t first, std::uint32_t way) {
  const auto newest = static_cast<std::uint32_t>(set.state);
  // Turning the ring makes the oldest line the newest: the common case of a cyclic chase.
  if (way == oldest_of(set)) {
    set.state = way;
    return;
  }
  const std::uint32_t front = set.ways - set.used;
  const auto shift = [&](auto* values) {
    const auto moved = values[way];
    for (std::uint32_t to = way; to != newest;) {
      const std::uint32_t from = to == front ? set.ways - 1u : to - 1u;
      values[to] = values[from];
      to = from;
    }
    values[newest] = moved;
  };
  shift(&lines_[first]);
  if (sectored_) shift(&sectors_[first]);
}

void NarrowSets::move_to_front(std::size_t first, std::uint32_t way, std::uint32_t front) {
  const auto turn = [first = first + front, way = way - front](auto& values) {
    auto* const newest = &values[first];
    const auto moved = newest[way];
    std::copy_backward(newest, newest + way, newest + way + 1);
    *newest = moved;
  };
  turn(lines_);
  if (sectored_) turn(sectors_);
}

void NarrowSets::update_plru_tree(Set& set, std::uint32_t way) {
  const Away& away = kAways[set.ways][way];
  set.state = (set.state & ~away.nodes) | away.right;
}

// Returns the first way with the longest interval, 3. If no way has that, all intervals grow until one does.
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
