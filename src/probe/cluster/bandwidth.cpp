#include "probe/cluster/bandwidth.h"

#include <array>
#include <cmath>

#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/cluster/bandwidth_decision.h"
#include "probe/cluster/copies.h"
#include "probe/cluster/survey.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

struct ClusterBandwidthParameters {
  std::uint64_t bytes = 32 << 10;  // of each block: two loads of all warps
  std::array<std::uint32_t, 3> warps = {8, 16, 32};
  // Loads of a thread in a launch with the most warps: some hundred microseconds, so that the start hardly counts.
  std::uint32_t loads = 512;
  std::uint32_t warm_loads = 64;
};
constexpr ClusterBandwidthParameters kClusterBandwidthParameters;

struct Trial {
  ClusterProgram program;
  std::vector<double> bytes_per_second;
};

Trial read(std::uint32_t size, std::uint32_t hop, std::uint32_t warps) {
  return {{.op = ClusterOp::kRead,
           .cluster_size = size,
           .every_sm = true,
           .hop = hop,
           .bytes = kClusterBandwidthParameters.bytes,
           .warps = warps,
           .warm_accesses = kClusterBandwidthParameters.warm_loads,
           .accesses = kClusterBandwidthParameters.loads * kMaxAccessWarps / warps},
          {}};
}

std::vector<Trial> run_reads(ProbeRunner& runner, const std::vector<std::uint32_t>& sizes) {
  std::vector<Trial> trials;
  for (const std::uint32_t size : sizes) {
    for (const std::uint32_t warps : kClusterBandwidthParameters.warps) {
      trials.push_back(read(size, 1, warps));
      if (half_way_round(size) != 1) trials.push_back(read(size, half_way_round(size), warps));
    }
  }
  std::vector<ClusterProgram> programs;
  for (const Trial& trial : trials) programs.push_back(trial.program);
  for (std::uint32_t copy = 0; copy < kCluster.copies_of_shape; ++copy) {
    const std::vector<ClusterResult> results = runner.cluster(programs);
    for (std::size_t i = 0; i < results.size(); ++i)
      trials[i].bytes_per_second.push_back(results[i].bytes_per_second());
  }
  return trials;
}

std::vector<ClusterReads> medians_of(const std::vector<Trial>& trials) {
  std::vector<ClusterReads> reads;
  for (const Trial& trial : trials) {
    reads.push_back({.cluster_size = trial.program.cluster_size,
                     .rank_distance = trial.program.hop,
                     .warps = trial.program.warps,
                     .bytes_per_second = stats::median(trial.bytes_per_second)});
  }
  return reads;
}

std::vector<double> whole(std::vector<double> rates) {
  for (double& rate : rates) rate = std::round(rate);
  return rates;
}

SampleTable table_of(const std::vector<Trial>& trials) {
  SampleTable table =
      make_table("reads", Plot::kLine,
                 {axis("cluster_size", "cluster size"), series("rank_distance", "rank distance"),
                  series("warps_per_sm", "warps per sm"), values("read_bytes_per_second", "read", "B/s")});
  for (const Trial& trial : trials) {
    for (const double bytes_per_second : trial.bytes_per_second) {
      table.data[0].push_back(trial.program.cluster_size);
      table.data[1].push_back(trial.program.hop);
      table.data[2].push_back(trial.program.warps);
      table.data[3].push_back(bytes_per_second);
    }
  }
  return table;
}

}  // namespace

Attribute measure_cluster_bandwidth(ProbeRunner& runner, const ClusterSurvey& survey) {
  const std::vector<std::uint32_t> sizes = survey.measured_sizes();
  const std::vector<Trial> trials = run_reads(runner, sizes);
  const ClusterRates found =
      value_or_throw(runner, "cluster bandwidth", decide_cluster_rates(medians_of(trials), sizes));
  const ClusterProgram& best = trials[found.best].program;
  // Runs the best shape again, because chance helped to choose it.
  ProbeRunner of_best = runner.another();
  std::vector<double> rates;
  for (std::uint32_t repeat = 0; repeat < kCluster.repeats; ++repeat) {
    rates.push_back(of_best.cluster({best}).front().bytes_per_second());
  }
  const double value = stats::median(rates);
  Attribute attribute =
      measured(of_best.conditions(), std::round(value), "B/s", interval_around(rates, value), "best_ring_of_reads");
  attribute.add_detail("cluster_size", static_cast<std::int64_t>(best.cluster_size));
  attribute.add_detail("warps_per_sm", static_cast<std::int64_t>(best.warps));
  attribute.add_detail("cluster_sizes", std::vector<double>(sizes.begin(), sizes.end()));
  attribute.add_detail("ring_bytes_per_second", whole(found.ring));
  attribute.add_detail("opposite_rank_bytes_per_second", whole(found.half_way));
  if (runner.keep_samples()) attribute.samples.push_back(table_of(trials));
  return attribute;
}

}  // namespace gputopo::probe
