// Times one load at the start of a discovery, at intervals, and at its end; changes of its latency are drift.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

class DriftWatch {
 public:
  explicit DriftWatch(DeviceSession& bench) : session_(bench) {}

  // Looks if enough programs have run since the last look. Stops asking a device that failed once.
  void look();
  // Looks in any case, for the end of the run.
  void look_again();
  // The latency at each look.
  [[nodiscard]] const std::vector<double>& cycles() const { return cycles_; }

 private:
  DeviceSession& session_;
  std::vector<double> cycles_;
  std::uint64_t programs_at_look_ = 0;
  bool is_possible_ = true;
};

}  // namespace gputopo::probe
