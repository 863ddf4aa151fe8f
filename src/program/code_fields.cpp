#include "program/code_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {
namespace {

void validate_counted(const InstructionProgram& program, const CodeStep& step, const std::string& field) {
  const CodeStep& first = program.steps.front();
  require(step.kind == first.kind && step.count == first.count, field,
          "must have the kind and count of the first step");
  require(step.count <= max_count(step.kind), field + ".count", "exceeds the number of available jumps or operands");
  const bool is_aligned = step.kind == CodeStepKind::kAlignedJumps;
  require(step.first < (is_aligned ? kAlignments : 1), field + ".first",
          "must be less than 32 for aligned jumps, and 0 for other jumps and operands");
  require(!is_aligned || step.count == kManyAlignedJumps || step.count == kFewAlignedJumps, field + ".count",
          "must be 3 or 6 for aligned jumps");
  require(step.lead == 0 && step.stride_bytes == kConstantStepBytes, field,
          "must not set lead or stride_bytes for jumps and operands");
}

void validate_code_step(const InstructionProgram& program, std::size_t index) {
  const CodeStep& step = program.steps[index];
  const std::string field = fmt::format("steps[{}]", index);
  constexpr std::uint32_t kMaxPasses = 1024;
  require(step.actor < program.actors.size(), field + ".actor", "must be less than the number of actors");
  require(step.passes >= 1 && step.passes <= kMaxPasses, field + ".passes", "must be 1 to 1024");
  require(step.count >= 1, field + ".count", "must be at least 1");
  if (step.kind == CodeStepKind::kConstants) {
    for (const auto& [name, bytes] :
         {std::pair(".first", step.first), {".count", step.count}, {".stride_bytes", step.stride_bytes}}) {
      require(bytes % kConstantStepBytes == 0, field + name, "must be a multiple of 64 for constants");
    }
    require(step.stride_bytes >= 1, field + ".stride_bytes", "must not be 0");
    require(step.lead == 0, field + ".lead", "must be 0 for constants");
    require(step.first <= kConstantBankBytes && step.count <= kConstantBankBytes - step.first, field + ".count",
            "extends past the 64 KiB of constant memory");
    return;
  }
  const bool is_any_counted =
      std::ranges::any_of(program.steps, [](const CodeStep& other) { return is_counted(other.kind); });
  if (is_any_counted) return validate_counted(program, step, field);
  require(step.stride_bytes == kConstantStepBytes, field + ".stride_bytes", "must be 64 except for constants");
  require(step.first % kCodeEntryInstructions == 0, field + ".first", "must be a multiple of 4096");
  require(step.count % kCodeBlockInstructions == 0, field + ".count", "must be a multiple of 32");
  require(step.first < kMaxCodeInstructions && step.count <= kMaxCodeInstructions - step.first, field + ".count",
          "extends past the 24192 available instructions");
  require(step.lead <= kCodeLeadInstructions && step.lead % kCodeLeadStep == 0, field + ".lead",
          "must be an even number up to 128");
  require(step.lead == 0 || (step.first == 0 && step.count <= kMaxCodeBehindLead), field + ".lead",
          "must be 0 unless first is 0 and count is at most 7680");
}

}  // namespace

std::string_view to_string(CodeStepKind kind) { return name_of(kind); }

void validate_kind(const InstructionProgram& program) {
  require(!program.actors.empty(), "actors", "must not be empty");
  require(!program.steps.empty(), "steps", "must not be empty");
  constexpr std::uint32_t kMaxWarps = 8;
  std::vector<std::uint32_t> sms;
  for (const CodeActor& actor : program.actors) {
    require(actor.warp < kMaxWarps, "actors", "must name a warp below 8");
    require(actor.sm.has_value() == program.actors[0].sm.has_value(), "actors", "must all name an SM, or all omit it");
    if (actor.sm && std::find(sms.begin(), sms.end(), *actor.sm) == sms.end()) sms.push_back(*actor.sm);
  }
  require(sms.size() <= 2, "actors", "must name at most two SMs");
  const bool begins_with_constants = program.steps.front().kind == CodeStepKind::kConstants;
  require(!begins_with_constants ||
              std::ranges::none_of(program.steps, [](const CodeStep& step) { return is_counted(step.kind); }),
          "steps", "must begin with jumps or operands if they contain any");
  for (std::size_t i = 0; i < program.steps.size(); ++i) validate_code_step(program, i);
}

std::string result_mismatch(const InstructionProgram& program, const InstructionResult& result) {
  if (result.sms.size() != program.actors.size()) return "does not have one SM for each actor";
  if (result.pass_cycles.size() != program.steps.size()) return kNotEachStep;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (result.pass_cycles[i].size() != program.steps[i].passes) {
      return fmt::format("steps[{}] does not have one time for each pass", i);
    }
  }
  if (std::string wrong = amount_misfit({result.block_bytes}); !wrong.empty()) return wrong;
  return sm_misfit(result.sms);
}

}  // namespace gputopo
