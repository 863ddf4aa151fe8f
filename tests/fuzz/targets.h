// The fuzz targets: each reads a file or a text of a stranger and returns whether it accepted it. An Error is a
// refusal, and anything else that is thrown is a fault.
#pragma once

#include <string_view>

namespace gputopo::fuzz {

// Reads a report, then renders, compares and checks it.
bool report(std::string_view bytes);
// Reads the content of a recording (CBOR, not compressed), then replays a small discovery.
bool recording(std::string_view bytes);
// Reads a machine file, then runs a few programs on the machine.
bool machine(std::string_view bytes);
// Reads a kernel file, then predicts its time on a GPU of which all is known.
bool kernel(std::string_view bytes);
// Reads a store of a fleet, then judges it and writes it again.
bool store(std::string_view bytes);
// Parses a command line, an argument a line.
bool command_line(std::string_view bytes);
// A report whose names and texts are the lines, in Prometheus' format and in the forms that make texts harmless: what
// these forms are to hold is checked.
bool names(std::string_view bytes);

}  // namespace gputopo::fuzz
