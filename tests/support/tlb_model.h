// A TLB model that counts only misses, as input to TLB decisions in unit tests.
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
  // `ways`: the ways of each set. Page n belongs to set n modulo the number of sets. A set that loses ways to other
  // data has fewer.
  explicit TlbModel(std::vector<std::uint32_t> ways, Replaced replaced = Replaced::kOldest)
      : ways_(std::move(ways)), replaced_(replaced) {}

  [[nodiscard]] static TlbModel even(std::uint32_t sets, std::uint32_t ways, Replaced replaced = Replaced::kOldest) {
    return TlbModel(std::vector<std::uint32_t>(sets, ways), replaced);
  }

  [[nodiscard]] std::uint64_t entries() const { return std::accumulate(ways_.begin(), ways_.end(), std::uint64_t{0}); }

  // The mean number of misses in one pass when these pages are loaded in this order again and again.
  [[nodiscard]] double missed(const std::vector<std::uint64_t>& pages) const {
    constexpr int kWarmPasses = 4;
    constexpr int kPasses = 8;
    std::vector<std::vector<std::uint64_t>> sets(ways_.size());  // oldest page first
    std::mt19937_64 random(1);
    std::uint64_t missed = 0;
    for (int pass = 0; pass < kWarmPasses + kPasses; ++pass) {
      for (const std::uint64_t page : pages) missed += load(sets, page, random) || pass < kWarmPasses ? 0 : 1;
    }
    return static_cast<double>(missed) / kPasses;
  }
  // The same for this number of contiguous pages.
  [[nodiscard]] double missed(std::uint64_t pages) const {
    std::vector<std::uint64_t> all(pages);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    return missed(all);
  }

 private:
  // Returns whether the load hits.
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
