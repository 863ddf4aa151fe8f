// The shape of a simulated cache, and which of its sets a line belongs to.
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

// From how many lines on the caches of the simulating host do not hold a simulated cache.
inline constexpr std::size_t kLinesBeyondHostCaches = 16384;

// The sets that a cache really has once a shared-memory carve-out is taken from it.
struct CacheGeometry {
  std::uint32_t line_bytes = 128;
  std::uint32_t sector_bytes = 32;
  std::vector<std::uint32_t> set_ways;  // the ways of each set
  Replacement replacement = Replacement::kLru;
  std::uint32_t protected_ways = 0;           // as CacheSpec's
  std::vector<std::uint32_t> victim_weights;  // as CacheSpec's
  IndexHash index = IndexHash::kModulo;
  std::uint32_t lines_in_a_row = 1;  // that belong to one set; a power of two
};

// The geometry of `spec` cut down to `usable_bytes`: whole lines; the sets stay and lose ways, the first ones keeping
// one more where it does not divide. Tree PLRU needs a power of two of ways, so there the sets become fewer, and so
// they do under segmented LRU where that leaves whole ones. Throws FormatError (without the cache's name) where that is
// impossible.
[[nodiscard]] CacheGeometry geometry_of(const CacheSpec& spec, std::uint64_t usable_bytes);
// Of one of its partitions: a cache of its own, of as many ways.
[[nodiscard]] CacheGeometry geometry_of_partition(const CacheSpec& spec);
// Its sets, without making a list of them.
[[nodiscard]] std::uint64_t set_count_of_partition(const CacheSpec& spec);

// Only the order in which a set's lines came, or were used, decides which is replaced.
[[nodiscard]] constexpr bool replaces_by_age(Replacement replacement) {
  return replacement == Replacement::kLru || replacement == Replacement::kFifo;
}

// Of the set that has most.
[[nodiscard]] std::uint32_t most_ways_of(const CacheGeometry& geometry);

// A cache is handed no more at once.
inline constexpr std::size_t kMaxLoadsAtOnce = 128;
inline constexpr std::uint32_t kMaxSectorsPerLine = 32;
inline constexpr std::uint32_t kLargestLineBytes = 4096;  // nor does a miss fetch more
inline constexpr std::uint32_t kMaxWays = 1u << 16;
// Of segmented LRU and of SRRIP, whose sets are looked through.
inline constexpr std::uint32_t kMaxSegmentedWays = 64;
inline constexpr std::uint32_t kMaxSrripWays = 32;
// kMixed hashes a line's place within this many bytes, or 16 times the cache if that is more. Small caches then treat
// an array alike wherever it lies, as the virtually indexed L1 of a GPU with 2 MiB pages does.
inline constexpr std::uint64_t kMixedPeriodBytes = 4ull << 20;
// How unevenly kMixed fills the sets: the share of the fullest set is 1 / (1 - k) times the mean, of the emptiest
// 1 / (1 + 2k). Chosen for the ramp of an H200's L1 (docs/machines.md).
inline constexpr double kMixedUnevenness = 0.08;

// Random replacement: the way that the `turn`-th replacement in a full set chooses. Depends on nothing else, so that it
// can be prefetched and that programs that share their beginning choose independently of one another.
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
  std::vector<std::uint32_t> weighted_;  // each way as often as its weight says
};

class CacheIndex {
 public:
  explicit CacheIndex(const CacheGeometry& geometry);

  [[nodiscard]] std::uint32_t set_of(std::uint64_t line) const {
    std::uint32_t set = 0;
    sets_of({&line, 1}, &set);
    return set;
  }
  // The set of each line.
  void sets_of(std::span<const std::uint64_t> lines, std::uint32_t* sets) const;
  // Whether a line belongs to the set behind that of the line before it.
  [[nodiscard]] bool goes_by_turns() const { return hash_ == IndexHash::kModulo && row_shift_ == 0; }

 private:
  [[nodiscard]] std::uint32_t folded(std::uint64_t row) const;
  [[nodiscard]] std::uint32_t mixed(std::uint64_t row) const;

  IndexHash hash_;
  unsigned row_shift_;
  std::vector<std::uint32_t> turns_;  // kTurns: the set of each line until all ways are taken
  std::uint64_t sets_;
  std::uint32_t set_bits_;  // of a power of two of sets
  bool power_of_two_sets_;
  Division division_;         // by the sets, or by the turns
  std::uint64_t mixed_mask_;  // of a line's place within the period
};

}  // namespace gputopo::sim
