// The lines of a walk through new memory that come to each set, if consecutive lines belong to consecutive sets. What a
// walk leaves in a set is computed when the set is used, and costs nothing if it never is.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/cache/homes.h"

namespace gputopo::sim {

// A walk, line by line, through memory of which the cache holds nothing.
struct LineWalk {
  // Only lines with their home in this partition come to the cache.
  struct Home {
    HomeMap map;
    std::uint32_t partition = 0;
    std::uint32_t line_shift = 0;
  };

  std::uint64_t first_line = 0;
  std::uint64_t lines = 0;
  std::uint64_t done = 0;          // leading lines that were walked before
  std::uint32_t sectors = 1;       // loaded from each line
  std::uint32_t last_sectors = 1;  // loaded from the last line
  std::optional<Home> home;
};

class WalkedLines {
 public:
  WalkedLines() = default;
  WalkedLines(const LineWalk& walk, std::uint64_t sets) : walk_(walk), sets_(sets) {}

  [[nodiscard]] bool is_empty() const { return walk_.lines == 0; }
  [[nodiscard]] const LineWalk& walk() const { return walk_; }
  // Finds the newest lines of the set, `most` at most, that are the `first`-th of the walk or later. Writes them newest
  // first, and returns their number.
  std::uint32_t newest(std::uint32_t set, std::uint64_t first, std::uint32_t most, std::uint64_t* lines,
                       std::uint32_t* sectors) const;
  // Visits all of them in the order of the walk: visit(line, sectors).
  template <typename Visit>
  void for_each_of(std::uint32_t set, std::uint64_t first, const Visit& visit) const {
    const std::uint64_t oldest = oldest_of(set);
    const std::uint64_t rounds = first <= oldest ? 0 : (first - oldest + sets_ - 1) / sets_;
    for (std::uint64_t number = oldest + rounds * sets_; number < walk_.lines; number += sets_) {
      if (comes_here(number)) visit(walk_.first_line + number, sectors_of(number));
    }
  }
  // An upper bound of the lines of a set.
  [[nodiscard]] std::uint64_t most_of_set() const { return walk_.lines / sets_ + 1; }
  // Whether every set gets more lines than its ways, which lie in this range. Nothing if only counting could tell.
  [[nodiscard]] std::optional<bool> is_overfull(std::uint64_t least_ways, std::uint64_t most_ways) const;

 private:
  // The number in the walk of the set's first line, even if the walk ends before it.
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
