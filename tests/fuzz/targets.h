// What is fuzzed: what gputopo does with files and texts of strangers. An Error is an answer, anything else is a fault.
#pragma once

#include <string_view>

namespace gputopo::fuzz {

// Reads a report, then renders, compares and checks it.
void report(std::string_view bytes);
// Reads the content of a recording (CBOR, not compressed), then replays a small discovery.
void recording(std::string_view bytes);
// Reads a machine file, then runs a few programs on the machine.
void machine(std::string_view bytes);
// Reads a kernel file, then predicts its time on a GPU of which all is known.
void kernel(std::string_view bytes);
// Reads a store of a fleet, then judges it and writes it again.
void store(std::string_view bytes);
// Parses a command line, an argument a line.
void command_line(std::string_view bytes);
// A report whose names and texts are the lines, in Prometheus' format and in the forms that make texts harmless: what
// these forms are to hold is checked.
void names(std::string_view bytes);

}  // namespace gputopo::fuzz
