// Which SMs are near which L2 partition. Every SM loads the same lines from L2, alone, and the time of each line goes
// by the slice that it lies in and the way from the SM to there. SMs of one partition find the same slices near, so
// that what a line takes there, against what it takes on average, rises and falls together; SMs of another partition
// reach other slices, or the same ones the other way round.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "probe/sm_by_line.h"

namespace gputopo::probe {
namespace {

constexpr std::size_t kLines = 192;   // several for each slice of the largest L2
constexpr std::uint64_t kPasses = 7;  // odd, of which the median counts
// Two clusters are told when SMs of one correlate more than SMs of two by this much; on an H200 it is 1.7.
constexpr double kLeastContrast = 0.6;
// An SM stands out when its mean is this many standard deviations (from the median deviation) away, and this part.
constexpr double kOddDeviations = 6;
constexpr double kOddPart = 0.05;

struct Rows {
  std::vector<std::uint32_t> sms;
  std::vector<std::uint64_t> line_bytes;       // where each line lies in the array
  std::vector<std::vector<double>> latencies;  // by SM and line, raw cycles
};

Rows medians(const SmByLine& map) {
  Rows rows{map.sms, map.line_bytes, {}};
  for (const auto& lines : map.latencies) {
    std::vector<double>& row = rows.latencies.emplace_back();
    for (const auto& passes : lines) row.push_back(stats::median(std::vector<double>(passes.begin(), passes.end())));
  }
  return rows;
}

// Correlation of every two SMs, over what their lines take beyond the mean of the line and of the SM.
std::vector<std::vector<double>> correlations(const Rows& rows) {
  const std::size_t n = rows.sms.size();
  std::vector<double> line_means(kLines);
  for (const auto& row : rows.latencies) {
    for (std::size_t i = 0; i < kLines; ++i) line_means[i] += row[i] / static_cast<double>(n);
  }
  std::vector<std::vector<double>> centred = rows.latencies;
  for (auto& row : centred) {
    for (std::size_t i = 0; i < kLines; ++i) row[i] -= line_means[i];
    const double mean = std::accumulate(row.begin(), row.end(), 0.0) / kLines;
    double square = 0;
    for (double& value : row) {
      value -= mean;
      square += value * value;
    }
    for (double& value : row) value /= std::max(1e-9, std::sqrt(square));
  }
  std::vector<std::vector<double>> result(n, std::vector<double>(n));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      result[a][b] = std::inner_product(centred[a].begin(), centred[a].end(), centred[b].begin(), 0.0);
    }
  }
  return result;
}

using Clusters = std::vector<std::vector<std::size_t>>;

double mean_correlation(const std::vector<std::vector<double>>& correlation, const std::vector<std::size_t>& a,
                        const std::vector<std::size_t>& b) {
  double sum = 0;
  double count = 0;
  for (const std::size_t i : a) {
    for (const std::size_t j : b) {
      if (i == j) continue;
      sum += correlation[i][j];
      count += 1;
    }
  }
  return count == 0 ? 1 : sum / count;
}

// Agglomerative clustering by mean correlation, until so many are left.
Clusters cluster(const std::vector<std::vector<double>>& correlation, std::size_t wanted) {
  Clusters clusters;
  std::vector<std::vector<double>> sums = correlation;  // of all pairs between two clusters
  for (std::size_t i = 0; i < correlation.size(); ++i) clusters.push_back({i});
  while (clusters.size() > wanted) {
    std::pair<std::size_t, std::size_t> best;
    double highest = -2;
    for (std::size_t a = 0; a < clusters.size(); ++a) {
      for (std::size_t b = a + 1; b < clusters.size(); ++b) {
        const double mean = sums[a][b] / static_cast<double>(clusters[a].size() * clusters[b].size());
        if (mean > highest) {
          highest = mean;
          best = {a, b};
        }
      }
    }
    const auto [into, from] = best;
    clusters[into].insert(clusters[into].end(), clusters[from].begin(), clusters[from].end());
    for (std::size_t other = 0; other < clusters.size(); ++other) {
      sums[into][other] += sums[from][other];
      sums[other][into] = sums[into][other];
    }
    const auto gone = static_cast<std::ptrdiff_t>(from);
    clusters.erase(clusters.begin() + gone);
    sums.erase(sums.begin() + gone);
    for (auto& row : sums) row.erase(row.begin() + gone);
  }
  for (auto& members : clusters) std::sort(members.begin(), members.end());
  std::sort(clusters.begin(), clusters.end());
  return clusters;
}

// The lines in the order of the cluster that loads them fastest, and within it those first that the others take longest
// for.
std::vector<std::size_t> lines_by_nearness(const Rows& rows, const Clusters& clusters) {
  std::vector<std::tuple<std::size_t, double, std::size_t>> keys;
  for (std::size_t line = 0; line < kLines; ++line) {
    std::vector<double> means;
    for (const auto& members : clusters) {
      double sum = 0;
      for (const std::size_t i : members) sum += rows.latencies[i][line];
      means.push_back(sum / static_cast<double>(members.size()));
    }
    const auto nearest = std::min_element(means.begin(), means.end());
    const double most = *std::max_element(means.begin(), means.end());
    keys.emplace_back(static_cast<std::size_t>(nearest - means.begin()), *nearest - most, line);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> lines;
  for (const auto& [cluster, difference, line] : keys) lines.push_back(line);
  return lines;
}

// Names SMs whose lines all take much longer, or less, than those of the others.
void flag_odd_sms(const Rows& rows, const std::vector<double>& means, Attribute& attribute) {
  const double middle = stats::median(means);
  std::vector<double> deviations;
  for (const double mean : means) deviations.push_back(std::abs(mean - middle));
  constexpr double kToStandardDeviation = 1.4826;  // of a normal distribution
  const double spread = kToStandardDeviation * stats::median(deviations);
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (deviations[i] <= std::max(kOddDeviations * spread, kOddPart * middle)) continue;
    attribute.flags.push_back(
        fmt::format("odd_sm: L2 hits of SM {} take {:.0f} cycles, of others {:.0f}", rows.sms[i], means[i], middle));
  }
}

}  // namespace

Attribute measure_near_sms(Lab& lab, const Cache& l2, std::size_t partitions) {
  const Rows rows = medians(load_from_every_sm(lab, l2, kLines, kPasses));
  if (rows.sms.size() < 2 * partitions) throw NotSupportedError("needs programs on SMs that they name");
  const auto correlation = correlations(rows);
  const Clusters clusters = cluster(correlation, partitions);
  UnitGroups near;
  std::vector<std::size_t> cluster_of(rows.sms.size());
  double within = 1;
  double between = -1;
  for (std::size_t a = 0; a < clusters.size(); ++a) {
    std::vector<std::uint32_t> ids;
    for (const std::size_t i : clusters[a]) {
      ids.push_back(rows.sms[i]);
      cluster_of[i] = a;
    }
    near.groups.push_back(std::move(ids));
    within = std::min(within, mean_correlation(correlation, clusters[a], clusters[a]));
    for (std::size_t b = a + 1; b < clusters.size(); ++b) {
      between = std::max(between, mean_correlation(correlation, clusters[a], clusters[b]));
    }
  }
  lab.log(fmt::format("map: correlation of SMs {:.2f} within a partition, {:.2f} between", within, between));
  if (within - between < kLeastContrast) {
    throw Inconclusive(
        fmt::format("SMs of one partition see L2 hardly more alike than others do (correlation {:.2f} and {:.2f})",
                    within, between));
  }
  Attribute attribute = measured(lab.conditions(), std::move(near), "", std::nullopt, "correlation_of_l2_latencies");
  std::vector<double> means;
  for (const auto& row : rows.latencies) {
    means.push_back(std::accumulate(row.begin(), row.end(), 0.0) / kLines - l2.survey->timer_cycles);
  }
  const auto round_to_tenth = [](double value) { return std::round(10 * value) / 10; };
  attribute.details = {{"correlation_within", std::round(100 * within) / 100},
                       {"correlation_between", std::round(100 * between) / 100},
                       {"fastest_sm_cycles", round_to_tenth(*std::min_element(means.begin(), means.end()))},
                       {"slowest_sm_cycles", round_to_tenth(*std::max_element(means.begin(), means.end()))}};
  flag_odd_sms(rows, means, attribute);
  if (!lab.keep_samples()) return attribute;
  SampleTable sms =
      make_table("sms", Plot::kPoints,
                 {sm_axis(), series("partition", "partition"), values("latency_cycles", "latency", "cycles")});
  sms.marks = {"fastest_sm_cycles", "slowest_sm_cycles"};
  for (std::size_t i = 0; i < rows.sms.size(); ++i) {
    sms.data[0].push_back(rows.sms[i]);
    sms.data[1].push_back(static_cast<double>(cluster_of[i]));
    sms.data[2].push_back(round_to_tenth(means[i]));
  }
  // By partition, so that the matrix shows its blocks.
  SampleTable slices = make_table("slices", Plot::kMap,
                                  {sm_axis(), axis("line_offset_bytes", "line offset", "B"),
                                   values("raw_latency_cycles", "raw latency", "cycles")});
  const std::vector<std::size_t> lines = lines_by_nearness(rows, clusters);
  for (const auto& members : clusters) {
    for (const std::size_t i : members) {
      for (const std::size_t line : lines) {
        slices.data[0].push_back(rows.sms[i]);
        slices.data[1].push_back(static_cast<double>(rows.line_bytes[line]));
        slices.data[2].push_back(rows.latencies[i][line]);
      }
    }
  }
  attribute.samples = {std::move(sms), std::move(slices)};
  return attribute;
}

}  // namespace gputopo::probe
