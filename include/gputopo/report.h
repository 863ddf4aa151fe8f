// Rendering a model, and reading a saved one back. Nothing here measures.
#pragma once

#include <string>
#include <string_view>

#include "gputopo/model.h"

namespace gputopo {

// The document of docs/schema.json, two-space indented, newline at the end. read_json(to_json(t)) == t but for the
// samples, which JSON does not carry.
[[nodiscard]] std::string to_json(const Topology& topology);
// Throws FormatError: not JSON, not a gputopo report, or another schema version (names both).
[[nodiscard]] Topology read_json(std::string_view text);

// A table for a terminal, at most `width` columns wide. Plain ASCII unless `unicode`.
struct TerminalStyle {
  int width = 100;
  bool colour = false;
  bool unicode = false;
};
[[nodiscard]] std::string to_terminal(const Topology& topology, const TerminalStyle& style);

// The element table as a person reads it.
[[nodiscard]] std::string coverage_table();

// Writes each SampleTable as DIR/NAME.csv (RFC 4180). Creates DIR. Throws FileError.
void write_samples(const Topology& topology, const std::string& directory);

// Writes text to a file beside it, then renames. Throws FileError with what to do.
void write_file(const std::string& path, std::string_view text);
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace gputopo
