// How far a value lies from the center of its group, and how likely that is. A distribution is fitted to the inner
// values, so that the values to be judged do not influence it. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gputopo::stats {

struct TailParameters {
  // This part of the values on each side is censored: only that they lie so far out counts. It is at least least_outer
  // (if that is no more than a tenth of the values), and at least one. Larger values find more simultaneous faults of
  // one kind; smaller values show more of the weight of the tails, and less often take a rare kind for faults.
  double outer_part = 0.02;
  std::size_t least_outer = 3;
  // The number of values from which on each side has its own scale. Smaller values fit scales to too few values.
  std::size_t least_for_sides = 60;
  // The prior of the tails: the mean and the standard deviation of one over the degrees of freedom. Larger values mean
  // heavier tails: fewer false alarms, and fewer finds in small groups.
  double prior_inverse_freedom = 0.05;
  double prior_deviation = 0.06;
  // The heaviest tails within this log-likelihood of the best are chosen. Larger: fewer false alarms, fewer finds.
  double benefit_of_doubt = 0;
  // How many independent values each value counts as: values of one GPU are alike.
  double evidence = 1;
  // If more than this part of the values equals the center, the values are quantized, and each scale covers all but
  // the outer values. Larger values take rare steps for deviations.
  double most_ties = 0.3;
  // A group of n is judged with at most this many times n degrees of freedom, because its own scale is an estimate.
  double freedom_of_group = 0.8;
};

struct TailFit {
  double centre = 0;
  double scale_below = 0;  // of values below the center
  double scale_above = 0;
  double freedom = 0;  // of Student's t

  // Signed distance from the center in scales. `error` is the value's own measurement error, which adds to the scale.
  [[nodiscard]] double distance(double value, double error = 0) const;
  // The equally rare distance in a normal distribution: the square root of Wallace (1959), good to a few hundredths.
  [[nodiscard]] double score(double value, double error = 0) const;
};

// Fits Student's t around the median, with one scale for each side, by maximum likelihood of the inner values; outer
// values are censored. Requires four values. A scale is 0 if at least half of the values on its side equal the median.
[[nodiscard]] TailFit fit_tails(std::span<const double> values, const TailParameters& parameters = {});

// The true rarity of scores. A fit of one quantity may be off, and its extremes lie beyond what was seen. Scores of
// many quantities together show how far the farthest lie. Centered at 0, both sides as one.
struct ScoreFit {
  double scale = 1;
  double freedom = 0;
  // The probability of a score at least as far out, on either side.
  [[nodiscard]] double p_value(double score) const;
};
[[nodiscard]] ScoreFit fit_scores(std::span<const double> scores, const TailParameters& parameters);

// Benjamini and Hochberg (1995): the largest p-value that is still a find, if at most the part `rate` of all finds may
// be false. If there is nothing to find, `rate` bounds the chance of any find. `tests` may exceed the number of
// `p_values`; the missing ones count as large. 0: no finds.
[[nodiscard]] double benjamini_hochberg_threshold(std::vector<double> p_values, std::size_t tests, double rate);

}  // namespace gputopo::stats
