#include "device/sim/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "gputopo/error.h"

namespace gputopo::sim {
namespace {

std::vector<std::uint32_t> even_sets(std::uint64_t lines, std::uint64_t sets) {
  std::vector<std::uint32_t> set_ways(sets, static_cast<std::uint32_t>(lines / sets));
  for (std::uint64_t s = 0; s < lines % sets; ++s) ++set_ways[s];
  return set_ways;
}

std::vector<std::uint32_t> sets_of(const CacheSpec& spec, std::uint64_t lines) {
  if (spec.ways == 0) return even_sets(lines, 1);
  if (spec.replacement == Replacement::kTreePlru) {
    if (lines % spec.ways != 0) {
      throw FormatError(fmt::format("{} lines are no whole sets of {} ways", lines, spec.ways));
    }
    return even_sets(lines, lines / spec.ways);
  }
  const std::uint64_t full_sets = spec.size_bytes / spec.line_bytes / spec.ways;
  return even_sets(lines, std::min(full_sets, lines));
}

}  // namespace

CacheGeometry geometry_of(const CacheSpec& spec, std::uint64_t usable_bytes) {
  CacheGeometry geometry{.line_bytes = spec.line_bytes,
                         .sector_bytes = spec.sector_bytes,
                         .set_ways = spec.set_ways,
                         .replacement = spec.replacement,
                         .index = spec.index};
  if (spec.set_ways.empty()) {
    const std::uint64_t lines = usable_bytes / spec.line_bytes;
    if (lines == 0) throw FormatError(fmt::format("{} bytes hold no line", usable_bytes));
    geometry.set_ways = sets_of(spec, lines);
  }
  const std::size_t sets = geometry.set_ways.size();
  if (spec.index == IndexHash::kXorFold && !std::has_single_bit(sets)) {
    throw FormatError(fmt::format("xor_fold needs a power of two of sets, not {}", sets));
  }
  const std::uint32_t most_ways = *std::max_element(geometry.set_ways.begin(), geometry.set_ways.end());
  if (most_ways > kMaxWays)
    throw FormatError(fmt::format("{} ways are more than the {} there can be", most_ways, kMaxWays));
  const bool odd_ways = std::any_of(geometry.set_ways.begin(), geometry.set_ways.end(),
                                    [](std::uint32_t ways) { return !std::has_single_bit(ways); });
  if (spec.replacement == Replacement::kTreePlru && odd_ways) {
    throw FormatError("tree_plru needs a power of two of ways");
  }
  return geometry;
}

Cache::Cache(CacheGeometry geometry)
    : line_shift_(static_cast<std::uint32_t>(std::countr_zero(geometry.line_bytes))),
      sector_shift_(static_cast<std::uint32_t>(std::countr_zero(geometry.sector_bytes))),
      sector_mask_(geometry.line_bytes / geometry.sector_bytes - 1),
      replacement_(geometry.replacement),
      index_(geometry.index) {
  const std::size_t set_count = geometry.set_ways.size();
  power_of_two_sets_ = std::has_single_bit(set_count);
  set_bits_ = static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(set_count)));
  sets_.resize(set_count);
  std::uint32_t way_count = 0;
  std::uint32_t most_ways = 0;
  for (std::size_t s = 0; s < set_count; ++s) {
    sets_[s].first_way = way_count;
    sets_[s].ways = geometry.set_ways[s];
    way_count += geometry.set_ways[s];
    most_ways = std::max(most_ways, geometry.set_ways[s]);
  }
  ages_.resize(way_count);
  slots_.reserve(set_count * most_ways);
  for (std::uint32_t way = 0; way < most_ways; ++way) {
    slots_.insert(slots_.end(), set_count,
                  {.line = 0, .way = static_cast<std::uint16_t>(way), .sectors = 0, .next_in_bucket = kNone});
  }
  mixed_mask_ = std::max(kMixedPeriodBytes >> line_shift_, std::uint64_t{std::bit_ceil(way_count)} * 16) - 1;
  const std::uint32_t bucket_count = std::bit_ceil(std::max(way_count, 8u) * 2);
  buckets_.resize(bucket_count);
  bucket_mask_ = bucket_count - 1;
  bucket_bits_ = static_cast<std::uint32_t>(std::countr_zero(bucket_count));
  if (replacement_ == Replacement::kTreePlru) tree_.assign(way_count, 0);
}

void Cache::start_program(std::uint64_t seed) {
  ++program_;
  seed_ = seed;
  chose_at_random_ = false;
  noting_ = false;
  changes_.clear();
}

void Cache::checkpoint() {
  noting_ = true;
  changes_.clear();
}

void Cache::rollback(std::uint64_t seed) {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    std::memcpy(change->where, change->old.data(), change->bytes);
  }
  changes_.clear();
  seed_ = seed;
  chose_at_random_ = false;
}

std::uint32_t Cache::hashed_set_of(std::uint64_t line) const {
  const std::uint64_t count = sets_.size();
  if (index_ == IndexHash::kXorFold) {
    if (set_bits_ == 0) return 0;
    std::uint64_t folded = 0;
    for (std::uint64_t rest = line; rest != 0; rest >>= set_bits_) folded ^= rest;
    return static_cast<std::uint32_t>(folded & (count - 1));
  }
  // Multiples of the golden ratio spread evenly over 0..1 (Knuth, The Art of Computer Programming 3, 6.4); the cubic
  // then makes the first sets larger targets and the last ones smaller.
  const auto place = static_cast<std::uint32_t>(line & mixed_mask_);
  const double u = static_cast<double>(place * 0x9E3779B1u) * 0x1.0p-32;
  const double v = u - kMixedUnevenness * (u - u * u * u);
  return static_cast<std::uint32_t>(v * static_cast<double>(count));
}

void Cache::insert(std::uint64_t line, std::uint32_t sector) {
  const std::uint32_t set_index = set_of(line);
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

std::uint32_t Cache::fill_way(Set& set) {
  const std::uint32_t way = set.used++;
  if (replacement_ == Replacement::kTreePlru) {
    point_away(set, way);
  } else if (replacement_ != Replacement::kRandom) {
    link_before_newest(set, way);
    set.newest = way;
  }
  return way;
}

std::uint32_t Cache::replace_way(std::uint32_t set_index) {
  Set& set = sets_[set_index];
  switch (replacement_) {
    case Replacement::kLru:
    case Replacement::kFifo:
      return set.newest = likely_victim(set_index);  // round the ring: the oldest
    case Replacement::kRandom: {
      chose_at_random_ = true;
      const std::uint32_t way = random_way(set_index);
      ++set.newest;
      return way;
    }
    case Replacement::kTreePlru:
      break;
  }
  std::uint32_t node = 1;
  while (node < set.ways) node = 2 * node + tree_[set.first_way + node];
  const std::uint32_t way = node - set.ways;
  point_away(set, way);
  return way;
}

void Cache::forget(std::uint32_t s) {
  std::uint32_t* link = &buckets_[bucket_of(slots_[s].line)].first_slot;
  while (*link != s) link = &slots_[*link].next_in_bucket;
  note(*link);
  *link = slots_[s].next_in_bucket;
}

void Cache::unlink(const Set& set, std::uint32_t way) {
  Age* ages = &ages_[set.first_way];
  note(ages[ages[way].older]);
  note(ages[ages[way].younger]);
  ages[ages[way].older].younger = ages[way].younger;
  ages[ages[way].younger].older = ages[way].older;
}

void Cache::link_before_newest(const Set& set, std::uint32_t way) {
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

void Cache::point_away(const Set& set, std::uint32_t way) {
  std::uint32_t node = set.ways + way;
  while (node > 1) {
    note(tree_[set.first_way + node / 2]);
    tree_[set.first_way + node / 2] = (node & 1) == 0 ? 1 : 0;
    node /= 2;
  }
}

}  // namespace gputopo::sim
