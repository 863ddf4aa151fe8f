// Formats a Judgement as JSON.
#pragma once

#include <string>

#include "fleet/judgement.h"

namespace gputopo::fleet {

[[nodiscard]] std::string findings_to_json(const Judgement& judgement);

}  // namespace gputopo::fleet
