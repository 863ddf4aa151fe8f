// What a newcomer asks first and the table has no column for, in a line or two each: how far the TLBs reach, and how
// sure what has a "~" is.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

struct ScreenLines {
  std::string text;
  bool is_all = true;  // else it says of how many more nothing is said
};

// "TLB reach: tlb_l1 32 MiB, tlb_l2 8 GiB"; where none shows, which command says why. Empty where nobody asked for
// TLBs.
[[nodiscard]] ScreenLines reach_lines(const std::vector<const MemoryElement*>& elements, int width);

// The wide intervals of these attributes of these elements, as many as so many lines hold.
[[nodiscard]] ScreenLines doubts_lines(const std::vector<const MemoryElement*>& elements,
                                       const std::vector<AttributeId>& attributes, int width, int most_lines);

}  // namespace gputopo::report
