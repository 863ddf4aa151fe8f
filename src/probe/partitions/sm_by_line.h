// Latencies of the same L2 lines for every SM, alone: the way from each SM to the slice of each line. Atomic additions
// execute where the line is at home; loads may find a nearer copy. What fools it: a device that runs a program on
// another SM than the named one; such SMs are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct SmByLine {
  std::vector<std::uint32_t> sms;         // SMs that programs could be sent to
  std::vector<std::uint64_t> line_bytes;  // where each line lies in the array
  // Raw cycles in L2, by SM, line and pass.
  std::vector<std::vector<std::vector<std::uint32_t>>> latencies;
};

// Uses `lines` lines at random places. Throws NotSupportedError if the device has no atomics.
[[nodiscard]] SmByLine add_from_every_sm(ProbeRunner& runner, const Cache& l2, std::size_t lines, std::uint64_t passes);

}  // namespace gputopo::probe
