// What is fuzzed: what gputopo does with a file of a stranger. An Error is an answer, anything else is a fault.
#pragma once

#include <string_view>

namespace gputopo::fuzz {

// Reads a report, then renders, compares and checks it.
void report(std::string_view bytes);
// Reads the content of a recording (CBOR, not compressed), then replays a small discovery.
void recording(std::string_view bytes);
// Reads a machine file, then runs a few programs on the machine.
void machine(std::string_view bytes);

}  // namespace gputopo::fuzz
