// The hierarchy as a table: which attributes are its columns and how a cell reads. The terminal, Markdown and HTML lay
// it out, each in its own way.
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

// What a reader must know of a value beyond the number: where it is from, if not measured, and doubts. A sign each.
[[nodiscard]] std::string marks(const Attribute& attribute);
// "measured, unless marked; ~: ..." for the signs in `used`.
[[nodiscard]] std::string marks_legend(std::string_view used);

// Not asked for, or nothing to ask: no reason to speak of.
[[nodiscard]] bool is_silent(const Attribute& attribute);
[[nodiscard]] bool has_value(const MemoryElement& element);
[[nodiscard]] bool says_something(const MemoryElement& element);
// A memory of which something is known, which has a row in the hierarchy and a box in drawings; a TLB, say, has neither
// a size nor a latency of its own.
[[nodiscard]] bool holds_data(const MemoryElement& element);
[[nodiscard]] std::vector<const MemoryElement*> speaking_elements(const Topology& topology);

struct CellContext {
  const Topology& topology;
  const MemoryElement& element;
  const Attribute& attribute;
};

// One column: an attribute and how it is written.
struct HierarchyColumn {
  std::string heading;  // words, {unit} for SM or CU; a newline where a narrow table breaks it
  AttributeId attribute;
  Align align = Align::kRight;
  std::function<std::string(const CellContext&)> format;
  std::function<std::string(const CellContext&)> brief;    // for narrow tables; empty: the same
  std::function<std::string(const CellContext&)> instead;  // for narrow tables: of an element that has no such value
  int rank = 0;                                            // the highest go first where the width does not do; 0 stays
  bool by_others = false;  // an element without the attribute may have a cell, through what others say of it
  bool repeats = false;    // another column of the same attribute has its marks and its reason
};
[[nodiscard]] const std::vector<HierarchyColumn>& hierarchy_columns();
// Whether there is something to write: a value, or what others say.
[[nodiscard]] bool has_cell(const HierarchyColumn& column, const CellContext& cell);
[[nodiscard]] std::string heading_in(const Topology& topology, const HierarchyColumn& column);

// Attributes that no column shows, and what one cell cannot hold of those that have one: "near 284 cycles". Phrases, in
// the order of the model; `shown` are attributes that the reader has seen already, `doubted` says whether their wide
// intervals, too.
[[nodiscard]] std::vector<std::string> further_phrases(const Topology& topology, const MemoryElement& element,
                                                       const std::vector<AttributeId>& shown, bool doubted);

// Wider than what deserves a mark.
[[nodiscard]] bool interval_is_wide(const Attribute& attribute);

}  // namespace gputopo::report
