// Where probes run their programs.
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

// Thrown by Bench::run to end a probe; the discovery turns them into unavailable attributes.
class Stopped : public Error {
 public:
  Stopped() : Error("ended by the user") {}
};
class OverBudget : public Error {
 public:
  OverBudget() : Error("the time budget ran out; give more with --budget") {}
};
// The samples do not decide. what() says why.
class Inconclusive : public Error {
 public:
  using Error::Error;
};
// The element does not exist on this device. what() says how that was seen.
class NotPresent : public Error {
 public:
  using Error::Error;
};

// Other programs had the device whenever it was tried. what() says how that was seen.
class Disturbed : public Error {
 public:
  using Error::Error;
};

struct BenchOptions {
  double budget_seconds = 60;
  std::uint64_t seed = 1;
  bool keep_samples = true;
  std::uint64_t carve_out_bytes = 0;  // of programs that ask for none
  const std::atomic<bool>* stop = nullptr;
  bool profile = false;
  std::function<void(const Program&)> on_program;
  std::function<void(const std::string&)> on_log;
};

// What is done about programs that had company (ProgramResult::had_company).
struct Patience {
  // Of the programs of one batch. Neighbours work in bursts: the pauses between, each twice as long as the one before,
  // are to outlast one of half a second.
  int max_repeats = 8;
  double first_pause_seconds = 0.01;
  // All pauses of a discovery that did not help: beside a neighbour that never rests that is soon known. Then there is
  // one repeat more, at once.
  double all_pauses_seconds = 4;
};

// What all findings of a discovery share: the device, the clock, the budget, the stop flag. Counts the programs.
class Bench {
 public:
  Bench(Device& device, BenchOptions options);
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench();

  [[nodiscard]] const DeviceInfo& info() const { return device_.info(); }
  // Whether programs can use it here.
  [[nodiscard]] bool has_space(Space space) const;
  // Throws NotSupportedError where they cannot.
  void require_space(Space space) const;
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] const BenchOptions& options() const { return options_; }
  [[nodiscard]] double elapsed_seconds() const;
  [[nodiscard]] std::uint64_t programs_run() const { return programs_run_; }
  // Of all programs so far.
  [[nodiscard]] const Conditions& conditions() const { return conditions_; }
  // Nothing where no profile is wanted.
  [[nodiscard]] std::optional<DeviceTimes> device_times() const {
    return options_.profile ? std::optional(device_.times()) : std::nullopt;
  }
  [[nodiscard]] std::vector<NamedCallTimes> call_times() const { return device_.call_times(); }
  [[nodiscard]] std::vector<std::string> device_warnings() { return device_.warnings(); }

  // --verbose: one line of what was decided and why.
  void log(const std::string& line) const;

  // See Device::expect().
  void expect(std::span<const Program> programs) { device_.expect(programs); }

  // Programs that had company, and were run again.
  [[nodiscard]] std::uint64_t programs_repeated() const { return programs_repeated_; }

  // Throws Stopped, OverBudget, Disturbed and what the device throws.
  [[nodiscard]] std::vector<ProgramResult> run(const std::vector<Program>& programs);

 private:
  [[nodiscard]] bool over_budget() const { return elapsed_seconds() > options_.budget_seconds; }
  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  [[nodiscard]] std::vector<ProgramResult> run_until_undisturbed(const std::vector<Program>& programs);
  [[nodiscard]] std::vector<ProgramResult> run_once(const std::vector<Program>& programs);
  // Replaces the answers of programs that had company by ones that had none.
  void repeat_disturbed(const std::vector<Program>& programs, std::vector<ProgramResult>& results);

  Device& device_;
  BenchOptions options_;
  Patience patience_;
  double paused_in_vain_ = 0;  // seconds
  std::uint64_t programs_repeated_ = 0;
  Parameters parameters_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t programs_run_ = 0;
  Conditions conditions_;
};

// Where the programs of one finding run: what held meanwhile is theirs alone. Each finding has a Lab of its own.
class Lab {
 public:
  explicit Lab(Bench& bench) : bench_(bench) {}

  [[nodiscard]] const DeviceInfo& info() const { return bench_.info(); }
  [[nodiscard]] const Parameters& parameters() const { return bench_.parameters(); }
  // What the vendor calls an SM.
  [[nodiscard]] std::string unit_name() const { return gputopo::unit_name(info().vendor); }
  [[nodiscard]] std::uint64_t seed() const { return bench_.options().seed; }
  [[nodiscard]] bool keep_samples() const { return bench_.options().keep_samples; }

  [[nodiscard]] std::vector<ChaseResult> chase(const std::vector<ChaseProgram>& programs);
  [[nodiscard]] std::vector<InstructionResult> code(const std::vector<InstructionProgram>& programs);
  [[nodiscard]] std::vector<AccessResult> access(const std::vector<AccessProgram>& programs);
  [[nodiscard]] std::vector<ClusterResult> cluster(const std::vector<ClusterProgram>& programs);
  [[nodiscard]] std::vector<OperationResult> operation(const std::vector<OperationProgram>& programs);
  [[nodiscard]] std::vector<OccupancyResult> occupancy(const std::vector<OccupancyProgram>& programs);
  [[nodiscard]] std::vector<LaunchResult> launch(const std::vector<LaunchProgram>& programs);
  [[nodiscard]] StreamResult stream(const StreamProgram& program);
  // See Device::expect().
  void expect(std::span<const Program> programs) { bench_.expect(programs); }

  // Of the programs that ran here.
  [[nodiscard]] const Conditions& conditions() const { return conditions_; }
  // For a part of the finding with conditions of its own.
  [[nodiscard]] Lab another() const { return Lab(bench_); }

  // The largest cache that SMs share, and a footprint that evicts all of it. The vendor's figure, or a guess.
  [[nodiscard]] std::uint64_t last_cache_bytes() const {
    const std::uint64_t l2 = info().l2_bytes.value_or(parameters().l2_guess_bytes);
    return std::max(l2, info().l3_bytes.value_or(0));
  }
  // Whether that is a figure of the vendor's, and nothing larger may be behind it.
  [[nodiscard]] bool tells_last_cache() const {
    return vendor_of(info().vendor) == Vendor::kAmd ? info().l3_bytes.has_value() : info().l2_bytes.has_value();
  }
  [[nodiscard]] std::uint64_t last_cache_evictor_bytes() const {
    return static_cast<std::uint64_t>(parameters().last_cache_evictor_factor * static_cast<double>(last_cache_bytes()));
  }

  void log(const std::string& line) const { bench_.log(line); }

 private:
  template <typename Kind>
  [[nodiscard]] std::vector<ResultOf<Kind>> run_all(const std::vector<Kind>& programs);

  Bench& bench_;
  Conditions conditions_;
};

}  // namespace gputopo::probe
