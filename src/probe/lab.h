// Where probes run their programs: counts them, watches the clock and the stop flag.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "gputopo/device.h"
#include "gputopo/discover.h"
#include "gputopo/model.h"
#include "probe/parameters.h"

namespace gputopo::probe {

// Thrown by Lab::run to end a probe; the discovery turns them into unavailable attributes.
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

class Lab {
 public:
  Lab(Device& device, const DiscoverOptions& options);

  [[nodiscard]] const DeviceInfo& info() const { return device_.info(); }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  // What the vendor calls an SM.
  [[nodiscard]] std::string unit_name() const { return gputopo::unit_name(info().vendor); }
  [[nodiscard]] std::uint64_t seed() const { return options_.seed; }
  [[nodiscard]] bool keep_samples() const { return options_.keep_samples; }
  [[nodiscard]] double elapsed_seconds() const;
  [[nodiscard]] std::uint64_t programs_run() const { return programs_run_; }

  [[nodiscard]] std::vector<ChaseResult> chase(const std::vector<ChaseProgram>& programs);
  [[nodiscard]] std::vector<InstructionResult> code(const std::vector<InstructionProgram>& programs);
  [[nodiscard]] std::vector<AccessResult> access(const std::vector<AccessProgram>& programs);
  [[nodiscard]] std::vector<ClusterResult> cluster(const std::vector<ClusterProgram>& programs);
  [[nodiscard]] StreamResult stream(const StreamProgram& program);

  // SM clock and carve-out of the last program.
  [[nodiscard]] double sm_clock_mhz() const { return sm_clock_mhz_; }
  [[nodiscard]] std::uint64_t carve_out_bytes() const { return carve_out_bytes_; }

  // The largest cache that SMs share, and a footprint that evicts all of it. The vendor's figure, or a guess.
  [[nodiscard]] std::uint64_t last_cache_bytes() const {
    const std::uint64_t l2 = info().l2_bytes.value_or(parameters_.l2_guess_bytes);
    return std::max(l2, info().l3_bytes.value_or(0));
  }
  [[nodiscard]] std::uint64_t last_cache_evictor_bytes() const {
    return static_cast<std::uint64_t>(parameters_.last_cache_evictor_factor * static_cast<double>(last_cache_bytes()));
  }

  void log(const std::string& line) const;
  [[nodiscard]] std::vector<std::string> device_warnings() { return device_.warnings(); }

 private:
  [[nodiscard]] std::vector<ProgramResult> run(const std::vector<Program>& programs);
  // Of programs of one kind.
  template <typename Result, typename Kind>
  [[nodiscard]] std::vector<Result> run_all(const std::vector<Kind>& programs);

  Device& device_;
  const DiscoverOptions& options_;
  Parameters parameters_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t programs_run_ = 0;
  double sm_clock_mhz_ = 0;
  std::uint64_t carve_out_bytes_ = 0;
};

}  // namespace gputopo::probe
