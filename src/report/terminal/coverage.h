// The element table for a terminal.
#pragma once

#include <string>

namespace gputopo::report {

// At most that wide: columns that do not fit go to further blocks.
[[nodiscard]] std::string coverage_table(int width);

}  // namespace gputopo::report
