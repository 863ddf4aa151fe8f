// Latency of distributed shared memory: one thread of each cluster chases through the shared memory of another block,
// for every distance of ranks. All clusters do so at once, one load each under way, so every launch tells as many pairs
// of SMs as there are clusters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "probe/access_trial.h"
#include "probe/cluster.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kChaseBytes = 4096;
constexpr std::uint32_t kChaseLoads = 128;
// No load leaves an SM and comes back sooner; one of an SM's own shared memory takes more, too.
constexpr double kLeastLoadCycles = 8;

using Pair = std::pair<std::uint32_t, std::uint32_t>;  // SM that reads, SM that is read

struct Distance {
  std::uint32_t cluster_size = 0;
  std::uint32_t hop = 0;
  std::vector<double> cycles;  // of each cluster in each copy
};

ClusterProgram chase(std::uint32_t size, std::uint32_t hop) {
  return {.cluster_size = size,
          .every_sm = true,
          .hop = hop,
          .bytes = kChaseBytes,
          .warm_accesses = kChaseLoads,
          .accesses = kChaseLoads};
}

}  // namespace

Attribute measure_cluster_latency(Lab& lab, const ClusterSurvey& survey) {
  const std::vector<std::uint32_t> sizes = survey.measured_sizes();
  std::vector<Distance> distances = {{sizes.front(), 0, {}}};  // a block's own shared memory
  for (const std::uint32_t size : sizes) {
    for (std::uint32_t hop = 1; hop < size; ++hop) distances.push_back({size, hop, {}});
  }
  std::vector<ClusterProgram> programs;
  for (const Distance& distance : distances) programs.push_back(chase(distance.cluster_size, distance.hop));
  std::map<std::pair<std::uint32_t, Pair>, std::vector<double>> by_pair;  // and size of the cluster
  std::vector<double> largest_by_copy;
  for (std::uint32_t copy = 0; copy < kClusterCopies; ++copy) {
    const std::vector<ClusterResult> results = lab.cluster(programs);
    std::vector<double> of_largest;
    for (std::size_t i = 0; i < results.size(); ++i) {
      Distance& distance = distances[i];
      const std::uint32_t size = distance.cluster_size;
      for (std::size_t cluster = 0; cluster < results[i].cycles.size(); ++cluster) {
        const double cycles = results[i].cycles[cluster];
        distance.cycles.push_back(cycles);
        if (distance.hop == 0) continue;
        const std::uint32_t* sms = results[i].sms.data() + cluster * size;
        by_pair[{size, {sms[0], sms[distance.hop]}}].push_back(cycles);
        if (size == survey.largest()) of_largest.push_back(cycles);
      }
    }
    largest_by_copy.push_back(stats::mean(of_largest));
  }
  std::map<std::uint32_t, std::vector<double>> by_size;
  SampleTable pairs = make_table(
      "sm_pairs", Plot::kMap,  // of the largest
      {axis("target_sm", "target sm"), axis("reader_sm", "reader sm"), values("latency_cycles", "latency", "cycles")});
  std::vector<double> all;
  for (const auto& [key, cycles] : by_pair) {
    const auto& [size, pair] = key;
    const double median = stats::median(cycles);
    by_size[size].push_back(median);
    all.push_back(median);
    if (size != survey.largest()) continue;
    pairs.data[0].push_back(pair.second);
    pairs.data[1].push_back(pair.first);
    pairs.data[2].push_back(rounded(median));
  }
  SampleTable ranks = make_table("ranks", Plot::kLine,
                                 {axis("rank_distance", "rank distance"), series("cluster_size", "cluster size"),
                                  values("latency_cycles", "latency", "cycles")});
  ranks.marks = {"nearest_sm_cycles", "farthest_sm_cycles", "own_sm_cycles"};
  for (const Distance& distance : distances) {
    if (distance.hop == 0) continue;
    ranks.data[0].push_back(distance.hop);
    ranks.data[1].push_back(distance.cluster_size);
    ranks.data[2].push_back(rounded(stats::median(distance.cycles)));
  }
  const double nearest = *std::min_element(all.begin(), all.end());
  if (nearest < kLeastLoadCycles) {
    throw Inconclusive(fmt::format(
        "a load from another SM took {:.1f} cycles, which none can: the program did not run as written", nearest));
  }
  const double value = stats::mean(by_size.at(survey.largest()));
  Attribute attribute = measured(lab.conditions(), rounded(value), "cycles", timing_interval(largest_by_copy, value),
                                 "chase_through_clusters");
  const double clock_mhz = lab.conditions().sm_clock_mhz();
  if (clock_mhz > 0) attribute.add_detail("mean_ns", rounded(1e3 * value / clock_mhz));
  attribute.add_detail("nearest_sm_cycles", rounded(nearest));
  attribute.add_detail("farthest_sm_cycles", rounded(*std::max_element(all.begin(), all.end())));
  attribute.add_detail("own_sm_cycles", rounded(stats::median(distances.front().cycles)));
  std::vector<double> means;
  for (const std::uint32_t size : sizes) means.push_back(rounded(stats::mean(by_size.at(size))));
  attribute.add_detail("cluster_sizes", std::vector<double>(sizes.begin(), sizes.end()));
  attribute.add_detail("latency_by_cluster_size_cycles", means);
  if (lab.keep_samples()) attribute.samples = {std::move(ranks), std::move(pairs)};
  return attribute;
}

}  // namespace gputopo::probe
