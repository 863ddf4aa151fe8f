// The operations of the compute units: a step for each class of them, for they share compiled modules.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "discover/scheduler.h"
#include "gputopo/model.h"
#include "gputopo/operation.h"
#include "probe/lab.h"

namespace gputopo {

class OperationSteps {
 public:
  // In the order of the catalogue, whatever that of `wanted`.
  OperationSteps(probe::Bench& bench, Scheduler& scheduler, const std::vector<OperationId>& wanted, bool pipes);

  [[nodiscard]] std::size_t count() const { return classes_.size() + (pipes_ ? 1 : 0); }
  // For Device::expect().
  [[nodiscard]] std::vector<Program> expected() const;
  void measure();
  // All that are wanted: what was measured so far, and of the others that they were not.
  [[nodiscard]] std::vector<Instruction> found() const { return found_; }
  // The units that they share, if wanted.
  [[nodiscard]] const std::optional<Attribute>& pipes() const { return pipes_; }

 private:
  void measure_pipes();
  void measure_class(const std::vector<std::size_t>& places);

  probe::Bench& bench_;
  Scheduler& scheduler_;
  std::vector<OperationId> wanted_;
  std::vector<std::pair<OperationClass, std::vector<std::size_t>>> classes_;  // places in wanted_
  std::vector<Instruction> found_;
  std::optional<Attribute> pipes_;
};

}  // namespace gputopo
