#include "probe/bench/access_trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "stats/outliers.h"

namespace gputopo::probe {
namespace {

std::vector<double> mean_cycles(const std::vector<AccessResult>& copies) {
  std::vector<double> means;
  for (const AccessResult& copy : copies) means.push_back(copy.mean_cycles);
  return means;
}

}  // namespace

double AccessTrial::cycles() const {
  const std::vector<double> means = mean_cycles(copies);
  return program.warps == 1 ? stats::undisturbed_mean(means) : stats::median(means);
}

stats::Interval AccessTrial::interval() const {
  const std::vector<double> means = mean_cycles(copies);
  stats::Interval interval = timing_interval(means, cycles());
  // Disturbances only lengthen a timing, so the fastest copy may be the only undisturbed one.
  if (is_disturbed()) interval.low = std::min(interval.low, *std::ranges::min_element(means));
  return interval;
}

bool AccessTrial::is_disturbed() const {
  const stats::Interval interval = timing_interval(mean_cycles(copies), cycles());
  return program.warps == 1 && interval.high - interval.low > kAccessTrial.disturbed_width * cycles();
}

std::vector<double> AccessTrial::rates() const {
  std::vector<double> rates;
  for (const AccessResult& copy : copies) {
    rates.push_back(static_cast<double>(program.warps) * program.accesses / copy.total_cycles);
  }
  return rates;
}

double AccessTrial::rate() const { return stats::median(rates()); }

std::vector<AccessTrial> run_trials(ProbeRunner& runner, const std::vector<AccessProgram>& programs) {
  std::vector<AccessTrial> trials;
  for (const AccessProgram& program : programs) trials.push_back({program, {}});
  for (std::uint32_t copy = 0; copy < kAccessTrial.copies; ++copy) {
    const std::vector<AccessResult> results = runner.access(programs);
    for (std::size_t i = 0; i < results.size(); ++i) trials[i].copies.push_back(results[i]);
  }
  for (const AccessTrial& trial : trials) {
    const bool stores = trial.program.op == AccessOp::kStore;
    const double least = stores ? kAccessTrial.least_store_cycles : kAccessTrial.least_latency_cycles;
    if (trial.cycles() < least) {
      throw Inconclusive(fmt::format("a {} took {:.1f} cycles, which is impossible: the program did not run as written",
                                     to_string(trial.program.op), trial.cycles()));
    }
  }
  return trials;
}

std::vector<AccessTrial> run_steady_trials(ProbeRunner& runner, const std::vector<AccessProgram>& programs) {
  std::vector<AccessTrial> trials = run_trials(runner, programs);
  for (std::uint32_t round = 0; round < kAccessTrial.more_rounds && trials.front().is_disturbed(); ++round) {
    const std::vector<AccessTrial> more = run_trials(runner, programs);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      trials[i].copies.insert(trials[i].copies.end(), more[i].copies.begin(), more[i].copies.end());
    }
  }
  return trials;
}

std::uint32_t max_warps(const ProbeRunner& runner) {
  const DeviceInfo& info = runner.info();
  const std::uint64_t held = info.max_threads_per_block.value_or(1024) / info.warp_size;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(held, 1, kMaxAccessWarps));
}

}  // namespace gputopo::probe
