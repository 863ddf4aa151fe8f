#include "probe/cluster/gpcs_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {

MetInClusters sms_that_met(const std::vector<std::vector<std::uint32_t>>& clusters) {
  std::set<UnitPair> pairs;
  std::set<std::uint32_t> seen;
  for (const std::vector<std::uint32_t>& sms : clusters) {
    for (const std::uint32_t sm : sms) {
      seen.insert(sm);
      if (sm != sms.front()) pairs.emplace(std::min(sm, sms.front()), std::max(sm, sms.front()));
    }
  }
  MetInClusters found{.sms_seen = seen.size()};
  if (seen.empty()) return found;
  for (auto& group : connected_groups(*seen.rbegin() + 1, {pairs.begin(), pairs.end()})) {
    if (seen.contains(group.front())) found.groups.push_back(std::move(group));
  }
  return found;
}

Decision<std::vector<std::vector<std::uint32_t>>> decide_gpcs(
    const std::vector<std::vector<std::uint32_t>>& met, const std::vector<std::vector<std::uint32_t>>& clocks_agree,
    const GpcParameters& parameters) {
  if (clocks_agree.size() < 2) {
    return {.why_not =
                "the clocks of all SMs agree, so they do not distinguish GPCs; clusters alone may split one GPC into "
                "several groups (see cluster_sms)"};
  }
  std::vector<std::size_t> large_parts(clocks_agree.size());
  for (const std::vector<std::uint32_t>& together : met) {
    const auto home = std::ranges::find_if(
        clocks_agree, [&](const std::vector<std::uint32_t>& group) { return std::ranges::includes(group, together); });
    if (home == clocks_agree.end()) {
      return {.why_not = fmt::format("SM {} and other SMs ran in one cluster, but their clocks do not agree",
                                     together.front())};
    }
    if (together.size() <= parameters.most_apart) continue;
    if (++large_parts[static_cast<std::size_t>(home - clocks_agree.begin())] > 1) {
      return {.why_not = fmt::format("two groups of SMs, one of which contains SM {}, have clocks that agree but never "
                                     "ran in the same cluster, so they may be one GPC or two",
                                     together.front())};
    }
  }
  return {.value = clocks_agree};
}

}  // namespace gputopo::probe
