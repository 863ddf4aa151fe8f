#include "stats/tail_fit.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "stats/descriptive.h"
#include "stats/precision.h"

namespace gputopo::stats {
namespace {

// Candidate degrees of freedom. Beyond the last one, a t distribution is practically normal.
constexpr std::array kFreedoms = {2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 11.0, 16.0, 25.0, 50.0, 150.0, 1000.0};

// Distances from the center on one side, ascending: all but the outermost, of which only the number counts. If there
// are many, one stands for several neighbors, fewer of them farther out.
struct Side {
  std::vector<double> inner;
  std::vector<double> weights;
  double censored = 0;  // number of values beyond the last
};

Side side_of(std::vector<double> distances, const TailParameters& parameters) {
  std::erase_if(distances, [](double distance) { return std::isnan(distance); });
  std::ranges::sort(distances);
  const auto n = distances.size();
  constexpr std::size_t kMostOfLeast = 10;
  const std::size_t outer =
      std::max({std::size_t{1}, std::min(parameters.least_outer, n / kMostOfLeast),
                static_cast<std::size_t>(std::ceil(parameters.outer_part * static_cast<double>(n)))});
  const std::size_t inner = n - std::min(n, outer);
  Side side{.inner = {}, .weights = {}, .censored = static_cast<double>(n - inner)};
  constexpr std::size_t kStretches = 24;  // each stretch is such a part of the rest
  for (std::size_t begin = 0; begin < inner;) {
    const std::size_t length = std::min(inner - begin, 1 + (n - begin) / kStretches);
    side.inner.push_back(distances[begin + length / 2]);
    side.weights.push_back(static_cast<double>(length));
    begin += length;
  }
  // The censored values are compared with the outermost inner one.
  if (inner > 0) side.inner.back() = distances[inner - 1];
  return side;
}

// Two-sided tail probability of Student's t. A distance that is not a number (values that overflow) is no evidence.
double beyond(double distance, double freedom) {
  if (std::isnan(distance)) return 1;
  return 2 * boost::math::cdf(
                 boost::math::complement(boost::math::students_t_distribution<double, InDouble>(freedom), distance));
}

// Log-likelihood of half a Student's t with this scale, without constants that are the same for all candidates.
double log_likelihood(const Side& side, double scale, double freedom) {
  const double constant = std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2) -
                          0.5 * std::log(freedom * std::numbers::pi) - std::log(scale);
  double sum = 0;
  for (std::size_t i = 0; i < side.inner.size(); ++i) {
    const double z = side.inner[i] / scale;
    sum += side.weights[i] * (constant - (freedom + 1) / 2 * std::log1p(z * z / freedom));
  }
  if (!side.inner.empty() && side.censored > 0) {
    sum += side.censored * std::log(std::max(beyond(side.inner.back() / scale, freedom), 1e-300));
  }
  return sum;
}

struct Fitted {
  double scale = 0;
  double log_likelihood = 0;
};

// The likelihood has one maximum in the logarithm of the scale, so a golden-section search around `start` finds it.
Fitted fit_scale(const Side& side, double freedom, double start) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr double kOctaves = 2.5;
  constexpr int kRounds = 18;
  double low = std::log(start) - kOctaves * std::numbers::ln2;
  double high = std::log(start) + kOctaves * std::numbers::ln2;
  const auto value = [&](double log_scale) { return log_likelihood(side, std::exp(log_scale), freedom); };
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double at_left = value(left);
  double at_right = value(right);
  for (int round = 0; round < kRounds; ++round) {
    if (at_left > at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - kGolden * (high - low);
      at_left = value(left);
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + kGolden * (high - low);
      at_right = value(right);
    }
  }
  return {std::exp((low + high) / 2), std::max(at_left, at_right)};
}

double prior(double freedom, const TailParameters& parameters) {
  const double off = (1 / freedom - parameters.prior_inverse_freedom) / parameters.prior_deviation;
  return -0.5 * off * off;
}

double middle_of(const Side& side) {
  double left = side.censored;
  for (const double weight : side.weights) left += weight;
  left /= 2;
  std::size_t middle = 0;
  while (middle + 1 < side.inner.size() && (left -= side.weights[middle]) > 0) ++middle;
  const double median = side.inner.empty() ? 0 : side.inner[middle];
  constexpr double kNormalQuartile = 0.6745;
  return median / kNormalQuartile;
}

struct Chosen {
  double freedom = 0;
  std::array<double, 2> scales{};  // for each side
};

// The heaviest tails that the values do not contradict.
Chosen choose(const std::vector<Side>& sides, const TailParameters& parameters) {
  std::array<double, kFreedoms.size()> likelihoods{};
  std::array<Chosen, kFreedoms.size()> candidates{};
  for (std::size_t i = 0; i < kFreedoms.size(); ++i) {
    candidates[i].freedom = kFreedoms[i];
    likelihoods[i] = prior(kFreedoms[i], parameters);
    for (std::size_t j = 0; j < sides.size(); ++j) {
      const double start = middle_of(sides[j]);
      if (start <= 0) continue;
      const Fitted fitted = fit_scale(sides[j], kFreedoms[i], start);
      likelihoods[i] += parameters.evidence * fitted.log_likelihood;
      candidates[i].scales[j] = fitted.scale;
    }
    // Values that overflow show nothing.
    if (std::isnan(likelihoods[i])) likelihoods[i] = -std::numeric_limits<double>::infinity();
  }
  const double least = *std::ranges::max_element(likelihoods) - parameters.benefit_of_doubt;
  const auto heaviest = std::ranges::find_if(likelihoods, [&](double likelihood) { return likelihood >= least; });
  return candidates[static_cast<std::size_t>(heaviest - likelihoods.begin())];
}

}  // namespace

double TailFit::distance(double value, double error) const {
  const double off = value - centre;
  const double scale = off < 0 ? scale_below : scale_above;
  const double all = std::sqrt(scale * scale + error * error);
  if (off == 0) return 0;
  return all > 0 ? off / all : std::copysign(INFINITY, off);
}

double TailFit::score(double value, double error) const {
  const double off = distance(value, error);
  if (!std::isfinite(off)) return off;
  const double size = std::sqrt(freedom * std::log1p(off * off / freedom));
  return std::copysign(size * (8 * freedom + 1) / (8 * freedom + 3), off);
}

double ScoreFit::p_value(double score) const { return beyond(std::abs(score) / scale, freedom); }

TailFit fit_tails(std::span<const double> values, const TailParameters& parameters) {
  TailFit fit{.centre = median(values)};
  std::vector<double> below;
  std::vector<double> above;
  for (const double value : values) {
    const double off = value - fit.centre;
    if (off <= 0) below.push_back(-off);
    if (off >= 0) above.push_back(off);
  }
  std::vector<Side> sides;
  if (values.size() >= parameters.least_for_sides) {
    sides = {side_of(below, parameters), side_of(above, parameters)};
  } else {
    std::vector<double> both;
    for (const double value : values) both.push_back(std::abs(value - fit.centre));
    sides = {side_of(both, parameters)};
  }
  const Chosen chosen = choose(sides, parameters);
  fit.scale_below = chosen.scales.front();
  fit.scale_above = chosen.scales[sides.size() - 1];
  const auto ties = static_cast<double>(std::ranges::count(values, fit.centre));
  if (ties > parameters.most_ties * static_cast<double>(values.size())) {
    const auto outermost = [](const Side& side) { return side.inner.empty() ? 0 : side.inner.back(); };
    fit.scale_below = std::max(fit.scale_below, outermost(sides.front()));
    fit.scale_above = std::max(fit.scale_above, outermost(sides.back()));
  }
  const double own = parameters.freedom_of_group * static_cast<double>(values.size());
  fit.freedom = 1 / (1 / chosen.freedom + 1 / own);
  return fit;
}

ScoreFit fit_scores(std::span<const double> scores, const TailParameters& parameters) {
  std::vector<double> sizes;
  sizes.reserve(scores.size());
  for (const double score : scores) sizes.push_back(std::abs(score));
  const Chosen chosen = choose({side_of(std::move(sizes), parameters)}, parameters);
  // A scale below that of a normal distribution is no reason for more finds.
  return {.scale = std::max(chosen.scales.front(), 1.0), .freedom = chosen.freedom};
}

double benjamini_hochberg_threshold(std::vector<double> p_values, std::size_t tests, double rate) {
  std::ranges::sort(p_values);
  double threshold = 0;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    const double allowed = rate * static_cast<double>(i + 1) / static_cast<double>(std::max<std::size_t>(tests, 1));
    if (p_values[i] <= allowed) threshold = p_values[i];
  }
  return threshold;
}

}  // namespace gputopo::stats
