#include "probe/partitions/near_sms_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

using Matrix = std::vector<std::vector<double>>;

// Latencies beyond the means of line and SM, each row scaled to length one; zeros if an SM's lines are all alike.
Matrix normalised(const SmByLineCycles& cycles) {
  const auto sms = static_cast<double>(cycles.size());
  const std::size_t lines = cycles.front().size();
  std::vector<double> line_means(lines);
  for (const std::vector<double>& row : cycles) {
    for (std::size_t i = 0; i < lines; ++i) line_means[i] += row[i] / sms;
  }
  Matrix rows = cycles;
  for (std::vector<double>& row : rows) {
    for (std::size_t i = 0; i < lines; ++i) row[i] -= line_means[i];
    const double mean = stats::mean(row);
    double square = 0;
    for (double& value : row) {
      value -= mean;
      square += value * value;
    }
    constexpr double kNothing = 1e-9;
    for (double& value : row) value /= std::max(kNothing, std::sqrt(square));
  }
  return rows;
}

Matrix correlations(const SmByLineCycles& cycles) {
  const Matrix rows = normalised(cycles);
  const std::size_t n = rows.size();
  Matrix result(n, std::vector<double>(n));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      result[a][b] = std::inner_product(rows[a].begin(), rows[a].end(), rows[b].begin(), 0.0);
    }
  }
  return result;
}

// 1 if there are no two SMs to compare: an SM is like itself.
double mean_correlation(const Matrix& correlation, const std::vector<std::size_t>& a,
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

// The two groups that correlate most; `sums` are over all pairs between two groups.
std::pair<std::size_t, std::size_t> most_alike(const RowGroups& groups, const Matrix& sums) {
  std::pair<std::size_t, std::size_t> best;
  double highest = -2;
  for (std::size_t a = 0; a < groups.size(); ++a) {
    for (std::size_t b = a + 1; b < groups.size(); ++b) {
      const double mean = sums[a][b] / static_cast<double>(groups[a].size() * groups[b].size());
      if (mean <= highest) continue;
      highest = mean;
      best = {a, b};
    }
  }
  return best;
}

// Agglomerative clustering by mean correlation, down to `wanted` groups.
RowGroups cluster(const Matrix& correlation, std::size_t wanted) {
  RowGroups groups;
  Matrix sums = correlation;
  for (std::size_t i = 0; i < correlation.size(); ++i) groups.push_back({i});
  while (groups.size() > wanted) {
    const auto [into, from] = most_alike(groups, sums);
    groups[into].insert(groups[into].end(), groups[from].begin(), groups[from].end());
    for (std::size_t other = 0; other < groups.size(); ++other) {
      sums[into][other] += sums[from][other];
      sums[other][into] = sums[into][other];
    }
    const auto gone = static_cast<std::ptrdiff_t>(from);
    groups.erase(groups.begin() + gone);
    sums.erase(sums.begin() + gone);
    for (auto& row : sums) row.erase(row.begin() + gone);
  }
  for (auto& members : groups) std::ranges::sort(members);
  std::ranges::sort(groups);
  return groups;
}

}  // namespace

Decision<NearSms> decide_near_sms(const SmByLineCycles& cycles, std::size_t partitions,
                                  const NearSmsDecisionParameters& parameters) {
  if (partitions == 0 || cycles.size() < partitions || cycles.front().empty()) {
    return {.why_not =
                fmt::format("latencies of {} SMs are not enough to find {} partitions", cycles.size(), partitions)};
  }
  const Matrix correlation = correlations(cycles);
  NearSms found{cluster(correlation, partitions), 1, -1};
  for (std::size_t a = 0; a < found.groups.size(); ++a) {
    const auto& group = found.groups[a];
    found.correlation_within = std::min(found.correlation_within, mean_correlation(correlation, group, group));
    for (std::size_t b = a + 1; b < found.groups.size(); ++b) {
      found.correlation_between =
          std::max(found.correlation_between, mean_correlation(correlation, group, found.groups[b]));
    }
  }
  Decision<NearSms> decision{
      .basis = fmt::format("correlation of the SMs' latencies: {:.2f} within a partition, {:.2f} between partitions",
                           found.correlation_within, found.correlation_between)};
  if (found.correlation_within - found.correlation_between < parameters.least_contrast) {
    decision.why_not = fmt::format(
        "latencies of SMs correlate hardly more within a partition than between partitions ({:.2f} and {:.2f})",
        found.correlation_within, found.correlation_between);
    return decision;
  }
  decision.value = std::move(found);
  return decision;
}

std::vector<std::size_t> outlier_sms(std::span<const double> means_cycles,
                                     const NearSmsDecisionParameters& parameters) {
  if (means_cycles.empty()) return {};
  const double middle = stats::median(means_cycles);
  const double limit =
      std::max(parameters.odd_deviations * stats::robust_deviation(means_cycles), parameters.odd_part * middle);
  std::vector<std::size_t> odd;
  for (std::size_t i = 0; i < means_cycles.size(); ++i) {
    if (std::abs(means_cycles[i] - middle) > limit) odd.push_back(i);
  }
  return odd;
}

std::vector<std::size_t> lines_by_nearness(const SmByLineCycles& cycles, const RowGroups& groups) {
  if (cycles.empty() || groups.empty()) return {};
  std::vector<std::tuple<std::size_t, double, std::size_t>> keys;
  for (std::size_t line = 0; line < cycles.front().size(); ++line) {
    std::vector<double> means;
    for (const auto& members : groups) {
      double sum = 0;
      for (const std::size_t i : members) sum += cycles[i][line];
      means.push_back(sum / static_cast<double>(members.size()));
    }
    const auto nearest = std::ranges::min_element(means);
    const double most = *std::ranges::max_element(means);
    keys.emplace_back(static_cast<std::size_t>(nearest - means.begin()), *nearest - most, line);
  }
  std::ranges::sort(keys);
  std::vector<std::size_t> lines;
  for (const auto& [group, difference, line] : keys) lines.push_back(line);
  return lines;
}

}  // namespace gputopo::probe
