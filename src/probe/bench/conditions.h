// What held while programs ran.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>

#include "gputopo/model.h"
#include "gputopo/program.h"

namespace gputopo::probe {

struct ConditionsParameters {
  // The clocks of neighbouring launches differ by less than this factor. Smaller: every report gives a range of clocks.
  double steady_clock = 1.01;
};

// Of the launches behind a finding: each finding has its own, and hands them on to the attributes that are made of it.
class Conditions {
 public:
  void add(const ProgramResult& result);
  // Of a finding that rests on another too.
  void add(const Conditions& other);

  // The same, at the clock of others.
  [[nodiscard]] Conditions at_clock_of(const Conditions& other) const;

  [[nodiscard]] bool is_empty() const { return programs_ == 0; }
  // Mean over the programs; 0 where none ran.
  [[nodiscard]] double sm_clock_mhz() const { return programs_ == 0 ? 0 : clock_sum_mhz_ / programs_; }
  // That were in force, ascending.
  [[nodiscard]] const std::set<std::uint64_t>& carve_outs_bytes() const { return carve_outs_bytes_; }
  [[nodiscard]] bool undisturbed() const { return undisturbed_; }

  // For a report: sm_clock_mhz (and its least and greatest where it was not steady), carve_out_bytes
  // (a list where there were several), started_seconds where the device tells, undisturbed where it was not.
  [[nodiscard]] NamedValues named(const ConditionsParameters& parameters = {}) const;

 private:
  double programs_ = 0;
  double clock_sum_mhz_ = 0;
  double clock_low_mhz_ = 0;
  double clock_high_mhz_ = 0;
  double started_seconds_ = 0;  // of the first; 0: not told
  std::set<std::uint64_t> carve_outs_bytes_;
  bool undisturbed_ = true;
};

}  // namespace gputopo::probe
