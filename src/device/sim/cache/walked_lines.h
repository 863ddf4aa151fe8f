// Which lines of a walk through new memory a set of a cache gets, where lines belong to the sets by turns: what a walk
// leaves in a set is then told when the set is asked, and costs nothing where it never is.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/cache/homes.h"

namespace gputopo::sim {

// A walk through memory of which a cache holds nothing: line after line.
struct LineWalk {
  // Only lines that are at home in this partition come to the cache.
  struct Home {
    HomeMap map;
    std::uint32_t partition = 0;
    std::uint32_t line_shift = 0;
  };

  std::uint64_t first_line = 0;
  std::uint64_t lines = 0;
  std::uint64_t done = 0;          // the first of them that have been walked before
  std::uint32_t sectors = 1;       // that are loaded of each
  std::uint32_t last_sectors = 1;  // of the last
  std::optional<Home> home;
};

class WalkedLines {
 public:
  WalkedLines() = default;
  // In a cache of so many sets.
  WalkedLines(const LineWalk& walk, std::uint64_t sets) : walk_(walk), sets_(sets) {}

  [[nodiscard]] bool is_empty() const { return walk_.lines == 0; }
  [[nodiscard]] const LineWalk& walk() const { return walk_; }
  // Of the set's lines from the `first`-th of the walk on the newest, but `most` at most: how many they are; and they,
  // the newest first.
  std::uint32_t newest(std::uint32_t set, std::uint64_t first, std::uint32_t most, std::uint64_t* lines,
                       std::uint32_t* sectors) const;
  // All of them, in the order of the walk: visit(line, sectors).
  template <typename Visit>
  void for_each_of(std::uint32_t set, std::uint64_t first, const Visit& visit) const {
    const std::uint64_t oldest = oldest_of(set);
    const std::uint64_t rounds = first <= oldest ? 0 : (first - oldest + sets_ - 1) / sets_;
    for (std::uint64_t number = oldest + rounds * sets_; number < walk_.lines; number += sets_) {
      if (comes_here(number)) visit(walk_.first_line + number, sectors_of(number));
    }
  }
  // More than a set can get.
  [[nodiscard]] std::uint64_t most_of_set() const { return walk_.lines / sets_ + 1; }
  // Whether it brings more to each set than its ways, of so many. Nothing where that takes a count.
  [[nodiscard]] std::optional<bool> is_overfull(std::uint64_t least_ways, std::uint64_t most_ways) const;

 private:
  // Of the lines that belong to the set the number of the first in the walk, if it goes that far.
  [[nodiscard]] std::uint64_t oldest_of(std::uint32_t set) const {
    return (set + sets_ - walk_.first_line % sets_) % sets_;
  }
  [[nodiscard]] bool comes_here(std::uint64_t number) const {
    if (!walk_.home) return true;
    return walk_.home->map.home_of((walk_.first_line + number) << walk_.home->line_shift) == walk_.home->partition;
  }
  [[nodiscard]] std::uint32_t sectors_of(std::uint64_t number) const {
    return number + 1 == walk_.lines ? walk_.last_sectors : walk_.sectors;
  }

  LineWalk walk_;
  std::uint64_t sets_ = 1;
};

}  // namespace gputopo::sim
