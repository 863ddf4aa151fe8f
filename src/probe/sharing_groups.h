// From pairs that share something to the groups that do.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace gputopo::probe {

struct SharingGroups {
  std::vector<std::vector<std::uint32_t>> groups;  // each ascending, by their first member
  // Pairs within a group that were not seen to share: sharing is transitive, so either they or another pair is wrong.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> missing_pairs;
};

// The groups of 0 to count - 1 that the pairs (lower first) connect; those without a pair are groups of one.
[[nodiscard]] SharingGroups sharing_groups(std::uint32_t count,
                                           const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

}  // namespace gputopo::probe
