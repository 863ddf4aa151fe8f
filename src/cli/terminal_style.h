// The style of reports for the destination of standard output.
#pragma once

#include <string>

#include "gputopo/report.h"

namespace gputopo::cli {

// Whether $TERM names a terminal with escape sequences: it is set and not "dumb".
[[nodiscard]] bool terminal_knows_escapes();

// Columns of the terminal behind a file descriptor; 0 if it is no terminal or does not report them.
[[nodiscard]] int terminal_columns(int descriptor);

// Wraps the lines of a help text at this width. Continuation lines start below the text of their line.
[[nodiscard]] std::string wrapped_help(const std::string& help, int columns);

// The size of the terminal; in a pipe or a file, all lines, with $COLUMNS or 80 columns. Color unless NO_COLOR is set
// or TERM is unset, and Unicode in a UTF-8 locale; neither in a pipe or a file, nor with TERM=dumb.
[[nodiscard]] TerminalStyle standard_output_style();

}  // namespace gputopo::cli
