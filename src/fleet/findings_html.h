// Formats a Judgement as a web page.
#pragma once

#include <string>

#include "fleet/judgement.h"

namespace gputopo::fleet {

// One page without scripts or network access: a map of GPUs by value, and each odd GPU.
[[nodiscard]] std::string findings_to_html(const Judgement& judgement);

}  // namespace gputopo::fleet
