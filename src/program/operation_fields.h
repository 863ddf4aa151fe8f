// The fields of operation programs and their validation.
#pragma once

#include <string>

#include "gputopo/program/operation.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr auto kNames<OperationId> = std::to_array<std::string_view>({
#define GPUTOPO_OPERATION(id, name, ...) name,
#include "gputopo/operations.def"
});

void visit_fields(Is<OperationProgram> auto& program, auto&& visit) {
  visit("operation", program.operation);
  visit("beside", program.beside);
  visit("streams", program.streams);
  visit("warps", program.warps);
  visit("sides", program.sides, 1u);
  visit("every_sm", program.every_sm);
  visit("cluster_size", program.cluster_size, 0u);
  visit("rounds", program.rounds);
  visit("metered", program.metered, false);
}

void visit_fields(Is<OperationResult> auto& result, auto&& visit) {
  visit("sms", result.sms);
  visit("cycles", result.cycles);
  visit("code_bytes", result.code_bytes);
  visit("instruction_bytes", result.instruction_bytes);
  visit("refusal", result.refusal);
  visit("energy_joules", result.energy_joules, 0.0);
}

void validate_kind(const OperationProgram& program);
[[nodiscard]] std::string result_mismatch(const OperationProgram& program, const OperationResult& result);

}  // namespace gputopo
