// The fields of every kind of program, for code that handles all kinds alike.
#pragma once

#include "gputopo/program.h"
#include "program/access_fields.h"
#include "program/chase_fields.h"
#include "program/cluster_fields.h"
#include "program/code_fields.h"
#include "program/launch_fields.h"
#include "program/occupancy_fields.h"
#include "program/operation_fields.h"
#include "program/stream_fields.h"

namespace gputopo {

// The fields that every result has beside its data.
void visit_fields(Is<ProgramResult> auto& result, auto&& visit) {
  visit("clock", result.sm_clock_mhz);
  visit("carve_out", result.shared_carve_out_bytes);
  visit("undisturbed", result.undisturbed, true);
  visit("company", result.had_contention, false);
  visit("started", result.started_seconds, 0.0);
}

// All kinds of programs, in the order of Program.
template <typename Variant>
struct KindsOf;
template <typename... Kinds>
struct KindsOf<std::variant<Kinds...>> {
  static constexpr std::array<std::string_view, sizeof...(Kinds)> kNames{Kinds::kKind...};
  [[nodiscard]] static std::array<Program, sizeof...(Kinds)> empty_programs() { return {Kinds{}...}; }
};
using ProgramKinds = KindsOf<Program>;

}  // namespace gputopo
