// The hierarchy table of a terminal report: one row per memory, laid out for a width.
#pragma once

#include <string>
#include <vector>

#include "gputopo/report.h"
#include "report/words/footnotes.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"

namespace gputopo::report {

struct HierarchyTable {
  TextTable table;
  std::vector<AttributeId> attributes;  // attributes with a column
  bool is_brief = false;
  bool has_letters = false;  // letters instead of names for shared caches
  int gap = 2;               // spaces between columns
};

[[nodiscard]] std::vector<const MemoryElement*> with_rows(const std::vector<const MemoryElement*>& elements);

// Returns the table that fits the width best, and sets `footnotes` to the reasons of its cells.
[[nodiscard]] HierarchyTable best_layout(const Topology& topology, const std::vector<const MemoryElement*>& memories,
                                         const TerminalStyle& style, Footnotes& footnotes);

// Returns the table and its legend. `has_rule` draws a line below the headings.
[[nodiscard]] std::string table_text(const HierarchyTable& hierarchy, const std::vector<const MemoryElement*>& elements,
                                     bool has_rule, const TerminalStyle& style);

}  // namespace gputopo::report
