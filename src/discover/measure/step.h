// How attributes are measured, as data: one step for each attribute of each kind of element in the catalogue.
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
  // Throws whatever probes and devices throw; each kind of failure has its own reason in reports.
  Attribute (*measure)(Context& context, const ElementInfo& element);
  // Programs for Device::expect(), if the step's code takes long to compile.
  std::vector<Program> (*expected)(const DeviceInfo& info) = nullptr;
  // Whether the step heats the GPU for seconds. Such steps run after all that depends on clocks.
  bool heats = false;
};

// For steps that only need a ProbeRunner.
template <Attribute (*kMeasure)(probe::ProbeRunner&)>
[[nodiscard]] Attribute measured_by(Context& context, const ElementInfo&) {
  return context.found_by(kMeasure);
}

// For steps whose kind of program has a single kernel.
template <typename Kind>
[[nodiscard]] std::vector<Program> one_kernel_of(const DeviceInfo&) {
  return {Kind{}};
}

// Defined in the source of each kind of element. This is the order of measurement; a step asks for results it needs.
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

// All steps, in the order of measurement.
[[nodiscard]] const std::vector<Step>& measure_steps();
// Nullptr if the catalogue has no such attribute for the kind.
[[nodiscard]] const Step* find_step(ElementKind kind, AttributeId attribute);

}  // namespace gputopo
