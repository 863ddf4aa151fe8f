// A glossary of the methods that a page names, and links to it.
#pragma once

#include <vector>

#include "gputopo/model.h"
#include "report/html/parts.h"
#include "report/words/value_text.h"

namespace gputopo::report {

// Returns a value's method in words, linked to the glossary if it has an entry. Empty if there is no method.
[[nodiscard]] Markup method_link(const Attribute& attribute);

// Returns the methods of these values as a folded section; empty if the glossary has none of them.
[[nodiscard]] Section glossary_section(const std::vector<ValueGroup>& groups);

}  // namespace gputopo::report
