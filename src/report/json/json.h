// The JSON document of docs/schema.json, written and read.
#pragma once

#include <nlohmann/json.hpp>

#include "gputopo/model.h"

namespace gputopo::report {

// The whole document of a GPU's report, as to_json() writes it.
[[nodiscard]] nlohmann::ordered_json report_document(const Topology& topology);

}  // namespace gputopo::report
