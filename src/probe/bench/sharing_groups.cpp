#include "probe/bench/sharing_groups.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "gputopo/device.h"

namespace gputopo::probe {

std::vector<std::vector<std::uint32_t>> connected_groups(std::uint32_t count, const std::vector<UnitPair>& pairs) {
  std::vector<std::uint32_t> root(count);
  std::iota(root.begin(), root.end(), 0u);
  const auto find = [&](std::uint32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  for (const auto& [a, b] : pairs) {
    const std::uint32_t first = std::min(find(a), find(b));
    root[find(a)] = root[find(b)] = first;
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> members;
  for (std::uint32_t i = 0; i < count; ++i) members[find(i)].push_back(i);
  std::vector<std::vector<std::uint32_t>> groups;
  for (auto& [first, group] : members) groups.push_back(std::move(group));
  return groups;
}

std::vector<Die> dies_of(const DeviceInfo& info) {
  const std::uint32_t sms = std::max(1u, info.sm_count / std::max(1u, info.xcd_count.value_or(1)));
  std::vector<Die> dies;
  for (std::uint32_t begin = 0; begin < info.sm_count; begin += sms) {
    dies.push_back({begin, std::min(begin + sms, info.sm_count)});
  }
  return dies;
}

SharingGroups sharing_groups(std::uint32_t count, const std::vector<UnitPair>& pairs) {
  SharingGroups result{connected_groups(count, pairs), {}};
  for (const std::vector<std::uint32_t>& group : result.groups) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j) {
        const UnitPair pair(group[i], group[j]);
        if (std::ranges::find(pairs, pair) == pairs.end()) result.missing_pairs.push_back(pair);
      }
    }
  }
  return result;
}

namespace {

bool clearly_evicts(const EvictedPart& other) { return other.part >= kEvicts + kClearlyEvicts; }

}  // namespace

bool clearly_not(const EvictedPart& other) { return other.part <= kEvicts - kClearlyEvicts; }

bool all_on_one_side(std::span<const EvictedPart> others) {
  return std::ranges::all_of(others, clearly_not) || std::ranges::all_of(others, clearly_evicts);
}

bool agree_clearly(std::span<const EvictedPart> others, std::span<const EvictedPart> again) {
  return std::ranges::equal(others, again, [](const EvictedPart& one, const EvictedPart& other) {
    return (clearly_evicts(one) && clearly_evicts(other)) || (clearly_not(one) && clearly_not(other));
  });
}

SharingSms sms_that_share(std::uint32_t sm, std::span<const EvictedPart> others) {
  SharingSms found{{sm}, false};
  for (const EvictedPart& other : others) {
    if (other.part >= kEvicts) found.sms.push_back(other.sm);
  }
  found.all_tried = found.sms.size() == others.size() + 1;
  std::ranges::sort(found.sms);
  return found;
}

}  // namespace gputopo::probe
