// The fields of chase programs and their validation.
#pragma once

#include <string>
#include <tuple>

#include "gputopo/program/chase.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr std::array<std::string_view, 3> kNames<Order>{"sequential", "reversed", "shuffled"};
template <>
inline constexpr std::array<std::string_view, 8> kNames<StepKind>{"warm",  "touch",  "timed",  "counted",
                                                                  "store", "paired", "atomic", "touch_chain"};

void visit_fields(Is<ChaseArray> auto& array, auto&& visit) {
  visit("space", array.space);
  visit("bytes", array.bytes);
  visit("stride", array.stride_bytes);
  visit("order", array.order);
  visit("second_order", array.second_order);
  visit("seed", array.seed);
  visit("skew", array.skew_bytes);
  visit("alias_of", array.alias_of);
  visit("stagger", std::tie(array.stagger_bytes, array.stagger_window_bytes), std::tuple(0u, 1u));
  visit("elements", array.elements);
}

void visit_fields(Is<ChaseActor> auto& actor, auto&& visit) {
  visit("warp", actor.warp);
  visit("lane", actor.lane);
  visit("sm", actor.sm);
}

void visit_fields(Is<ChaseStep> auto& step, auto&& visit) {
  visit("kind", step.kind);
  visit("actor", step.actor);
  visit("array", step.array);
  visit("loads", step.loads);
  visit("chain", step.chain);
  visit("first", step.first);
}

void visit_fields(Is<ChaseProgram> auto& program, auto&& visit) {
  visit("exclusive", program.exclusive);
  visit("carve_out", program.shared_carve_out_bytes);
  visit("timed_cap", program.timed_cap);
  visit("l2_fetch", program.l2_fetch_bytes, 0u);
  visit("sm", program.sm);
  visit("array", program.arrays);
  visit("actor", program.actors);
  visit("step", program.steps);
}

void visit_fields(Is<StepResult> auto& result, auto&& visit) {
  visit("loads", result.loads);
  visit("total_cycles", result.total_cycles);
  visit("latencies", result.latencies);
  visit("histogram", Sparse{result.histogram});
}

void visit_fields(Is<ChaseResult> auto& result, auto&& visit) {
  visit("sm", result.sm);
  visit("steps", result.steps);
}

// Implements validate() for chase programs.
void validate_kind(const ChaseProgram& program);

// Why no device could give this answer ("steps[3] has 7 latencies, but its program keeps 8"); empty if one could.
[[nodiscard]] std::string result_mismatch(const ChaseProgram& program, const ChaseResult& result);

}  // namespace gputopo
