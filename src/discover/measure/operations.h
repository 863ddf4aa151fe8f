// The steps of operations: one for each class, because its operations share compiled modules, and one for all
// operations of which only the latency is wanted.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "discover/measure/scheduler.h"
#include "gputopo/model.h"
#include "gputopo/operation.h"
#include "probe/bench/probe_runner.h"

namespace gputopo {

// The reason for attributes that only --full measures.
inline constexpr std::string_view kOnlyInFull = "skipped to save time; --full measures it";

struct WantedOperations {
  std::vector<OperationId> all;        // with all of their attributes
  std::vector<OperationId> latencies;  // with their latency only
  bool pipes = false;                  // the execution units that operations share
  [[nodiscard]] bool empty() const { return all.empty() && latencies.empty() && !pipes; }
};

class OperationSteps {
 public:
  // Results are in the order of the catalogue, whatever the order of `wanted`.
  OperationSteps(probe::DeviceSession& bench, Scheduler& scheduler, const WantedOperations& wanted);

  [[nodiscard]] std::size_t count() const { return classes_.size() + (latencies_.empty() ? 0 : 1) + (pipes_ ? 1 : 0); }
  // For Device::expect().
  [[nodiscard]] std::vector<Program> expected() const;
  void measure();
  // All requested operations: what was measured so far, and unavailable values for the others. Operations that are
  // measured in every run are left out if this GPU lacks them.
  [[nodiscard]] std::vector<Instruction> found() const;
  [[nodiscard]] const std::optional<Attribute>& pipes() const { return pipes_; }

 private:
  void measure_pipes();
  void measure_class(const std::vector<std::size_t>& places);
  void measure_latencies();

  probe::DeviceSession& session_;
  Scheduler& scheduler_;
  std::vector<OperationId> wanted_;
  std::vector<std::pair<OperationClass, std::vector<std::size_t>>> classes_;  // places in wanted_
  std::vector<OperationId> latencies_;
  std::vector<Instruction> found_;          // of wanted_
  std::vector<Instruction> found_latency_;  // of latencies_
  std::optional<Attribute> pipes_;
};

}  // namespace gputopo
