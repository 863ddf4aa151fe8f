// Programs: experiments as plain data. A probe writes them, a device runs them, and neither knows the other. Each kind
// has a header of its own in program/; its kKind is what text and recordings call it.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "gputopo/program/access.h"
#include "gputopo/program/chase.h"
#include "gputopo/program/cluster.h"
#include "gputopo/program/code.h"
#include "gputopo/program/launch.h"
#include "gputopo/program/occupancy.h"
#include "gputopo/program/operation.h"
#include "gputopo/program/stream.h"
#include "gputopo/space.h"

namespace gputopo {

using Program = std::variant<ChaseProgram, StreamProgram, InstructionProgram, AccessProgram, ClusterProgram,
                             OperationProgram, OccupancyProgram, LaunchProgram>;

// What a device answers to a program of this kind.
template <typename Kind>
using ResultOf = typename Kind::Result;

// The answers to the kinds of a variant, in their order.
template <typename Kinds>
struct ResultOfOneOf;
template <typename... Kinds>
struct ResultOfOneOf<std::variant<Kinds...>> {
  using Type = std::variant<ResultOf<Kinds>...>;
};

// What a device answers to one program.
struct ProgramResult {
  ResultOfOneOf<Program>::Type data;
  double sm_clock_mhz = 0;                   // measured while it ran (SM cycles over wall time)
  std::uint64_t shared_carve_out_bytes = 0;  // the carve-out that it really ran with; 0 where there is none
  // False where the device knows of a disturbance: something else ran on its SMs meanwhile, its clock was held down, or
  // it had to be repeated because its blocks met others. True where nothing is known of that.
  bool undisturbed = true;
  // Another program may have had the GPU for a part of its time: what its caches held is gone after that. What it
  // answers is no sample. False where nothing is known of that.
  bool had_company = false;
  // When it was started, by the host's clock, since the device was opened; 0 where the device does not tell, as the
  // simulator.
  double started_seconds = 0;
  friend bool operator==(const ProgramResult&, const ProgramResult&) = default;
};

// Throws UsageError naming the field when a program is impossible (no arrays, stride under the minimum, an index out of
// range, a constant array over 64 KiB, ...). Devices call it before they run anything.
void validate(const Program& program);

// The text form, one program a line of key=value words, for --dump-program, recordings and tests; parse_program throws
// FormatError. parse_program(to_text(p)) == p.
[[nodiscard]] std::string to_text(const Program& program);
[[nodiscard]] Program parse_program(std::string_view text);

}  // namespace gputopo
