// How far values lie from the middle of their kind, and how likely that is: a distribution is fitted to the inner part
// of the values, so that what is to be judged by it has no say in it. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gputopo::stats {

struct TailParameters {
  // This part of the values on each side counts as being that far out or farther, and no more; so many at least, if
  // that is no more than a tenth, and one. Larger: more faults of one kind at a time are found; smaller: more is known
  // of how heavy the tails are, and a kind of its own that few belong to is less often taken for faults.
  double outer_part = 0.02;
  std::size_t least_outer = 3;
  // Each side has a scale of its own from so many values on. Smaller: fits of too few values.
  std::size_t least_for_sides = 60;
  // What is known of tails before a value is seen: one over the degrees of freedom is near the first, within the
  // second. Larger means heavier tails: fewer false alarms and fewer finds in small groups.
  double prior_inverse_freedom = 0.05;
  double prior_deviation = 0.06;
  // The heaviest tails are taken that are less likely than the likeliest by this much in log-likelihood at most.
  // Larger: fewer false alarms, and fewer finds.
  double benefit_of_doubt = 0;
  // Values count as so many independent ones each: those of one GPU are alike.
  double evidence = 1;
  // Where this part of the values or more is the very same, they are in bins: what lies between the outer ones is one
  // scale at least. Larger: bins that few are in are taken for something else.
  double most_ties = 0.3;
  // A group of n is judged with at most this many times n degrees of freedom: its own scale is an estimate.
  double freedom_of_group = 0.8;
};

struct TailFit {
  double centre = 0;
  double scale_below = 0;  // of values under the centre
  double scale_above = 0;
  double freedom = 0;  // of Student's t

  // Signed distance from the centre in scales; `error`: what the value's own measurement adds to the scale.
  [[nodiscard]] double distance(double value, double error = 0) const;
  // The distance that is as rare in a normal distribution: Wallace (1959), whose square root is good to a few
  // hundredths.
  [[nodiscard]] double score(double value, double error = 0) const;
};

// Student's t about the median, each side with its scale, by the largest likelihood of the inner values, the outer ones
// being censored. Four values at least. A scale is 0 where half the values or more of its side are the median.
[[nodiscard]] TailFit fit_tails(std::span<const double> values, const TailParameters& parameters = {});

// How rare scores are in truth: a fit of one value may be off, and its extremes are beyond what was seen; those of many
// values together tell how the farthest lie. About 0, both sides as one.
struct ScoreFit {
  double scale = 1;
  double freedom = 0;
  // How likely a score is that lies as far out, on either side.
  [[nodiscard]] double p_value(double score) const;
};
[[nodiscard]] ScoreFit fit_scores(std::span<const double> scores, const TailParameters& parameters);

// Benjamini and Hochberg (1995): the largest p-value that is still a find where of all finds at most the part `rate` is
// to be false; with no true ones at most `rate` is the chance of any. `tests` may be more than `p_values`: those that
// are not among them are large. 0: none.
[[nodiscard]] double find_threshold(std::vector<double> p_values, std::size_t tests, double rate);

}  // namespace gputopo::stats
