// Runs the programs of probes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/device.h"
#include "gputopo/model.h"
#include "probe/bench/conditions.h"
#include "probe/bench/parameters.h"

namespace gputopo::probe {

// DeviceSession::run throws these to end a probe; the discovery turns them into unavailable attributes.
class Stopped : public Error {
 public:
  Stopped() : Error("the user ended the run") {}
};
class OverBudget : public Error {
 public:
  OverBudget() : Error("the time budget ran out; increase it with --budget") {}
};
// The samples do not decide. what() says why.
class Inconclusive : public Error {
 public:
  using Error::Error;
};
// The element does not exist on this device. what() gives the evidence.
class NotPresent : public Error {
 public:
  using Error::Error;
};

// Other programs used the device during every attempt. what() gives the evidence.
class Disturbed : public Error {
 public:
  using Error::Error;
};

struct SessionOptions {
  double budget_seconds = 60;
  std::uint64_t seed = 1;
  bool keep_samples = true;
  std::uint64_t carve_out_bytes = 0;  // for programs that request none
  const std::atomic<bool>* stop = nullptr;
  bool profile = false;
  std::function<void(const Program&)> on_program;
  std::function<void(const std::string&)> on_log;
};

// How often and when to repeat programs that met contention (ProgramResult::had_contention).
struct Patience {
  // Repeats of one batch. Neighbors work in bursts: the pauses double each time, so that they outlast a burst of half
  // a second.
  int max_repeats = 8;
  double first_pause_seconds = 0.01;
  // Seconds that the futile pauses of a discovery may take together, which soon exposes a neighbor that never rests.
  // After that, a batch gets one repeat without a pause.
  double all_pauses_seconds = 4;
};

// Shared by all findings of a discovery: the device, the clock, the budget, the stop flag and the program counters.
class DeviceSession {
 public:
  DeviceSession(Device& device, SessionOptions options);
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  ~DeviceSession();

  [[nodiscard]] const DeviceInfo& info() const { return device_.info(); }
  // Whether programs can use `space` on this device.
  [[nodiscard]] bool has_space(Space space) const;
  // Throws NotSupportedError if programs cannot use `space`.
  void require_space(Space space) const;
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const SessionOptions& options() const { return options_; }
  [[nodiscard]] double elapsed_seconds() const;
  [[nodiscard]] std::uint64_t programs_run() const { return programs_run_; }
  // The conditions of all programs so far.
  [[nodiscard]] const Conditions& conditions() const { return conditions_; }
  // Empty if no profile is requested.
  [[nodiscard]] std::optional<DeviceTimes> device_times() const {
    return options_.profile ? std::optional(device_.times()) : std::nullopt;
  }
  [[nodiscard]] std::vector<NamedCallTimes> call_times() const { return device_.call_times(); }
  [[nodiscard]] std::vector<std::string> device_warnings() { return device_.warnings(); }
  [[nodiscard]] std::optional<DeviceHealth> device_health() { return device_.health(); }

  // Logs one line for --verbose: a decision and its reason.
  void log(const std::string& line) const;

  // See Device::expect().
  void expect(std::span<const Program> programs) { device_.expect(programs); }

  // Programs that ran again because they met contention.
  [[nodiscard]] std::uint64_t programs_repeated() const { return programs_repeated_; }

  // Throws Stopped, OverBudget, Disturbed and what the device throws.
  [[nodiscard]] std::vector<ProgramResult> run(const std::vector<Program>& programs);

 private:
  [[nodiscard]] bool over_budget() const { return elapsed_seconds() > options_.budget_seconds; }
  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  [[nodiscard]] std::vector<ProgramResult> run_until_undisturbed(const std::vector<Program>& programs);
  [[nodiscard]] std::vector<ProgramResult> run_once(const std::vector<Program>& programs);
  // Replaces the results of programs that met contention by results without it.
  void repeat_disturbed(const std::vector<Program>& programs, std::vector<ProgramResult>& results);

  Device& device_;
  SessionOptions options_;
  Patience patience_;
  double paused_in_vain_ = 0;  // seconds
  std::uint64_t programs_repeated_ = 0;
  Parameters parameters_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t programs_run_ = 0;
  Conditions conditions_;
};

// Runs the programs of one finding and keeps their conditions. Each finding has its own ProbeRunner.
class ProbeRunner {
 public:
  explicit ProbeRunner(DeviceSession& bench) : session_(bench) {}

  [[nodiscard]] const DeviceInfo& info() const { return session_.info(); }
  [[nodiscard]] const Parameters& parameters() const { return session_.parameters(); }
  // The vendor's name for an SM.
  [[nodiscard]] std::string unit_name() const { return gputopo::unit_name(info().vendor); }
  [[nodiscard]] std::uint64_t seed() const { return session_.options().seed; }
  [[nodiscard]] bool keep_samples() const { return session_.options().keep_samples; }

  [[nodiscard]] std::vector<ChaseResult> chase(const std::vector<ChaseProgram>& programs);
  [[nodiscard]] std::vector<InstructionResult> code(const std::vector<InstructionProgram>& programs);
  [[nodiscard]] std::vector<AccessResult> access(const std::vector<AccessProgram>& programs);
  [[nodiscard]] std::vector<ClusterResult> cluster(const std::vector<ClusterProgram>& programs);
  [[nodiscard]] std::vector<OperationResult> operation(const std::vector<OperationProgram>& programs);
  [[nodiscard]] std::vector<OccupancyResult> occupancy(const std::vector<OccupancyProgram>& programs);
  [[nodiscard]] std::vector<LaunchResult> launch(const std::vector<LaunchProgram>& programs);
  [[nodiscard]] StreamResult stream(const StreamProgram& program);
  // See Device::expect().
  void expect(std::span<const Program> programs) { session_.expect(programs); }

  // Conditions of the programs that ran in this ProbeRunner.
  [[nodiscard]] const Conditions& conditions() const { return conditions_; }
  // A ProbeRunner for a part of the finding that needs its own conditions.
  [[nodiscard]] ProbeRunner another() const { return ProbeRunner(session_); }

  // Size of the largest cache that SMs share: the vendor's figure, or a guess.
  [[nodiscard]] std::uint64_t last_cache_bytes() const {
    const std::uint64_t l2 = info().l2_bytes.value_or(parameters().l2_guess_bytes);
    return std::max(l2, info().l3_bytes.value_or(0));
  }
  // Whether last_cache_bytes() is the vendor's figure for the last cache, so that no larger one lies behind it.
  [[nodiscard]] bool is_last_cache_reported() const {
    return vendor_of(info().vendor) == Vendor::kAmd ? info().l3_bytes.has_value() : info().l2_bytes.has_value();
  }
  [[nodiscard]] std::uint64_t last_cache_evictor_bytes() const {
    return static_cast<std::uint64_t>(parameters().last_cache_evictor_factor * static_cast<double>(last_cache_bytes()));
  }

  void log(const std::string& line) const { session_.log(line); }

 private:
  template <typename Kind>
  [[nodiscard]] std::vector<ResultOf<Kind>> run_all(const std::vector<Kind>& programs);

  DeviceSession& session_;
  Conditions conditions_;
};

}  // namespace gputopo::probe
