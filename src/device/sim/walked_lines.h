// Which lines of a walk through new memory a set of a cache gets, where lines belong to the sets by turns: what a walk
// leaves in a set is then told when the set is asked, and costs nothing where it never is.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/homes.h"

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
  // Whether it brings more to each set than its ways, of so many. Nothing where that takes a count.
  [[nodiscard]] std::optional<bool> is_overfull(std::uint64_t least_ways, std::uint64_t most_ways) const;

 private:
  LineWalk walk_;
  std::uint64_t sets_ = 1;
};

}  // namespace gputopo::sim
