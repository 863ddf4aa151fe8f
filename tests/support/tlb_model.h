// A TLB of which only the misses show: what decisions about TLBs are fed in unit tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace gputopo::truth {

enum class Replaced { kOldest, kRandom };

class TlbModel {
 public:
  // The ways of each set; page n falls into set n modulo their number. A set that something else takes ways of has
  // less.
  explicit TlbModel(std::vector<std::uint32_t> ways, Replaced replaced = Replaced::kOldest)
      : ways_(std::move(ways)), replaced_(replaced) {}

  [[nodiscard]] static TlbModel even(std::uint32_t sets, std::uint32_t ways, Replaced replaced = Replaced::kOldest) {
    return TlbModel(std::vector<std::uint32_t>(sets, ways), replaced);
  }

  [[nodiscard]] std::uint64_t entries() const { return std::accumulate(ways_.begin(), ways_.end(), std::uint64_t{0}); }

  // Of loads on these pages, in this order again and again, how many miss each time.
  [[nodiscard]] double missed(const std::vector<std::uint64_t>& pages) const {
    constexpr int kWarmPasses = 4;
    constexpr int kPasses = 8;
    std::vector<std::vector<std::uint64_t>> sets(ways_.size());  // the oldest first
    std::mt19937_64 random(1);
    std::uint64_t missed = 0;
    for (int pass = 0; pass < kWarmPasses + kPasses; ++pass) {
      for (const std::uint64_t page : pages) missed += load(sets, page, random) || pass < kWarmPasses ? 0 : 1;
    }
    return static_cast<double>(missed) / kPasses;
  }
  // On so many contiguous pages.
  [[nodiscard]] double missed(std::uint64_t pages) const {
    std::vector<std::uint64_t> all(pages);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    return missed(all);
  }

 private:
  // Whether it hits.
  bool load(std::vector<std::vector<std::uint64_t>>& sets, std::uint64_t page, std::mt19937_64& random) const {
    const std::size_t index = page % ways_.size();
    std::vector<std::uint64_t>& set = sets[index];
    const auto found = std::ranges::find(set, page);
    const bool hit = found != set.end();
    if (hit) {
      set.erase(found);
    } else if (set.size() == ways_[index]) {
      set.erase(set.begin() + (replaced_ == Replaced::kOldest ? 0 : static_cast<int>(random() % set.size())));
    }
    set.push_back(page);
    return hit;
  }

  std::vector<std::uint32_t> ways_;
  Replaced replaced_;
};

}  // namespace gputopo::truth
