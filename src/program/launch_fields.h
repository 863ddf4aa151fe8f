// The fields of launch programs and their validation.
#pragma once

#include <string>

#include "gputopo/program/launch.h"
#include "program/fields.h"

namespace gputopo {

template <>
inline constexpr auto kNames<LaunchMethod> = std::to_array<std::string_view>({"calls", "graph"});

void visit_fields(Is<LaunchProgram> auto& program, auto&& visit) {
  visit("way", program.way);
  visit("launches", program.launches);
  visit("argument_bytes", program.argument_bytes);
}

void visit_fields(Is<LaunchResult> auto& result, auto&& visit) {
  visit("seconds", result.seconds);
  visit("submit_seconds", result.submit_seconds);
}

void validate_kind(const LaunchProgram& program);
[[nodiscard]] std::string result_mismatch(const LaunchProgram& program, const LaunchResult& result);

}  // namespace gputopo
