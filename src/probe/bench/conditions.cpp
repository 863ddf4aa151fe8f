#include "probe/bench/conditions.h"

#include <cmath>
#include <vector>

namespace gputopo::probe {

void Conditions::add(const ProgramResult& result) {
  Conditions one;
  one.programs_ = 1;
  one.clock_sum_mhz_ = one.clock_low_mhz_ = one.clock_high_mhz_ = result.sm_clock_mhz;
  one.carve_outs_bytes_ = {result.shared_carve_out_bytes};
  one.started_seconds_ = result.started_seconds;
  one.undisturbed_ = result.undisturbed;
  add(one);
}

void Conditions::add(const Conditions& other) {
  if (other.is_empty()) return;
  clock_low_mhz_ = is_empty() ? other.clock_low_mhz_ : std::min(clock_low_mhz_, other.clock_low_mhz_);
  clock_high_mhz_ = std::max(clock_high_mhz_, other.clock_high_mhz_);
  started_seconds_ = is_empty() ? other.started_seconds_ : std::min(started_seconds_, other.started_seconds_);
  clock_sum_mhz_ += other.clock_sum_mhz_;
  programs_ += other.programs_;
  carve_outs_bytes_.insert(other.carve_outs_bytes_.begin(), other.carve_outs_bytes_.end());
  undisturbed_ = undisturbed_ && other.undisturbed_;
}

Conditions Conditions::at_clock_of(const Conditions& other) const {
  Conditions result = *this;
  result.programs_ = other.programs_;
  result.clock_sum_mhz_ = other.clock_sum_mhz_;
  result.clock_low_mhz_ = other.clock_low_mhz_;
  result.clock_high_mhz_ = other.clock_high_mhz_;
  return result;
}

NamedValues Conditions::named(const ConditionsParameters& parameters) const {
  NamedValues values;
  if (is_empty()) return values;
  const auto tenths = [](double value) { return std::round(value * 10) / 10; };
  values.emplace_back("sm_clock_mhz", tenths(sm_clock_mhz()));
  if (clock_high_mhz_ > parameters.steady_clock * clock_low_mhz_) {
    values.emplace_back("sm_clock_low_mhz", tenths(clock_low_mhz_));
    values.emplace_back("sm_clock_high_mhz", tenths(clock_high_mhz_));
  }
  if (carve_outs_bytes_.size() == 1) {
    values.emplace_back("carve_out_bytes", static_cast<std::int64_t>(*carve_outs_bytes_.begin()));
  } else {
    values.emplace_back("carve_out_bytes", std::vector<double>(carve_outs_bytes_.begin(), carve_outs_bytes_.end()));
  }
  if (started_seconds_ > 0) values.emplace_back("started_seconds", std::round(started_seconds_ * 1000) / 1000);
  if (!undisturbed_) values.emplace_back("undisturbed", false);
  return values;
}

}  // namespace gputopo::probe
