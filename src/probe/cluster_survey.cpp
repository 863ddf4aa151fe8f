// Which cluster sizes launch, and which SMs are seen in one cluster. A cluster never spans two GPCs (CUDA C++
// Programming Guide, "Thread Block Clusters"), so SMs that were in one cluster share a GPC, and SMs that share one with
// a third do. SMs that were never seen together may share a GPC all the same: the groups are at least as many as the
// GPCs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "probe/cluster.h"
#include "probe/sharing_groups.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

// More: more chances that a block lands elsewhere; each is a launch of a fraction of a millisecond.
constexpr std::uint32_t kPlacements = 3;
constexpr std::uint64_t kSmallestBytes = 1024;

ClusterProgram placement(std::uint32_t size) {
  return {.cluster_size = size, .every_sm = true, .hop = 1, .bytes = kSmallestBytes, .accesses = kClusterUnroll};
}

}  // namespace

std::vector<std::uint32_t> ClusterSurvey::measured_sizes() const {
  std::vector<std::uint32_t> measured;
  for (const std::uint32_t size : sizes) {
    const bool power_of_two = (size & (size - 1)) == 0;
    if (power_of_two || size == largest()) measured.push_back(size);
  }
  return measured;
}

ClusterSurvey survey_clusters(Lab& lab) {
  ClusterSurvey survey;
  for (std::uint32_t size = 2; size <= kMostClusterSize; ++size) {
    std::vector<ClusterResult> results;
    try {
      results = lab.cluster(std::vector<ClusterProgram>(kPlacements, placement(size)));
    } catch (const NotSupportedError& error) {
      if (size == 2) throw;
      lab.log(fmt::format("clusters of {}: {}", size, error.what()));
      continue;
    }
    survey.sizes.push_back(size);
    survey.clusters_at_once.push_back(results.front().clusters_at_once);
    survey.largest_by_vendor = std::max(survey.largest_by_vendor, results.front().largest_cluster);
    for (const ClusterResult& result : results) {
      for (auto first = result.sms.begin(); first != result.sms.end(); first += size) {
        survey.clusters.emplace_back(first, first + size);
      }
    }
  }
  survey.conditions = lab.conditions();
  return survey;
}

Attribute max_cluster_size(const ClusterSurvey& survey) {
  Attribute attribute =
      measured(survey.conditions, static_cast<std::int64_t>(survey.largest()), "", std::nullopt, "largest_launch");
  attribute.add_detail("sizes_that_launch", std::vector<double>(survey.sizes.begin(), survey.sizes.end()));
  if (survey.largest_by_vendor > 0) {
    attribute.add_detail("api_largest", static_cast<std::int64_t>(survey.largest_by_vendor));
  }
  const auto& at_once = survey.clusters_at_once;
  if (std::find(at_once.begin(), at_once.end(), 0u) == at_once.end()) {
    attribute.add_detail("api_clusters_at_once", std::vector<double>(at_once.begin(), at_once.end()));
  }
  return attribute;
}

Attribute gpc_sms(const Lab& lab, const ClusterSurvey& survey) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::set<std::uint32_t> seen;
  std::uint32_t count = lab.info().sm_count;
  for (const std::vector<std::uint32_t>& sms : survey.clusters) {
    for (const std::uint32_t sm : sms) {
      seen.insert(sm);
      count = std::max(count, sm + 1);
      if (sm != sms.front()) pairs.emplace(std::min(sm, sms.front()), std::max(sm, sms.front()));
    }
  }
  const SharingGroups found = sharing_groups(count, {pairs.begin(), pairs.end()});
  UnitGroups gpcs;
  std::map<std::size_t, std::int64_t> by_size;
  SampleTable table = make_table("sms", Plot::kPoints, {sm_axis(), values("gpc", "gpc")});
  for (const std::vector<std::uint32_t>& group : found.groups) {
    if (!seen.contains(group.front())) continue;
    for (const std::uint32_t sm : group) {
      table.data[0].push_back(sm);
      table.data[1].push_back(static_cast<double>(gpcs.groups.size()));
    }
    gpcs.groups.push_back(group);
    ++by_size[group.size()];
  }
  const auto groups = static_cast<std::int64_t>(gpcs.groups.size());
  Attribute attribute = measured(survey.conditions, std::move(gpcs), "", std::nullopt, "sms_seen_in_one_cluster");
  attribute.add_detail("groups", groups);
  for (const auto& [size, instances] : by_size) {
    attribute.add_detail(fmt::format("groups_of_{}_sms", size), instances);
  }
  attribute.add_detail("clusters_seen", static_cast<std::int64_t>(survey.clusters.size()));
  const auto unseen = static_cast<std::int64_t>(lab.info().sm_count) - static_cast<std::int64_t>(seen.size());
  if (unseen > 0) attribute.add_detail("sms_in_no_cluster", unseen);
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
