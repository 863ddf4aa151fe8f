// The fields of instruction programs and their validation.
#pragma once

#include <string>

#include "gputopo/program/code.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr std::array<std::string_view, 8> kNames<CodeStepKind>{
    "run",           "constants",      "near_jumps",    "far_jumps",
    "aligned_jumps", "apart_operands", "near_operands", "close_operands"};

void visit_fields(Is<CodeActor> auto& actor, auto&& visit) {
  visit("warp", actor.warp);
  visit("sm", actor.sm);
}

void visit_fields(Is<CodeStep> auto& step, auto&& visit) {
  visit("kind", step.kind);
  visit("actor", step.actor);
  visit("first", step.first);
  visit("count", step.count);
  visit("passes", step.passes);
  if (step.kind == CodeStepKind::kConstants) {
    visit("stride", step.stride_bytes, kConstantStepBytes);
  } else if (step.kind == CodeStepKind::kRun) {
    visit("lead", step.lead, 0u);
  }
}

void visit_fields(Is<InstructionProgram> auto& program, auto&& visit) {
  visit("actor", program.actors);
  visit("step", program.steps);
}

void visit_fields(Is<InstructionResult> auto& result, auto&& visit) {
  visit("pass_cycles", result.pass_cycles);
  visit("sms", result.sms);
  visit("block_bytes", result.block_bytes);
  visit("loop_bytes", result.loop_bytes);
}

void validate_kind(const InstructionProgram& program);
[[nodiscard]] std::string result_mismatch(const InstructionProgram& program, const InstructionResult& result);

}  // namespace gputopo
