#include "report/drawing/scale.h"

#include <algorithm>
#include <cmath>

namespace gputopo::report {
namespace {

std::vector<double> powers_within(double least, double greatest, bool bytes, int most) {
  constexpr double kFewDecades = 100;  // powers of ten would give only one or two ticks
  const double base = bytes || greatest / least < kFewDecades ? 2 : 10;
  const double decades = std::log(greatest / least) / std::log(base);
  const double step = std::max(1.0, std::ceil(decades / most));
  std::vector<double> powers;
  for (double e = std::ceil(std::log(least) / std::log(base) - 1e-9); std::pow(base, e) <= greatest * 1.0001;
       e += step) {
    powers.push_back(std::pow(base, e));
  }
  return powers;
}

std::vector<double> steps_within(double least, double greatest, bool bytes, int most) {
  const double rough = (greatest - least) / most;
  const double base =
      bytes && rough >= 1 ? std::pow(2, std::floor(std::log2(rough))) : std::pow(10, std::floor(std::log10(rough)));
  double step = base;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = base * factor;
    if (step >= rough) break;
  }
  std::vector<double> steps;
  for (double tick = std::ceil(least / step - 1e-9) * step; tick <= greatest + step * 1e-6; tick += step) {
    if (!(tick + step > tick)) break;  // no number lies between values this close
    steps.push_back(std::abs(tick) < step * 1e-6 ? 0 : tick);
  }
  return steps;
}

}  // namespace

Scale::Scale(const Range& range, bool logarithmic, double from, double to)
    : least_(range.least), greatest_(range.greatest), logarithmic_(logarithmic), from_(from), to_(to) {
  if (greatest_ > least_) return;
  const double room = least_ == 0 ? 1 : std::abs(least_) * 0.1;
  if (!logarithmic_) least_ -= room;
  greatest_ += room;
}

double Scale::operator()(double value) const {
  const double part = logarithmic_ ? std::log(std::max(value, least_) / least_) / std::log(greatest_ / least_)
                                   : (value - least_) / (greatest_ - least_);
  return from_ + std::clamp(part, 0.0, 1.0) * (to_ - from_);
}

std::vector<double> Scale::ticks(bool bytes, int most) const {
  if (logarithmic_) {
    std::vector<double> powers = powers_within(least_, greatest_, bytes, most);
    if (powers.size() >= 2) return powers;
  }
  return steps_within(least_, greatest_, bytes, most);
}

}  // namespace gputopo::report
