// The shape of a simulated cache, and the set that each line belongs to.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/sim/cache/division.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine/random.h"

namespace gputopo::sim {

// A simulated cache with more lines than this does not fit the caches of the host.
inline constexpr std::size_t kLinesBeyondHostCaches = 16384;

// The sets of a cache after a shared-memory carve-out.
struct CacheGeometry {
  std::uint32_t line_bytes = 128;
  std::uint32_t sector_bytes = 32;
  std::vector<std::uint32_t> set_ways;  // ways of each set
  Replacement replacement = Replacement::kLru;
  std::uint32_t protected_ways = 0;           // as in CacheSpec
  std::vector<std::uint32_t> victim_weights;  // as in CacheSpec
  IndexHash index = IndexHash::kModulo;
  std::uint32_t lines_in_a_row = 1;  // consecutive lines in one set; a power of two
};

// Cuts `spec` down to `usable_bytes` of whole lines. The cache keeps its sets, which lose ways; the first sets keep one
// more if the lines do not divide evenly. With tree PLRU, which needs a power of two of ways, it has fewer sets
// instead, and so with segmented LRU if whole sets remain. Throws FormatError, without the cache's name, if that is
// impossible.
[[nodiscard]] CacheGeometry geometry_of(const CacheSpec& spec, std::uint64_t usable_bytes);
// The geometry of one partition: a cache of its own, with the ways of `spec`.
[[nodiscard]] CacheGeometry geometry_of_partition(const CacheSpec& spec);
// The number of its sets, without a list of them.
[[nodiscard]] std::uint64_t set_count_of_partition(const CacheSpec& spec);

// Whether replacement depends only on the order in which the lines of a set came or were used.
[[nodiscard]] constexpr bool replaces_by_age(Replacement replacement) {
  return replacement == Replacement::kLru || replacement == Replacement::kFifo;
}

[[nodiscard]] std::uint32_t most_ways_of(const CacheGeometry& geometry);

// The most loads that a cache takes at once.
inline constexpr std::size_t kMaxLoadsAtOnce = 128;
inline constexpr std::uint32_t kMaxSectorsPerLine = 32;
inline constexpr std::uint32_t kLargestLineBytes = 4096;  // also the largest fetch
inline constexpr std::uint32_t kMaxWays = 1u << 16;
// Limits of segmented LRU and SRRIP, which search their sets.
inline constexpr std::uint32_t kMaxSegmentedWays = 64;
inline constexpr std::uint32_t kMaxSrripWays = 32;
// kMixed hashes a line's place within this many bytes, or within 16 times the cache if that is more. Small caches then
// treat an array alike wherever it lies, as the virtually indexed L1 of a GPU with 2 MiB pages does.
inline constexpr std::uint64_t kMixedPeriodBytes = 4ull << 20;
// How unevenly kMixed fills the sets: the fullest set gets 1 / (1 - k) times the mean, the emptiest 1 / (1 + 2k).
// Chosen for the ramp of an H200's L1 (docs/machines.md).
inline constexpr double kMixedUnevenness = 0.08;

// The way that the `turn`-th replacement in a full set evicts at random. It depends only on its arguments, so it can be
// prefetched, and programs with a common beginning choose independently.
class RandomVictim {
 public:
  explicit RandomVictim(const CacheGeometry& geometry);

  [[nodiscard]] std::uint32_t way(std::uint64_t seed, std::uint32_t set_index, std::uint32_t turn,
                                  std::uint32_t ways) const {
    RandomSource random(seed ^ (std::uint64_t{turn} << 32 | set_index));
    return weighted_.empty() ? random.below(ways)
                             : weighted_[random.below(static_cast<std::uint32_t>(weighted_.size()))];
  }

 private:
  std::vector<std::uint32_t> weighted_;  // each way as often as its weight
};

class CacheIndex {
 public:
  explicit CacheIndex(const CacheGeometry& geometry);

  [[nodiscard]] std::uint32_t set_of(std::uint64_t line) const {
    std::uint32_t set = 0;
    sets_of({&line, 1}, &set);
    return set;
  }
  void sets_of(std::span<const std::uint64_t> lines, std::uint32_t* sets) const;
  // Whether consecutive lines belong to consecutive sets.
  [[nodiscard]] bool goes_by_turns() const { return hash_ == IndexHash::kModulo && row_shift_ == 0; }

 private:
  [[nodiscard]] std::uint32_t folded(std::uint64_t row) const;
  [[nodiscard]] std::uint32_t mixed(std::uint64_t row) const;

  IndexHash hash_;
  unsigned row_shift_;
  std::vector<std::uint32_t> turns_;  // kTurns: the set of each line of one period, each set once per way
  std::uint64_t sets_;
  std::uint32_t set_bits_;  // log2 of the sets, if they are a power of two
  bool power_of_two_sets_;
  Division division_;         // divides by the sets or, with kTurns, by the lines
  std::uint64_t mixed_mask_;  // mask of a line's place within the period
};

}  // namespace gputopo::sim
