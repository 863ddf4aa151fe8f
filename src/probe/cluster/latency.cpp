#include "probe/cluster/latency.h"

#include "probe/bench/access_trial.h"
#include "probe/bench/value_or_throw.h"
#include "probe/cluster/copies.h"
#include "probe/cluster/latency_decision.h"
#include "probe/cluster/survey.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kChaseBytes = 4096;
// Loads before the timed ones, and timed loads. Larger values reduce the weight of the chain ends.
constexpr std::uint32_t kChaseLoads = 128;

ClusterProgram chase(std::uint32_t size, std::uint32_t hop) {
  return {.cluster_size = size,
          .every_sm = true,
          .hop = hop,
          .bytes = kChaseBytes,
          .warm_accesses = kChaseLoads,
          .accesses = kChaseLoads};
}

// A block's own shared memory, then every rank distance in clusters of every size.
std::vector<ClusterProgram> programs_for(const std::vector<std::uint32_t>& sizes) {
  std::vector<ClusterProgram> programs = {chase(sizes.front(), 0)};
  for (const std::uint32_t size : sizes) {
    for (std::uint32_t hop = 1; hop < size; ++hop) programs.push_back(chase(size, hop));
  }
  return programs;
}

std::vector<ClusterChase> run_chases(ProbeRunner& runner, const std::vector<ClusterProgram>& programs) {
  std::vector<ClusterChase> chases;
  for (std::uint32_t copy = 0; copy < kCluster.copies; ++copy) {
    const std::vector<ClusterResult> results = runner.cluster(programs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto [size, hop] = std::pair(programs[i].cluster_size, programs[i].hop);
      for (std::size_t cluster = 0; cluster < results[i].cycles.size(); ++cluster) {
        const std::uint32_t* sms = results[i].sms.data() + cluster * size;
        chases.push_back({.cluster_size = size,
                          .rank_distance = hop,
                          .reader_sm = sms[0],
                          .target_sm = sms[hop],
                          .copy = copy,
                          .cycles = results[i].cycles[cluster]});
      }
    }
  }
  return chases;
}

std::vector<SampleTable> tables_of(const ClusterLatency& latency) {
  SampleTable ranks = make_table("ranks", Plot::kLine,
                                 {axis("rank_distance", "rank distance"), series("cluster_size", "cluster size"),
                                  values("latency_cycles", "latency", "cycles")});
  ranks.marks = {"nearest_sm_cycles", "farthest_sm_cycles", "own_sm_cycles"};
  for (const auto& [rank, cycles] : latency.by_rank_cycles) {
    ranks.data[0].push_back(rank.second);
    ranks.data[1].push_back(rank.first);
    ranks.data[2].push_back(rounded(cycles));
  }
  SampleTable pairs = make_table(
      "sm_pairs", Plot::kMap,  // largest clusters only
      {axis("target_sm", "target sm"), axis("reader_sm", "reader sm"), values("latency_cycles", "latency", "cycles")});
  for (const auto& [pair, cycles] : latency.by_pair_cycles) {
    pairs.data[0].push_back(pair.second);
    pairs.data[1].push_back(pair.first);
    pairs.data[2].push_back(rounded(cycles));
  }
  return {std::move(ranks), std::move(pairs)};
}

}  // namespace

Attribute measure_cluster_latency(ProbeRunner& runner, const ClusterSurvey& survey) {
  const std::vector<std::uint32_t> sizes = survey.measured_sizes();
  const std::vector<ClusterChase> chases = run_chases(runner, programs_for(sizes));
  const ClusterLatency latency =
      value_or_throw(runner, "cluster latency", decide_cluster_latency(chases, survey.largest()));
  Attribute attribute =
      measured(runner.conditions(), rounded(latency.cycles), "cycles", latency.interval, "chase_through_clusters");
  const double clock_mhz = runner.conditions().sm_clock_mhz();
  if (clock_mhz > 0) attribute.add_detail("mean_ns", rounded(1e3 * latency.cycles / clock_mhz));
  attribute.add_detail("nearest_sm_cycles", rounded(latency.nearest_cycles));
  attribute.add_detail("farthest_sm_cycles", rounded(latency.farthest_cycles));
  attribute.add_detail("own_sm_cycles", rounded(latency.own_cycles));
  std::vector<double> means;
  for (const std::uint32_t size : sizes) means.push_back(rounded(latency.by_size_cycles.at(size)));
  attribute.add_detail("cluster_sizes", std::vector<double>(sizes.begin(), sizes.end()));
  attribute.add_detail("latency_by_cluster_size_cycles", means);
  if (runner.keep_samples()) attribute.samples = tables_of(latency);
  return attribute;
}

}  // namespace gputopo::probe
