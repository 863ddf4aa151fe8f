// The memory hierarchy as a table: its columns and cell texts. Terminal, Markdown and HTML each have their own layout.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/model.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {

// One sign for each caveat of a value: its source if it was not measured, and doubts.
[[nodiscard]] std::string marks(const Attribute& attribute);
// Explains the signs in `used`: "measured, unless marked; ~: ...".
[[nodiscard]] std::string marks_legend(std::string_view used);

// True if the value was not selected or does not apply, so that no reason is worth showing.
[[nodiscard]] bool needs_no_reason(const Attribute& attribute);
[[nodiscard]] bool has_value(const MemoryElement& element);
[[nodiscard]] bool says_something(const MemoryElement& element);
// True for memory with known data: it has a row and a box in drawings. A TLB, for example, has no size or latency.
[[nodiscard]] bool holds_data(const MemoryElement& element);
[[nodiscard]] std::vector<const MemoryElement*> elements_with_values(const Topology& topology);

struct CellContext {
  const Topology& topology;
  const MemoryElement& element;
  const Attribute& attribute;
};

// One column: an attribute and how it is written.
struct HierarchyColumn {
  std::string heading;  // {unit} becomes SM or CU; a newline breaks narrow tables
  AttributeId attribute;
  Align align = Align::kRight;
  std::function<std::string(const CellContext&)> format;
  std::function<std::string(const CellContext&)> brief;    // for narrow tables; empty: uses `format`
  std::function<std::string(const CellContext&)> instead;  // for narrow tables, if the element lacks the value
  int rank = 0;            // in narrow tables the highest ranks are dropped first; 0 always stays
  bool by_others = false;  // other elements' values may fill the cell of an element without the attribute
  bool repeats = false;    // another column of the attribute already has its marks and reason
};
[[nodiscard]] const std::vector<HierarchyColumn>& hierarchy_columns();
// True if the cell has text: a value, or one derived from other elements.
[[nodiscard]] bool has_cell(const HierarchyColumn& column, const CellContext& cell);
[[nodiscard]] std::string heading_in(const Topology& topology, const HierarchyColumn& column);

// Phrases for attributes without a column, and for details that do not fit into a cell ("near 284 cycles"), in the
// model's order. `shown`: attributes the reader has seen. `doubted`: whether their wide intervals were shown, too.
[[nodiscard]] std::vector<std::string> further_phrases(const Topology& topology, const MemoryElement& element,
                                                       const std::vector<AttributeId>& shown, bool doubted);

// True if the interval is wide enough for a mark.
[[nodiscard]] bool interval_is_wide(const Attribute& attribute);

}  // namespace gputopo::report
