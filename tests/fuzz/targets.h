// The fuzz targets. Each reads an untrusted file or text and returns whether it accepts the input. An Error is a
// refusal; any other exception is a fault.
#pragma once

#include <string_view>

namespace gputopo::fuzz {

// Reads a report, then renders, compares and checks it.
bool report(std::string_view bytes);
// Reads the content of a recording (CBOR, not compressed), then replays a small discovery.
bool recording(std::string_view bytes);
// Reads a machine file, then runs a few programs on the machine.
bool machine(std::string_view bytes);
// Reads a kernel file, then predicts its time on a GPU whose values are all known.
bool kernel(std::string_view bytes);
// Reads the store of a fleet, then judges it.
bool store(std::string_view bytes);
// Parses a command line with one argument per line.
bool command_line(std::string_view bytes);
// Uses the lines as names and texts of a report. Checks Prometheus' format and the functions that make texts
// harmless.
bool names(std::string_view bytes);

}  // namespace gputopo::fuzz
