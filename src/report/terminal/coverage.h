// The table of elements for a terminal.
#pragma once

#include <string>

namespace gputopo::report {

// Columns that do not fit into `width` go into further blocks.
[[nodiscard]] std::string coverage_table(int width);

}  // namespace gputopo::report
