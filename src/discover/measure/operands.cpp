// Constants that are operands of instructions.
#include "probe/code/operands.h"

#include "discover/measure/step.h"

namespace gputopo {
namespace {

// The nearest constant cache whose size interval overlaps that of the operand cache; empty if there is none.
std::string constant_cache_like(Context& context, const probe::FoundOperandCache& cache) {
  for (const ElementId id : {ElementId::kConstantL1, ElementId::kConstantL15}) {
    const Attribute& size = context.attribute(id, AttributeId::kSize);
    if (!size.available()) continue;
    const double bytes = size.number().value_or(0);
    if (size.low.value_or(bytes) <= cache.interval.high && size.high.value_or(bytes) >= cache.interval.low) {
      return std::string(info_of(id).name);
    }
  }
  return "";
}

Attribute operand_size(Context& context, const ElementInfo&) {
  return probe::operand_cache_size(context.code.operands(), context.keep_samples());
}

Attribute operand_miss_penalty(Context& context, const ElementInfo&) {
  return probe::operand_miss_penalty(context.code.operands());
}

Attribute operand_ways(Context& context, const ElementInfo&) { return probe::operand_ways(context.code.operands()); }

Attribute operand_shared_with(Context& context, const ElementInfo&) {
  const probe::FoundOperandCache& cache = context.code.operands();
  const std::string of_loads = constant_cache_like(context, cache);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_operand_sharing(runner, cache, of_loads);
}

std::vector<Program> operand_kernels(const DeviceInfo&) {
  return {InstructionProgram{.actors = {{}}, .steps = {{.kind = CodeStepKind::kApartOperands, .count = 1}}}};
}

constexpr Step kOperandsSteps[] = {
    {ElementKind::kOperandCache, AttributeId::kSize, operand_size, operand_kernels},
    {ElementKind::kOperandCache, AttributeId::kMissPenalty, operand_miss_penalty, operand_kernels},
    {ElementKind::kOperandCache, AttributeId::kWays, operand_ways, operand_kernels},
    {ElementKind::kOperandCache, AttributeId::kSharedWith, operand_shared_with, operand_kernels},
};

}  // namespace

std::span<const Step> operand_steps() { return kOperandsSteps; }

}  // namespace gputopo
