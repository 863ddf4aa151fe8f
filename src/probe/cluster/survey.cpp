#include "probe/cluster/survey.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>

#include "probe/cluster/gpcs_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

struct ClusterSurveyParameters {
  // Launches per size, each a fraction of a millisecond. With larger values blocks land on more different SMs.
  std::uint32_t placements = 3;
  // Shared memory of each block: so little that only the GPCs limit where clusters run.
  std::uint64_t shared_bytes = 1024;
};
constexpr ClusterSurveyParameters kClusterSurveyParameters;

ClusterProgram placement(std::uint32_t size) {
  return {.cluster_size = size,
          .every_sm = true,
          .hop = 1,
          .bytes = kClusterSurveyParameters.shared_bytes,
          .accesses = kClusterUnroll};
}

}  // namespace

std::vector<std::uint32_t> ClusterSurvey::measured_sizes() const {
  std::vector<std::uint32_t> measured;
  for (const std::uint32_t size : sizes) {
    if (std::has_single_bit(size) || size == largest()) measured.push_back(size);
  }
  return measured;
}

ClusterSurvey survey_clusters(ProbeRunner& runner) {
  ClusterSurvey survey;
  for (std::uint32_t size = 2; size <= kMaxClusterBlocks; ++size) {
    std::vector<ClusterResult> results;
    try {
      results = runner.cluster(std::vector<ClusterProgram>(kClusterSurveyParameters.placements, placement(size)));
    } catch (const NotSupportedError& error) {
      if (size == 2) throw;
      runner.log(fmt::format("clusters of {}: {}", size, error.what()));
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
  survey.conditions = runner.conditions();
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
  if (std::ranges::find(at_once, 0u) == at_once.end()) {
    attribute.add_detail("api_max_active_clusters", std::vector<double>(at_once.begin(), at_once.end()));
  }
  return attribute;
}

namespace {

void add_group_details(const std::vector<std::vector<std::uint32_t>>& groups, Attribute& attribute) {
  attribute.add_detail("groups", static_cast<std::int64_t>(groups.size()));
  std::map<std::size_t, std::int64_t> by_size;
  for (const auto& group : groups) ++by_size[group.size()];
  for (const auto& [size, some] : by_size) attribute.add_detail(fmt::format("groups_of_{}_sms", size), some);
}

SampleTable table_of_sms(const std::vector<std::vector<std::uint32_t>>& groups, const char* what) {
  SampleTable table = make_table("sms", Plot::kPoints, {sm_axis(), values(what, what)});
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::uint32_t sm : groups[group]) {
      table.data[0].push_back(sm);
      table.data[1].push_back(static_cast<double>(group));
    }
  }
  return table;
}

}  // namespace

Attribute cluster_sms(const ProbeRunner& runner, const ClusterSurvey& survey) {
  const MetInClusters met = sms_that_met(survey.clusters);
  Attribute attribute =
      measured(survey.conditions, UnitGroups{met.groups}, "", std::nullopt, "sms_seen_in_one_cluster");
  add_group_details(met.groups, attribute);
  attribute.add_detail("clusters_seen", static_cast<std::int64_t>(survey.clusters.size()));
  const auto unseen = static_cast<std::int64_t>(runner.info().sm_count) - static_cast<std::int64_t>(met.sms_seen);
  if (unseen > 0) attribute.add_detail("sms_in_no_cluster", unseen);
  if (runner.keep_samples()) attribute.samples.push_back(table_of_sms(met.groups, "group"));
  return attribute;
}

Attribute gpc_sms(const ProbeRunner& runner, const ClusterSurvey& survey, const ClockFinding& clocks) {
  const auto& clock_groups = std::get<UnitGroups>(clocks.groups.value).groups;
  const Decision<std::vector<std::vector<std::uint32_t>>> gpcs =
      decide_gpcs(sms_that_met(survey.clusters).groups, clock_groups);
  if (!gpcs.value) throw Inconclusive(gpcs.why_not);
  Attribute attribute =
      measured(survey.conditions, UnitGroups{*gpcs.value}, "", std::nullopt, "clocks_agree_and_clusters_lie_within");
  add_group_details(*gpcs.value, attribute);
  if (runner.keep_samples()) attribute.samples.push_back(table_of_sms(*gpcs.value, "gpc"));
  return attribute;
}

}  // namespace gputopo::probe
