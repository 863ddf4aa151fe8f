#include "device/sim/cache/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "gputopo/error.h"

namespace gputopo::sim {
namespace {

std::vector<std::uint32_t> even_sets(std::uint64_t lines, std::uint64_t sets) {
  std::vector<std::uint32_t> set_ways(sets, static_cast<std::uint32_t>(lines / sets));
  for (std::uint64_t s = 0; s < lines % sets; ++s) ++set_ways[s];
  return set_ways;
}

std::uint64_t set_count(const CacheSpec& spec, std::uint64_t lines) {
  if (spec.ways == 0) return 1;
  if (spec.replacement == Replacement::kTreePlru) {
    if (lines % spec.ways != 0) {
      throw FormatError(fmt::format("{} lines cannot be divided into sets of {} ways", lines, spec.ways));
    }
    return lines / spec.ways;
  }
  // Segmented LRU keeps its ways if whole sets remain.
  if (spec.replacement == Replacement::kSegmentedLru && lines % spec.ways == 0) return lines / spec.ways;
  const std::uint64_t full_sets = spec.size_bytes / spec.line_bytes / spec.ways;
  return std::min(full_sets, lines);
}

}  // namespace

CacheGeometry geometry_of(const CacheSpec& spec, std::uint64_t usable_bytes) {
  CacheGeometry geometry{.line_bytes = spec.line_bytes,
                         .sector_bytes = spec.sector_bytes,
                         .set_ways = spec.set_ways,
                         .replacement = spec.replacement,
                         .protected_ways = spec.protected_ways,
                         .victim_weights = spec.victim_weights,
                         .index = spec.index,
                         .lines_in_a_row = std::max(1u, spec.set_interleave_bytes / spec.line_bytes)};
  if (spec.set_ways.empty()) {
    const std::uint64_t lines = usable_bytes / spec.line_bytes;
    if (lines == 0) throw FormatError(fmt::format("{} bytes cannot hold one line", usable_bytes));
    geometry.set_ways = even_sets(lines, set_count(spec, lines));
  }
  const std::size_t sets = geometry.set_ways.size();
  if (spec.index == IndexHash::kXorFold && !std::has_single_bit(sets)) {
    throw FormatError(fmt::format("xor_fold requires the number of sets to be a power of two, not {}", sets));
  }
  const std::uint32_t most_ways = most_ways_of(geometry);
  if (most_ways > kMaxWays) throw FormatError(fmt::format("{} ways exceed the maximum of {}", most_ways, kMaxWays));
  const auto is_odd = [](std::uint32_t ways) { return !std::has_single_bit(ways); };
  if (spec.replacement == Replacement::kTreePlru && std::ranges::any_of(geometry.set_ways, is_odd)) {
    throw FormatError("tree_plru requires the number of ways to be a power of two");
  }
  if (spec.replacement == Replacement::kSegmentedLru && most_ways > kMaxSegmentedWays) {
    throw FormatError(fmt::format("segmented_lru supports at most {} ways, not {}", kMaxSegmentedWays, most_ways));
  }
  if (spec.replacement == Replacement::kSrrip && most_ways > kMaxSrripWays) {
    throw FormatError(fmt::format("srrip supports at most {} ways, not {}", kMaxSrripWays, most_ways));
  }
  return geometry;
}

namespace {

CacheSpec partition_of(const CacheSpec& spec) {
  CacheSpec partition = spec;
  partition.size_bytes /= spec.partitions;
  return partition;
}

}  // namespace

CacheGeometry geometry_of_partition(const CacheSpec& spec) {
  const CacheSpec partition = partition_of(spec);
  return geometry_of(partition, partition.size_bytes);
}

std::uint64_t set_count_of_partition(const CacheSpec& spec) {
  const CacheSpec partition = partition_of(spec);
  return set_count(partition, partition.size_bytes / partition.line_bytes);
}

std::uint32_t most_ways_of(const CacheGeometry& geometry) {
  return *std::max_element(geometry.set_ways.begin(), geometry.set_ways.end());
}

RandomVictim::RandomVictim(const CacheGeometry& geometry) {
  for (std::uint32_t way = 0; way < geometry.victim_weights.size(); ++way) {
    weighted_.insert(weighted_.end(), geometry.victim_weights[way], way);
  }
}

CacheIndex::CacheIndex(const CacheGeometry& geometry)
    : hash_(geometry.index),
      row_shift_(static_cast<unsigned>(std::countr_zero(geometry.lines_in_a_row))),
      sets_(geometry.set_ways.size()),
      set_bits_(static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(sets_)))),
      power_of_two_sets_(std::has_single_bit(sets_)),
      division_(sets_) {
  const std::uint64_t lines = std::accumulate(geometry.set_ways.begin(), geometry.set_ways.end(), std::uint64_t{0});
  const auto line_shift = static_cast<std::uint32_t>(std::countr_zero(geometry.line_bytes));
  for (std::uint32_t round = 0; hash_ == IndexHash::kTurns && turns_.size() < lines; ++round) {
    for (std::uint32_t set = 0; set < sets_; ++set) {
      if (geometry.set_ways[set] > round) turns_.push_back(set);
    }
  }
  if (hash_ == IndexHash::kTurns) division_ = Division(lines);
  mixed_mask_ = std::max(kMixedPeriodBytes >> line_shift, std::bit_ceil(lines) * 16) - 1;
}

void CacheIndex::sets_of(std::span<const std::uint64_t> lines, std::uint32_t* sets) const {
  const auto each = [&](const auto& set_of_row) {
    for (const std::uint64_t line : lines) *sets++ = static_cast<std::uint32_t>(set_of_row(line >> row_shift_));
  };
  switch (hash_) {
    case IndexHash::kModulo:
      if (power_of_two_sets_) return each([mask = sets_ - 1](std::uint64_t row) { return row & mask; });
      return each([this](std::uint64_t row) { return division_.remainder(row); });
    case IndexHash::kTurns:
      return each([this](std::uint64_t row) { return turns_[division_.remainder(row)]; });
    case IndexHash::kXorFold:
      return each([this](std::uint64_t row) { return folded(row); });
    case IndexHash::kMixed:
      return each([this](std::uint64_t row) { return mixed(row); });
  }
}

std::uint32_t CacheIndex::folded(std::uint64_t row) const {
  if (set_bits_ == 0) return 0;
  std::uint64_t folded = 0;
  for (std::uint64_t rest = row; rest != 0; rest >>= set_bits_) folded ^= rest;
  return static_cast<std::uint32_t>(folded & (sets_ - 1));
}

// Multiples of the golden ratio spread evenly over 0..1 (Knuth, The Art of Computer Programming 3, 6.4). The cubic then
// makes the first sets larger targets and the last ones smaller.
std::uint32_t CacheIndex::mixed(std::uint64_t row) const {
  const auto place = static_cast<std::uint32_t>(row & mixed_mask_);
  const double u = static_cast<double>(place * 0x9E3779B1u) * 0x1.0p-32;
  const double v = u - kMixedUnevenness * (u - u * u * u);
  return static_cast<std::uint32_t>(v * static_cast<double>(sets_));
}

}  // namespace gputopo::sim
