// Documents of nodes and reports of GPUs, told apart and taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/reading.h"

namespace gputopo::fleet {

struct Document {
  std::vector<Run> runs;
  std::vector<std::string> problems;  // one line each: of what in it is no run
};

// `place`: what tells this report's GPU from others, where the document does not: its path within the folder. `name`:
// what the run is called, empty if it is to have none but ids.
// Throws FormatError: not JSON, neither a report nor a node's document.
[[nodiscard]] Document read_document(std::string_view text, const std::string& place, bool keep_names);

}  // namespace gputopo::fleet
