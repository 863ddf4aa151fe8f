// Bandwidth of distributed shared memory: all warps of all blocks read the shared memory of another block of their
// cluster, each block that of another, so that every SM reads and is read. The ring (the next rank) is what Luo et al.
// measured (arXiv 2402.13499); half way round the cluster no block reads from its own TPC.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/access_trial.h"
#include "probe/cluster.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kReadBytes = 32 << 10;  // of each block: two loads of all warps
constexpr std::uint32_t kReadingWarps[] = {8, 16, 32};
// Loads of a thread in a launch: some hundred microseconds, so that the start hardly counts.
constexpr std::uint32_t kLoads = 512;
constexpr std::uint32_t kWarmLoads = 64;

struct Trial {
  ClusterProgram program;
  std::vector<double> bytes_per_second;

  [[nodiscard]] double median() const { return stats::median(bytes_per_second); }
};

Trial read(std::uint32_t size, std::uint32_t hop, std::uint32_t warps) {
  return {{.op = ClusterOp::kRead,
           .cluster_size = size,
           .every_sm = true,
           .hop = hop,
           .bytes = kReadBytes,
           .warps = warps,
           .warm_accesses = kWarmLoads,
           .accesses = kLoads * kMostAccessWarps / warps},
          {}};
}

}  // namespace

Attribute measure_cluster_bandwidth(Lab& lab, const ClusterSurvey& survey) {
  const std::vector<std::uint32_t> sizes = survey.measured_sizes();
  std::vector<Trial> trials;
  for (const std::uint32_t size : sizes) {
    for (const std::uint32_t warps : kReadingWarps) {
      trials.push_back(read(size, 1, warps));
      if (size > 3) trials.push_back(read(size, size / 2, warps));
    }
  }
  std::vector<ClusterProgram> programs;
  for (const Trial& trial : trials) programs.push_back(trial.program);
  for (std::uint32_t copy = 0; copy < kClusterCopies; ++copy) {
    const std::vector<ClusterResult> results = lab.cluster(programs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      trials[i].bytes_per_second.push_back(static_cast<double>(results[i].bytes_moved) / results[i].seconds);
    }
  }
  // Of the shapes alike in size and hop, the one with the best median.
  const auto best_of = [&](std::uint32_t size, std::uint32_t hop) {
    const Trial* best = nullptr;
    for (const Trial& trial : trials) {
      if (trial.program.cluster_size != size || trial.program.hop != hop) continue;
      if (best == nullptr || trial.median() > best->median()) best = &trial;
    }
    return best;
  };
  std::vector<double> ring;
  std::vector<double> half_way;
  const Trial* best = nullptr;
  for (const std::uint32_t size : sizes) {
    const Trial* next = best_of(size, 1);
    ring.push_back(std::round(next->median()));
    half_way.push_back(std::round(best_of(size, size > 3 ? size / 2 : 1)->median()));
    if (best == nullptr || next->median() > best->median()) best = next;
  }
  // Once more, or chance would have picked the value.
  std::vector<double> rates;
  for (std::uint32_t repeat = 0; repeat < kClusterRepeats; ++repeat) {
    const ClusterResult result = lab.cluster({best->program}).front();
    rates.push_back(static_cast<double>(result.bytes_moved) / result.seconds);
  }
  const double value = stats::median(rates);
  Attribute attribute =
      measured(lab.conditions(), std::round(value), "B/s", interval_around(rates, value), "best_ring_of_reads");
  attribute.add_detail("cluster_size", static_cast<std::int64_t>(best->program.cluster_size));
  attribute.add_detail("warps_per_sm", static_cast<std::int64_t>(best->program.warps));
  attribute.add_detail("cluster_sizes", std::vector<double>(sizes.begin(), sizes.end()));
  attribute.add_detail("ring_bytes_per_second", ring);
  attribute.add_detail("half_way_bytes_per_second", half_way);
  if (!lab.keep_samples()) return attribute;
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
  attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
