// How the report may look where standard output goes.
#pragma once

#include "gputopo/report.h"

namespace gputopo::cli {

// The width of the terminal, colour unless NO_COLOR is set, Unicode in a UTF-8 locale; plain where it is no terminal.
[[nodiscard]] TerminalStyle standard_output_style();

}  // namespace gputopo::cli
