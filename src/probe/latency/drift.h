// One load is timed at the beginning of a discovery, now and then, and at its end: what it takes longer or shorter then
// is drift.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/lab.h"

namespace gputopo::probe {

class DriftWatch {
 public:
  explicit DriftWatch(Bench& bench) : bench_(bench) {}

  // Looks where enough programs have run since the last time. A device that cannot be asked is not asked again.
  void look();
  // At the end, whatever has run.
  void look_again();
  // Of each look.
  [[nodiscard]] const std::vector<double>& cycles() const { return cycles_; }

 private:
  Bench& bench_;
  std::vector<double> cycles_;
  std::uint64_t programs_at_look_ = 0;
  bool is_possible_ = true;
};

}  // namespace gputopo::probe
