// What the sections of an HTML report have in common.
#pragma once

#include <string>

#include "gputopo/model.h"

namespace gputopo::report {

// The id of the evidence of a value, and what links to it end in: only what is safe in both.
[[nodiscard]] std::string evidence_anchor(const std::string& group, const std::string& attribute);

// "measured", "api", "inferred", "unavailable", in the colour of each.
[[nodiscard]] std::string source_badge(const Attribute& attribute);

// `text`, which leads to the evidence of the value and says where it is from when pointed at.
[[nodiscard]] std::string value_link(const Attribute& attribute, const std::string& group, const std::string& id,
                                     const std::string& text);

}  // namespace gputopo::report
