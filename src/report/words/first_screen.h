// First questions of newcomers without a table column, in a line or two each: TLB reach, and intervals behind "~".
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

struct ScreenLines {
  std::string text;
  bool is_all = true;  // false: the text ends with the number of omitted entries
};

// "TLB reach: tlb_l1 32 MiB, tlb_l2 8 GiB", or the command that says why none shows. Empty if TLBs were not selected.
[[nodiscard]] ScreenLines reach_lines(const std::vector<const MemoryElement*>& elements, int width);

// Lists the wide intervals of these attributes of these elements, as many as fit into `most_lines`.
[[nodiscard]] ScreenLines doubts_lines(const std::vector<const MemoryElement*>& elements,
                                       const std::vector<AttributeId>& attributes, int width, int most_lines);

}  // namespace gputopo::report
