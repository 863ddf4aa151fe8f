// Splits node documents and GPU reports into runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/reading.h"

namespace gputopo::fleet {

struct Document {
  std::vector<Run> runs;
  std::vector<std::string> problems;  // one line for each part that could not become a run
};

// `place` (the path within the folder) identifies the GPU if the document does not. With `keep_names` runs have names,
// otherwise only ids. Throws a FormatError if `text` is not JSON, or neither a report nor a node's document.
[[nodiscard]] Document read_document(std::string_view text, const std::string& place, bool keep_names);

}  // namespace gputopo::fleet
