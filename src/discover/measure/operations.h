// The operations of the compute units: a step for each class of them, for they share compiled modules; one for those of
// which only the latency is wanted.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "discover/measure/scheduler.h"
#include "gputopo/model.h"
#include "gputopo/operation.h"
#include "probe/bench/lab.h"

namespace gputopo {

// Why attributes that --full measures are left out.
inline constexpr std::string_view kOnlyInFull = "takes its time; --full measures it";

struct WantedOperations {
  std::vector<OperationId> all;        // of which all attributes are wanted
  std::vector<OperationId> latencies;  // of which the latency is
  bool pipes = false;                  // the units that they share
  [[nodiscard]] bool empty() const { return all.empty() && latencies.empty() && !pipes; }
};

class OperationSteps {
 public:
  // In the order of the catalogue, whatever that of `wanted`.
  OperationSteps(probe::Bench& bench, Scheduler& scheduler, const WantedOperations& wanted);

  [[nodiscard]] std::size_t count() const { return classes_.size() + (latencies_.empty() ? 0 : 1) + (pipes_ ? 1 : 0); }
  // For Device::expect().
  [[nodiscard]] std::vector<Program> expected() const;
  void measure();
  // All that are wanted: what was measured so far, and of the others that they were not. Of those of which every run
  // tells the latency, what this GPU has.
  [[nodiscard]] std::vector<Instruction> found() const;
  // The units that they share, if wanted.
  [[nodiscard]] const std::optional<Attribute>& pipes() const { return pipes_; }

 private:
  void measure_pipes();
  void measure_class(const std::vector<std::size_t>& places);
  void measure_latencies();

  probe::Bench& bench_;
  Scheduler& scheduler_;
  std::vector<OperationId> wanted_;
  std::vector<std::pair<OperationClass, std::vector<std::size_t>>> classes_;  // places in wanted_
  std::vector<OperationId> latencies_;
  std::vector<Instruction> found_;          // of wanted_
  std::vector<Instruction> found_latency_;  // of latencies_
  std::optional<Attribute> pipes_;
};

}  // namespace gputopo
