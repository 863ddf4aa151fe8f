// How the report may look where standard output goes.
#pragma once

#include "gputopo/report.h"

namespace gputopo::cli {

// The width of the terminal, else $COLUMNS, else 80; colour unless NO_COLOR is set and Unicode in a UTF-8 locale; plain
// in a pipe or a file and with TERM=dumb.
[[nodiscard]] TerminalStyle standard_output_style();

}  // namespace gputopo::cli
