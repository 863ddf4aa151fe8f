// The conditions under which programs ran.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "gputopo/model.h"
#include "gputopo/program.h"

namespace gputopo::probe {

struct ConditionsParameters {
  // Largest ratio of the clocks of neighboring launches. With smaller values every report shows a range of clocks.
  double steady_clock = 1.01;
};

// Conditions of the launches behind one finding. Attributes that are built from the finding copy them.
class Conditions {
 public:
  void add(const ProgramResult& result);
  // Adds the conditions of another finding on which this one rests.
  void add(const Conditions& other);

  // The same conditions with the clock of `other`.
  [[nodiscard]] Conditions at_clock_of(const Conditions& other) const;

  [[nodiscard]] bool is_empty() const { return programs_ == 0; }
  // Mean over the programs; 0 if none ran.
  [[nodiscard]] double sm_clock_mhz() const { return programs_ == 0 ? 0 : clock_sum_mhz_ / programs_; }
  // All carve-outs that were in force, ascending.
  [[nodiscard]] const std::set<std::uint64_t>& carve_outs_bytes() const { return carve_outs_bytes_; }
  [[nodiscard]] bool undisturbed() const { return undisturbed_; }

  // For a report: sm_clock_mhz (with its minimum and maximum if it was not steady), carve_out_bytes (a list if there
  // were several), started_seconds if the device reports it, undisturbed only if false.
  [[nodiscard]] NamedValues named(const ConditionsParameters& parameters = {}) const;

 private:
  double programs_ = 0;
  double clock_sum_mhz_ = 0;
  double clock_low_mhz_ = 0;
  double clock_high_mhz_ = 0;
  double started_seconds_ = 0;  // of the first program; 0: not reported
  std::set<std::uint64_t> carve_outs_bytes_;
  bool undisturbed_ = true;
};

}  // namespace gputopo::probe
