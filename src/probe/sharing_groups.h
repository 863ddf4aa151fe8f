// From SMs that evict each other's lines to those that share a cache.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gputopo/model.h"
#include "probe/lab.h"

namespace gputopo::probe {

// The groups of 0 to count - 1 that the pairs connect, each ascending, by their first member; those without a pair are
// groups of one.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> connected_groups(
    std::uint32_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

// SMs of one die, from `begin` to before `end`. What SMs of different dies share lies behind all that is an SM's own,
// so who shares a cache is asked within a die.
struct Die {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
[[nodiscard]] std::vector<Die> dies_of(const DeviceInfo& info);

struct SharingGroups {
  std::vector<std::vector<std::uint32_t>> groups;  // as connected_groups()
  // Pairs within a group that were not seen to share: sharing is transitive, so either they or another pair is wrong.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> missing_pairs;
};

// Of pairs with the lower first.
[[nodiscard]] SharingGroups sharing_groups(std::uint32_t count,
                                           const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

// Of what a cache of one SM held, how much another SM drove out, as a part of what that SM itself drives out.
struct EvictedPart {
  std::uint32_t sm = 0;
  double part = 0;
};
// From half on, the other shares the cache.
inline constexpr double kEvicts = 0.5;

// "SM", "GPU" or how many SMs share what `sm` has. Throws NotSupportedError where no other SM was tried.
[[nodiscard]] Attribute scope_of_sm(const Lab& lab, std::uint32_t sm, const std::vector<EvictedPart>& others);

}  // namespace gputopo::probe
