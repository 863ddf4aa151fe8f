// What lines of L2 take that every SM accesses, alone: the way from each SM to the slice that each line lies in. Atomic
// additions are performed where the line is at home; loads may find a copy that is nearer. What fools it: a device that
// runs a program elsewhere than on the SM that it names; those are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct SmByLine {
  std::vector<std::uint32_t> sms;         // those that programs could be sent to
  std::vector<std::uint64_t> line_bytes;  // where each line lies in the array
  // By SM, line and pass, raw cycles in L2.
  std::vector<std::vector<std::vector<std::uint32_t>>> latencies;
};

// Of `lines` lines at random places. Throws NotSupportedError where the device has no atomics.
[[nodiscard]] SmByLine add_from_every_sm(Lab& lab, const Cache& l2, std::size_t lines, std::uint64_t passes);

}  // namespace gputopo::probe
