// How the report may look where standard output goes.
#pragma once

#include <string>

#include "gputopo/report.h"

namespace gputopo::cli {

// Whether $TERM is of a terminal that knows escape sequences: not of one that is not set, or dumb.
[[nodiscard]] bool terminal_knows_escapes();

// Columns of the terminal behind a file descriptor, 0 where it is none or does not say.
[[nodiscard]] int terminal_columns(int descriptor);

// A help with its lines within so many columns: words that go on stand below where the text of the line begins.
[[nodiscard]] std::string wrapped_help(const std::string& help, int columns);

// The size of the terminal; in a pipe or a file as many lines as there are, of $COLUMNS or 80 columns; colour unless
// NO_COLOR is set and Unicode in a UTF-8 locale; plain in a pipe or a file and with TERM=dumb; no colours where TERM is
// not set.
[[nodiscard]] TerminalStyle standard_output_style();

}  // namespace gputopo::cli
