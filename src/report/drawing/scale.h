// Places along an axis of a plot in pixels.
#pragma once

#include <vector>

#include "report/drawing/chart.h"

namespace gputopo::report {

class Scale {
 public:
  Scale(const Range& range, bool logarithmic, double from, double to);
  // The place of a value; values beyond the range are at its ends.
  [[nodiscard]] double operator()(double value) const;
  [[nodiscard]] bool holds(double value) const { return value >= least_ && value <= greatest_; }
  // Round numbers within the range; powers of two if they are `bytes`.
  [[nodiscard]] std::vector<double> ticks(bool bytes, int most) const;

 private:
  double least_;
  double greatest_;
  bool logarithmic_;
  double from_;
  double to_;
};

}  // namespace gputopo::report
