// From SMs that evict each other's lines to those that share a cache: groups are what pairs connect. What fools it: one
// pair that was taken for another, which joins two groups; a group in which a pair does not share tells of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo {
struct DeviceInfo;
}

namespace gputopo::probe {
// Two numbers, the lower first.
using UnitPair = std::pair<std::uint32_t, std::uint32_t>;

// The groups of 0 to count - 1 that the pairs connect, each ascending, by their first member; those without a pair are
// groups of one.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> connected_groups(std::uint32_t count,
                                                                       const std::vector<UnitPair>& pairs);

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
  std::vector<UnitPair> missing_pairs;
};
[[nodiscard]] SharingGroups sharing_groups(std::uint32_t count, const std::vector<UnitPair>& pairs);

// ---- Who shares what one SM has ----

// Of what a cache of one SM held, how much another SM drove out, as a part of what that SM itself drives out.
struct EvictedPart {
  std::uint32_t sm = 0;
  double part = 0;
};
// From half on, the other shares the cache.
inline constexpr double kEvicts = 0.5;
// By so much more or less it clearly does or does not. Larger: more is measured again.
inline constexpr double kClearlyEvicts = 0.25;

[[nodiscard]] bool clearly_not(const EvictedPart& other);

// Whether a single measurement tells enough: all of them clearly do, or all clearly do not.
[[nodiscard]] bool all_on_one_side(std::span<const EvictedPart> others);
// And whether two do: they say the same of each, clearly.
[[nodiscard]] bool agree_clearly(std::span<const EvictedPart> others, std::span<const EvictedPart> again);
// What `look(n)` tells, of n measurements: of one where that is enough, or two, else of `most`.
template <typename Look>
[[nodiscard]] Decision<std::vector<EvictedPart>> look_until_clear(const Look& look, std::size_t most) {
  Decision<std::vector<EvictedPart>> decision = look(std::size_t{1});
  if (!decision.value) return look(most);
  if (all_on_one_side(*decision.value)) return decision;
  const Decision<std::vector<EvictedPart>> again = look(std::size_t{1});
  return again.value && agree_clearly(*decision.value, *again.value) ? decision : look(most);
}

struct SharingSms {
  std::vector<std::uint32_t> sms;  // ascending, `sm` among them
  bool all_tried = false;          // every SM that was tried is one of them
};
[[nodiscard]] SharingSms sms_that_share(std::uint32_t sm, std::span<const EvictedPart> others);

}  // namespace gputopo::probe
