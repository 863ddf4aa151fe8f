// Derives the groups of SMs that share a cache from pairs of SMs that evict each other's lines: pairs connect SMs into
// groups. What fools it: one false pair, which joins two groups; pairs in the group that do not share reveal that.
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
// The lower number first.
using UnitPair = std::pair<std::uint32_t, std::uint32_t>;

// The groups into which the pairs connect 0 to count - 1, ordered by first member. Each group is ascending. Numbers
// without a pair form groups of one.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> connected_groups(std::uint32_t count,
                                                                       const std::vector<UnitPair>& pairs);

// SMs [begin, end) of one die. Whatever SMs of different dies share lies behind all caches of a single SM, so probes
// look for sharing within a die only.
struct Die {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};
[[nodiscard]] std::vector<Die> dies_of(const DeviceInfo& info);

struct SharingGroups {
  std::vector<std::vector<std::uint32_t>> groups;  // as in connected_groups()
  // Pairs within a group that do not seem to share. Sharing is transitive, so either these or other pairs are wrong.
  std::vector<UnitPair> missing_pairs;
};
[[nodiscard]] SharingGroups sharing_groups(std::uint32_t count, const std::vector<UnitPair>& pairs);

// ---- Which SMs share the cache of one SM ----

// How much of one SM's cache another SM evicts, relative to what the first SM itself evicts.
struct EvictedPart {
  std::uint32_t sm = 0;
  double part = 0;
};
// An SM that evicts at least this part shares the cache.
inline constexpr double kEvicts = 0.5;
// Distance from kEvicts at which a result is clear. Larger values repeat more measurements.
inline constexpr double kClearlyEvicts = 0.25;

[[nodiscard]] bool clearly_not(const EvictedPart& other);

// Whether one measurement is enough: either every SM clearly evicts or every SM clearly does not.
[[nodiscard]] bool all_on_one_side(std::span<const EvictedPart> others);
// Whether two measurements are enough: both give the same clear result for each SM.
[[nodiscard]] bool agree_clearly(std::span<const EvictedPart> others, std::span<const EvictedPart> again);
// Returns what `look(n)` decides from n measurements: from one if that is clear or a second agrees, else from `most`.
template <typename Look>
[[nodiscard]] Decision<std::vector<EvictedPart>> look_until_clear(const Look& look, std::size_t most) {
  Decision<std::vector<EvictedPart>> decision = look(std::size_t{1});
  if (!decision.value) return look(most);
  if (all_on_one_side(*decision.value)) return decision;
  const Decision<std::vector<EvictedPart>> again = look(std::size_t{1});
  return again.value && agree_clearly(*decision.value, *again.value) ? decision : look(most);
}

struct SharingSms {
  std::vector<std::uint32_t> sms;  // ascending, including `sm`
  bool all_tried = false;          // every tried SM is one of them
};
[[nodiscard]] SharingSms sms_that_share(std::uint32_t sm, std::span<const EvictedPart> others);

}  // namespace gputopo::probe
