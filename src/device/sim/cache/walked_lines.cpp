#include "device/sim/cache/walked_lines.h"

namespace gputopo::sim {

std::uint32_t WalkedLines::newest(std::uint32_t set, std::uint64_t first, std::uint32_t most, std::uint64_t* lines,
                                  std::uint32_t* sectors) const {
  const std::uint64_t oldest = oldest_of(set);
  std::uint32_t count = 0;
  if (walk_.lines <= oldest) return count;
  for (std::uint64_t rounds = (walk_.lines - 1 - oldest) / sets_ + 1; rounds-- > 0 && count < most;) {
    const std::uint64_t number = oldest + rounds * sets_;
    if (number < first) break;
    if (!comes_here(number)) continue;
    lines[count] = walk_.first_line + number;
    sectors[count++] = sectors_of(number);
  }
  return count;
}

std::optional<bool> WalkedLines::is_overfull(std::uint64_t least_ways, std::uint64_t most_ways) const {
  // Every set gets at least `least` lines, and none gets more than `most`.
  std::uint64_t least = walk_.lines / sets_;
  std::uint64_t most = least;
  if (walk_.home) {
    // A set gets one of every `partitions` lines that begin with a run, but the walk may begin elsewhere.
    if (walk_.home->map.run_bytes() != sets_ << walk_.home->line_shift) return std::nullopt;
    const std::uint64_t rounds = least / walk_.home->map.partitions();
    least = rounds == 0 ? 0 : rounds - 1;
    most = rounds + 2;
  }
  if (least > most_ways) return true;
  if (most <= least_ways) return false;
  return std::nullopt;
}

}  // namespace gputopo::sim
