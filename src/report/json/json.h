// Writes and reads the JSON document of docs/schema.json.
#pragma once

#include <nlohmann/json.hpp>

#include "gputopo/model.h"

namespace gputopo::report {

// Returns the complete document of a GPU's report, as to_json() writes it.
[[nodiscard]] nlohmann::ordered_json report_document(const Topology& topology);

}  // namespace gputopo::report
