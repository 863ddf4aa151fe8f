// The table of a terminal's report: a row for each memory, laid out for a width.
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
  std::vector<AttributeId> attributes;  // that have a column
  bool is_brief = false;
  bool has_letters = false;  // for caches that are shared, instead of their names
  int gap = 2;               // between its columns
};

// The elements that have a row.
[[nodiscard]] std::vector<const MemoryElement*> with_rows(const std::vector<const MemoryElement*>& elements);

// The table that fits the width best. The footnotes are those of its cells.
[[nodiscard]] HierarchyTable best_layout(const Topology& topology, const std::vector<const MemoryElement*>& memories,
                                         const TerminalStyle& style, Footnotes& footnotes);

// The table and its legend. `has_rule`: with a line below the headings.
[[nodiscard]] std::string table_text(const HierarchyTable& hierarchy, const std::vector<const MemoryElement*>& elements,
                                     bool has_rule, const TerminalStyle& style);

}  // namespace gputopo::report
