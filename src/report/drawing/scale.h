// Pixel positions along a plot's axis.
#pragma once

#include <vector>

#include "report/drawing/chart.h"

namespace gputopo::report {

class Scale {
 public:
  Scale(const Range& range, bool logarithmic, double from, double to);
  // Returns the position of a value; values outside the range go to its ends.
  [[nodiscard]] double operator()(double value) const;
  [[nodiscard]] bool holds(double value) const { return value >= least_ && value <= greatest_; }
  // Returns round numbers within the range; powers of two for `bytes`.
  [[nodiscard]] std::vector<double> ticks(bool bytes, int most) const;

 private:
  double least_;
  double greatest_;
  bool logarithmic_;
  double from_;
  double to_;
};

}  // namespace gputopo::report
