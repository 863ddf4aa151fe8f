#include "fleet/together.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "stats/solve.h"

namespace gputopo::fleet {
namespace {

using Column = std::vector<double>;  // by GPU; NaN: none

// A score beyond this does not inform correlations, because it may be a fault.
constexpr double kMostForCorrelation = 3;

double without_extremes(double score) {
  return std::isnan(score) ? 0 : std::clamp(score, -kMostForCorrelation, kMostForCorrelation);
}

// A fault of the clock or of the whole chip also shows in the rest.
bool has_rest(Aspect aspect) { return aspect != Aspect::kOnChipRates && aspect != Aspect::kAll; }

// Returns each GPU's mean, scaled to unit deviation like every other column.
Column mean_of(const std::vector<const Column*>& columns, std::size_t gpus) {
  Column means(gpus);
  double squares = 0;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    double sum = 0;
    double count = 0;
    for (const Column* column : columns) {
      if (std::isnan((*column)[gpu])) continue;
      sum += (*column)[gpu];
      ++count;
    }
    means[gpu] = count > 0 ? sum / count : 0;
    squares += means[gpu] * means[gpu];
  }
  const double deviation = std::sqrt(squares / static_cast<double>(gpus));
  for (double& mean : means) mean /= std::max(deviation, 1e-9);
  return means;
}

// Correlations about 0, the center of scores. With few GPUs some columns seem correlated by chance, so the matrix is
// shrunk toward equal correlations (Ledoit and Wolf, 2004): the more, the fewer GPUs there are per column.
stats::SquareMatrix correlations_of(const std::vector<const Column*>& columns, std::size_t gpus) {
  const std::size_t n = columns.size();
  stats::SquareMatrix products(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        sum += without_extremes((*columns[i])[gpu]) * without_extremes((*columns[j])[gpu]);
      }
      products.at(i, j) = products.at(j, i) = sum;
    }
  }
  stats::SquareMatrix result(n);
  double all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    result.at(i, i) = 1;
    for (std::size_t j = 0; j < i; ++j) {
      const double scale = std::sqrt(products.at(i, i) * products.at(j, j));
      result.at(i, j) = result.at(j, i) = scale > 0 ? products.at(i, j) / scale : 0;
      all += result.at(i, j);
    }
  }
  const double usual = n < 2 ? 0 : std::max(all / (static_cast<double>(n * (n - 1)) / 2), 0.0);
  const auto columns_count = static_cast<double>(n);
  const double drawn = columns_count / (columns_count + static_cast<double>(gpus));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j) result.at(i, j) += drawn * (usual - result.at(i, j));
    }
  }
  return result;
}

// Weights of Fisher's linear discriminant between ordinary GPUs and GPUs on which every value except the rest (the last
// column) is worse by the same amount. Empty if there are none.
std::vector<double> weights_of(stats::SquareMatrix correlations, bool with_rest) {
  const std::size_t n = correlations.size;
  std::vector<double> different(n, 1);
  if (with_rest) different.back() = 0;
  std::vector<double> weights = stats::solve_symmetric(std::move(correlations), std::move(different));
  // A worse value must never make a part look better.
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const bool is_rest = with_rest && i + 1 == n;
    weights[i] = is_rest ? std::min(weights[i], 0.0) : std::max(weights[i], 0.0);
  }
  return weights;
}

}  // namespace

SignedScores signed_scores_of(const std::vector<Score>& scores, const std::vector<Population>& populations,
                              std::size_t gpus, const JudgeParameters& parameters) {
  SignedScores result{.gpus = gpus, .columns = {}};
  std::unordered_map<std::uint32_t, std::size_t> places;
  std::vector<std::vector<std::uint32_t>> counts;
  for (const Score& score : scores) {
    const ValueKind& kind = populations[score.population].kind;
    if (worse_sign(kind) == 0) continue;
    const auto [place, is_new] = places.try_emplace(score.population, result.columns.size());
    if (is_new) {
      result.columns.push_back({kind, Column(gpus)});
      counts.emplace_back(gpus);
    }
    result.columns[place->second].of_gpu[score.gpu] +=
        worse_sign(kind) * std::clamp(score.score, -parameters.most_of_one, parameters.most_of_one);
    ++counts[place->second][score.gpu];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      double& score = result.columns[i].of_gpu[gpu];
      score = counts[i][gpu] == 0 ? std::numeric_limits<double>::quiet_NaN() : score / counts[i][gpu];
    }
  }
  return result;
}

std::vector<JointScore> score_jointly(const SignedScores& scores, Aspect aspect, const JudgeParameters& parameters) {
  std::vector<const Column*> columns;
  std::vector<const Column*> others;
  for (const SignedScores::Column& column : scores.columns) {
    (column.kind.has(aspect) ? columns : others).push_back(&column.of_gpu);
  }
  if (columns.size() < parameters.least_values_together) return {};
  const std::size_t own = columns.size();
  const bool with_rest = has_rest(aspect) && others.size() >= parameters.least_values_together;
  const Column rest = with_rest ? mean_of(others, scores.gpus) : Column();
  if (with_rest) columns.push_back(&rest);
  const std::vector<double> weights = weights_of(correlations_of(columns, scores.gpus), with_rest);
  if (weights.empty()) return {};
  const double all_weights = std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(own), 0.0);
  std::vector<JointScore> result;
  for (std::uint32_t gpu = 0; gpu < scores.gpus; ++gpu) {
    double sum = 0;
    double all = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < own; ++i) {
      if (std::isnan((*columns[i])[gpu])) continue;
      sum += weights[i] * (*columns[i])[gpu];
      all += weights[i];
      ++count;
    }
    if (static_cast<double>(count) < parameters.least_part_together * static_cast<double>(own) || all <= 0) continue;
    // The available values stand in for missing ones.
    result.push_back({gpu, sum * all_weights / all + (with_rest ? weights[own] * rest[gpu] : 0)});
  }
  return result;
}

}  // namespace gputopo::fleet
