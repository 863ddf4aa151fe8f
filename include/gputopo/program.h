// Programs: experiments as plain data. A probe writes them, a device runs them, and neither knows the other. Each kind
// has its own header in program/; text and recordings call it by its kKind.
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

// The result of a program of this kind.
template <typename Kind>
using ResultOf = typename Kind::Result;

// The results of the kinds of a variant, in their order.
template <typename Kinds>
struct ResultOfOneOf;
template <typename... Kinds>
struct ResultOfOneOf<std::variant<Kinds...>> {
  using Type = std::variant<ResultOf<Kinds>...>;
};

// The result of one program.
struct ProgramResult {
  ResultOfOneOf<Program>::Type data;
  double sm_clock_mhz = 0;                   // measured during the program (SM cycles over wall time)
  std::uint64_t shared_carve_out_bytes = 0;  // the actual carve-out of the run; 0 if there is none
  // False if the device knows of a disturbance: other work ran on its SMs, its clock was throttled, or the program was
  // repeated because its blocks met others. True if nothing is known.
  bool undisturbed = true;
  // Another program may have used the GPU for part of the time. The caches then lost their contents, so the result is
  // no sample. False if nothing is known.
  bool had_contention = false;
  // Start by the host's clock, in seconds since the device was opened; 0 if unknown, as with the simulator.
  double started_seconds = 0;
  friend bool operator==(const ProgramResult&, const ProgramResult&) = default;
};

// Throws UsageError that names the field if a program is impossible (no arrays, stride below the minimum, an index out
// of range, a constant array over 64 KiB, ...). Devices call it before they run anything.
void validate(const Program& program);

// The text form for --dump-program, recordings and tests: one program per line, as key=value words. parse_program()
// throws FormatError. parse_program(to_text(p)) == p.
[[nodiscard]] std::string to_text(const Program& program);
[[nodiscard]] Program parse_program(std::string_view text);

}  // namespace gputopo
