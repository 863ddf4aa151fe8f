// Parts that sections of an HTML report share.
#pragma once

#include <string>

#include "gputopo/model.h"
#include "report/drawing/markup.h"

namespace gputopo::report {

// Returns the id of a value's evidence, also used in links to it. Contains only characters that are safe in both.
[[nodiscard]] std::string evidence_anchor(const std::string& group, const std::string& attribute);

// "measured", "api", "inferred" or "unavailable", in its color.
[[nodiscard]] Markup source_badge(const Attribute& attribute);

// Returns `text` as a link to the value's evidence. The tooltip shows the source.
[[nodiscard]] Markup value_link(const Attribute& attribute, const std::string& group, const std::string& id,
                                const std::string& text);

// A part of the page under a heading. Without an id it is not in the table of contents.
struct Section {
  std::string id;
  std::string heading;
  Markup markup;
};
[[nodiscard]] Section section(const char* classes, const std::string& id, const std::string& heading,
                              const Markup& content);

}  // namespace gputopo::report
