// What the sections of an HTML report have in common.
#pragma once

#include <string>

#include "gputopo/model.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// The id of the evidence of a value, and what links to it end in: only what is safe in both.
[[nodiscard]] std::string evidence_anchor(const std::string& group, const std::string& attribute);

// "measured", "api", "inferred", "unavailable", in the colour of each.
[[nodiscard]] Markup source_badge(const Attribute& attribute);

// `text`, which leads to the evidence of the value and says where it is from when pointed at.
[[nodiscard]] Markup value_link(const Attribute& attribute, const std::string& group, const std::string& id,
                                const std::string& text);

// A part of the page under a heading; without an id the contents do not list it.
struct Section {
  std::string id;
  std::string heading;
  Markup markup;
};
[[nodiscard]] Section section(const char* classes, const std::string& id, const std::string& heading,
                              const Markup& content);

}  // namespace gputopo::report
