// Standard output carries the result, standard error all messages.
#pragma once

#include <string_view>

#include "gputopo/error.h"

namespace gputopo::cli {

// Standard output has no reader any more, as after `| head -1`.
class BrokenPipeError : public FileError {
 public:
  using FileError::FileError;
};

// A file opened while 0, 1 or 2 is closed would become a standard stream, so placeholders take these numbers. Writing
// to a closed standard output still fails.
void fill_closed_streams();

// Throws FileError, or BrokenPipeError if there is no reader.
void print_result(std::string_view text);

// Standard error may be closed or full: neither the measurement nor its result depends on it.

// While one of these exists, no thread waits for a reader of standard error, such as a pager: text that cannot be
// written at once is kept until the last of them is gone. Use it while others wait for this process.
class DeferredStderr {
 public:
  DeferredStderr();
  DeferredStderr(const DeferredStderr&) = delete;
  DeferredStderr& operator=(const DeferredStderr&) = delete;
  ~DeferredStderr();
};

// Prints one line; what a terminal would execute becomes visible.
void say(std::string_view line);
// The same for text of several lines.
void say_text(std::string_view text);
// Unchanged text: for a line that stays open, and for gputopo's own terminal commands.
void say_raw(std::string_view text);

// Ends the process like one that SIGPIPE stops.
[[noreturn]] void end_without_reader();

}  // namespace gputopo::cli
