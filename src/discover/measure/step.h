// How attributes are measured, as data: one step for each attribute of each kind of element that the catalogue covers.
#pragma once

#include <span>
#include <vector>

#include "discover/measure/context.h"
#include "gputopo/catalogue.h"
#include "gputopo/model.h"

namespace gputopo {

struct Step {
  ElementKind kind;
  AttributeId attribute;
  // Throws what probes and devices throw; each such failure has a reason of its own in the report.
  Attribute (*measure)(Context& context, const ElementInfo& element);
  // Programs for Device::expect(), if its code takes long to compile.
  std::vector<Program> (*expected)(const DeviceInfo& info) = nullptr;
  // Whether it heats the GPU for seconds, and so comes after all that depends on clocks.
  bool heats = false;
};

// For steps that need nothing but a lab.
template <Attribute (*kMeasure)(probe::Lab&)>
[[nodiscard]] Attribute measured_by(Context& context, const ElementInfo&) {
  return context.found_by(kMeasure);
}

// For steps whose programs are of a kind that one kernel runs.
template <typename Kind>
[[nodiscard]] std::vector<Program> one_kernel_of(const DeviceInfo&) {
  return {Kind{}};
}

// The source of each kind of element defines its own. This is the order of the measurement; what needs another's result
// asks for it.
[[nodiscard]] std::span<const Step> cache_steps();
[[nodiscard]] std::span<const Step> cache_traffic_steps();  // after cache_steps(), of the same caches
[[nodiscard]] std::span<const Step> change_point_steps();
[[nodiscard]] std::span<const Step> partitioned_cache_steps();
[[nodiscard]] std::span<const Step> scratchpad_steps();
[[nodiscard]] std::span<const Step> memory_steps();
[[nodiscard]] std::span<const Step> tlb_steps();
[[nodiscard]] std::span<const Step> code_steps();
[[nodiscard]] std::span<const Step> operand_steps();
[[nodiscard]] std::span<const Step> cluster_steps();
[[nodiscard]] std::span<const Step> unit_steps();

// All of them.
[[nodiscard]] const std::vector<Step>& measure_steps();
// Nothing where the catalogue has no such cell.
[[nodiscard]] const Step* find_step(ElementKind kind, AttributeId attribute);

}  // namespace gputopo
