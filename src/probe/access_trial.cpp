#include "probe/access_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {
namespace {

// No load or atomic of any GPU comes back sooner; an addition alone takes four cycles.
constexpr double kLeastLatencyCycles = 8;
// No store is issued in less than half a cycle.
constexpr double kLeastStoreCycles = 0.5;

std::vector<double> mean_cycles(const std::vector<AccessResult>& copies) {
  std::vector<double> means;
  for (const AccessResult& copy : copies) means.push_back(copy.mean_cycles);
  return means;
}

}  // namespace

stats::Interval interval_around(const std::vector<double>& values, double value, double least_margin) {
  const double margin = std::max(least_margin, kClockDrift * value);
  const stats::Interval students = stats::mean_interval(values);
  return {std::min(students.low, value - margin), std::max(students.high, value + margin)};
}

stats::Interval timing_interval(const std::vector<double>& cycles, double value) {
  constexpr double kLeastMarginCycles = 0.25;  // what the ends of a chain leave of the timer's cost
  return interval_around(cycles, value, kLeastMarginCycles);
}

double AccessTrial::cycles() const { return stats::median(mean_cycles(copies)); }

stats::Interval AccessTrial::interval() const { return timing_interval(mean_cycles(copies), cycles()); }

std::vector<double> AccessTrial::rates() const {
  std::vector<double> rates;
  for (const AccessResult& copy : copies) {
    rates.push_back(static_cast<double>(program.warps) * program.accesses / copy.total_cycles);
  }
  return rates;
}

double AccessTrial::rate() const { return stats::median(rates()); }

std::vector<AccessTrial> run_trials(Lab& lab, const std::vector<AccessProgram>& programs) {
  std::vector<AccessTrial> trials;
  for (const AccessProgram& program : programs) trials.push_back({program, {}});
  for (std::uint32_t copy = 0; copy < kTrialCopies; ++copy) {
    const std::vector<AccessResult> results = lab.access(programs);
    for (std::size_t i = 0; i < results.size(); ++i) trials[i].copies.push_back(results[i]);
  }
  for (const AccessTrial& trial : trials) {
    const double least = trial.program.op == AccessOp::kStore ? kLeastStoreCycles : kLeastLatencyCycles;
    if (trial.cycles() < least) {
      throw Inconclusive(fmt::format("a {} took {:.1f} cycles, which none can: the program did not run as written",
                                     to_string(trial.program.op), trial.cycles()));
    }
  }
  return trials;
}

std::uint32_t most_warps(const Lab& lab) {
  const DeviceInfo& info = lab.info();
  const std::uint64_t held = info.max_threads_per_block.value_or(1024) / info.warp_size;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(held, 1, kMostAccessWarps));
}

double rounded(double value) { return std::round(100 * value) / 100; }

}  // namespace gputopo::probe
