#include "device/sim/cache/wide_sets.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_set>

namespace gputopo::sim {
namespace {

// Loads whose lines are prefetched together if the simulated cache does not fit the host's caches.
constexpr std::size_t kPrefetchedLoads = 16;

}  // namespace

WideSets::WideSets(const CacheGeometry& geometry)
    : index_(geometry), victim_(geometry), replacement_(geometry.replacement) {
  const std::size_t set_count = geometry.set_ways.size();
  sets_.resize(set_count);
  std::uint32_t way_count = 0;
  for (std::size_t s = 0; s < set_count; ++s) {
    sets_[s].first_way = way_count;
    sets_[s].ways = geometry.set_ways[s];
    way_count += geometry.set_ways[s];
  }
  ages_.resize(way_count);
  const std::uint32_t most_ways = most_ways_of(geometry);
  slots_.reserve(set_count * most_ways);
  for (std::uint32_t way = 0; way < most_ways; ++way) {
    slots_.insert(slots_.end(), set_count,
                  {.line = 0, .way = static_cast<std::uint16_t>(way), .sectors = 0, .next_in_bucket = kNone});
  }
  const std::uint32_t bucket_count = std::bit_ceil(std::max(way_count, 8u) * 2);
  buckets_.resize(bucket_count);
  bucket_mask_ = bucket_count - 1;
  bucket_bits_ = static_cast<std::uint32_t>(std::countr_zero(bucket_count));
  if (replacement_ == Replacement::kTreePlru) tree_.assign(way_count, 0);
}

void WideSets::start_program(std::uint64_t seed) {
  ++program_;
  seed_ = seed;
  chose_at_random_ = false;
  noting_ = false;
  changes_.clear();
}

void WideSets::checkpoint() {
  noting_ = true;
  changes_.clear();
}

void WideSets::rollback(std::uint64_t seed) {
  std::for_each(changes_.rbegin(), changes_.rend(),
                [](const Change& change) { std::memcpy(change.where, change.old.data(), change.bytes); });
  changes_.clear();
  seed_ = seed;
  chose_at_random_ = false;
}

bool WideSets::is_at_checkpoint() {
  if (!replaces_by_age(replacement_)) {
    // The first change of each place holds the value at the checkpoint.
    std::unordered_set<const void*> compared;
    return std::ranges::all_of(changes_, [&](const Change& change) {
      return !compared.insert(change.where).second || std::memcmp(change.where, change.old.data(), change.bytes) == 0;
    });
  }
  // The way that holds a line does not matter.
  const std::vector<std::uint32_t> sets = changed_sets();
  const std::vector<std::uint64_t> now = lines_by_age(sets);
  std::for_each(changes_.rbegin(), changes_.rend(), swap);
  const std::vector<std::uint64_t> then = lines_by_age(sets);
  std::for_each(changes_.begin(), changes_.end(), swap);
  return now == then;
}

void WideSets::swap(Change& change) {
  std::array<std::byte, sizeof(Change::old)> now;
  std::memcpy(now.data(), change.where, change.bytes);
  std::memcpy(change.where, change.old.data(), change.bytes);
  change.old = now;
}

std::vector<std::uint32_t> WideSets::changed_sets() const {
  std::vector<std::uint32_t> changed;
  const auto place_in = [](const auto& objects, const void* where) {
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(where) -
                                             reinterpret_cast<const std::byte*>(objects.data()));
    return at < objects.size() * sizeof(objects[0]) ? std::optional(at / sizeof(objects[0])) : std::nullopt;
  };
  for (const Change& change : changes_) {
    const std::optional<std::size_t> set = place_in(sets_, change.where);
    const std::optional<std::size_t> slot = place_in(slots_, change.where);
    if (set) changed.push_back(static_cast<std::uint32_t>(*set));
    if (slot) changed.push_back(static_cast<std::uint32_t>(*slot % sets_.size()));
  }
  std::ranges::sort(changed);
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  return changed;
}

std::vector<std::uint64_t> WideSets::lines_by_age(const std::vector<std::uint32_t>& sets) const {
  std::vector<std::uint64_t> lines;
  for (const std::uint32_t set_index : sets) {
    const Set& set = sets_[set_index];
    const std::uint32_t used = set.program == program_ ? set.used : 0;
    lines.push_back(used);
    std::uint32_t way = set.newest;
    for (std::uint32_t i = 0; i < used; ++i, way = ages_[set.first_way + way].older) {
      const Slot& slot = slots_[slot_at(set_index, way)];
      lines.insert(lines.end(), {std::uint64_t{slot.line}, std::uint64_t{slot.sectors}});
    }
  }
  return lines;
}

void WideSets::access(std::span<const std::uint64_t> lines, const std::uint32_t* sectors, bool* hits) {
  std::array<std::uint32_t, kMaxLoadsAtOnce> sets;
  index_.sets_of(lines, sets.data());
  const bool is_large = slots_.size() > kLinesBeyondHostCaches;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_large && i % kPrefetchedLoads == 0) {
      prefetch(lines.subspan(i, std::min(kPrefetchedLoads, lines.size() - i)), &sets[i]);
    }
    hits[i] = access_one(lines[i], sets[i], sectors[i]);
  }
}

// Each step needs what the one before fetched: bucket and set, the line's slot, the victim's slot, its bucket.
void WideSets::prefetch(std::span<const std::uint64_t> lines, const std::uint32_t* sets) const {
  const auto likely_slot = [&](std::size_t i) -> const Slot& {
    return slots_[slot_at(sets[i], likely_victim(sets[i]))];
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    __builtin_prefetch(&buckets_[bucket_of(lines[i])]);
    __builtin_prefetch(&sets_[sets[i]]);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::uint32_t s = first_in_bucket(lines[i]);
    if (s != kNone) __builtin_prefetch(&slots_[s]);
    __builtin_prefetch(&ages_[sets_[sets[i]].first_way]);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) __builtin_prefetch(&likely_slot(i));
  for (std::size_t i = 0; i < lines.size(); ++i) __builtin_prefetch(&buckets_[bucket_of(likely_slot(i).line)]);
}

void WideSets::insert(std::uint64_t line, std::uint32_t set_index, std::uint32_t sector) {
  Set& set = sets_[set_index];
  note(set);
  if (set.program != program_) {
    set.program = program_;
    set.used = 0;
    set.newest = 0;
    if (replacement_ == Replacement::kTreePlru) std::fill_n(tree_.begin() + set.first_way, set.ways, std::uint8_t{0});
  }
  const bool full = set.used == set.ways;
  const std::uint32_t s = slot_at(set_index, full ? replace_way(set_index) : fill_way(set));
  if (full) forget(s);
  Bucket& bucket = buckets_[bucket_of(line)];
  Slot& slot = slots_[s];
  note(bucket);
  note(slot);
  slot.line = line & kLineMask;
  slot.sectors = sector;
  slot.next_in_bucket = bucket.program == program_ ? bucket.first_slot : kNone;
  bucket = {.program = program_, .first_slot = s};
}

std::uint32_t WideSets::fill_way(Set& set) {
  const std::uint32_t way = set.used++;
  if (replacement_ == Replacement::kTreePlru) {
    update_plru_tree(set, way);
  } else if (replacement_ != Replacement::kRandom) {
    link_before_newest(set, way);
    set.newest = way;
  }
  return way;
}

std::uint32_t WideSets::replace_way(std::uint32_t set_index) {
  Set& set = sets_[set_index];
  switch (replacement_) {
    case Replacement::kLru:
    case Replacement::kFifo:
      return set.newest = likely_victim(set_index);  // the oldest, at the end of the ring
    case Replacement::kRandom: {
      chose_at_random_ = true;
      const std::uint32_t way = likely_victim(set_index);
      ++set.newest;
      return way;
    }
    case Replacement::kTreePlru:
    case Replacement::kSegmentedLru:  // only narrow sets have this and SRRIP
    case Replacement::kSrrip:
      break;
  }
  std::uint32_t node = 1;
  while (node < set.ways) node = 2 * node + tree_[set.first_way + node];
  const std::uint32_t way = node - set.ways;
  update_plru_tree(set, way);
  return way;
}

void WideSets::forget(std::uint32_t s) {
  std::uint32_t* link = &buckets_[bucket_of(slots_[s].line)].first_slot;
  while (*link != s) link = &slots_[*link].next_in_bucket;
  note(*link);
  *link = slots_[s].next_in_bucket;
}

void WideSets::unlink(const Set& set, std::uint32_t way) {
  Age* ages = &ages_[set.first_way];
  note(ages[ages[way].older]);
  note(ages[ages[way].younger]);
  ages[ages[way].older].younger = ages[way].younger;
  ages[ages[way].younger].older = ages[way].older;
}

void WideSets::link_before_newest(const Set& set, std::uint32_t way) {
  Age* ages = &ages_[set.first_way];
  const auto self = static_cast<std::uint16_t>(way);
  note(ages[way]);
  if (set.used == 1) {
    ages[way] = {.older = self, .younger = self};
    return;
  }
  const std::uint16_t oldest = ages[set.newest].younger;
  note(ages[set.newest]);
  note(ages[oldest]);
  ages[way] = {.older = static_cast<std::uint16_t>(set.newest), .younger = oldest};
  ages[set.newest].younger = self;
  ages[oldest].older = self;
}

void WideSets::update_plru_tree(const Set& set, std::uint32_t way) {
  std::uint32_t node = set.ways + way;
  while (node > 1) {
    note(tree_[set.first_way + node / 2]);
    tree_[set.first_way + node / 2] = (node & 1) == 0 ? 1 : 0;
    node /= 2;
  }
}

}  // namespace gputopo::sim
