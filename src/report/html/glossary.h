// What the methods that a page names are, in a sentence or two, and links to it.
#pragma once

#include <vector>

#include "gputopo/model.h"
#include "report/html/parts.h"
#include "report/words/value_text.h"

namespace gputopo::report {

// The method of a value in words, as a link to the glossary where that has it; empty where there is none.
[[nodiscard]] Markup method_link(const Attribute& attribute);

// The methods of these values, folded; empty where the glossary has none of them.
[[nodiscard]] Section glossary_section(const std::vector<ValueGroup>& groups);

}  // namespace gputopo::report
