// Standard output carries the result, standard error what is said beside it.
#pragma once

#include <string_view>

#include "gputopo/error.h"

namespace gputopo::cli {

// Nobody reads standard output any more, as after `| head -1`.
class ReaderGoneError : public FileError {
 public:
  using FileError::FileError;
};

// A file that is opened while 0, 1 or 2 is closed would become a standard stream: something else takes their places.
// What is written to a closed standard output still fails.
void fill_closed_streams();

// Throws FileError, a ReaderGoneError where that is why.
void print_result(std::string_view text);

// Standard error may be closed or full: neither the measurement nor its result depends on it.

// While one of these lives, nobody waits for who reads standard error, such as a pager: what cannot be written at once
// is kept, and written when the last of them has gone. For as long as others wait for this process.
class HeldBackErrors {
 public:
  HeldBackErrors();
  HeldBackErrors(const HeldBackErrors&) = delete;
  HeldBackErrors& operator=(const HeldBackErrors&) = delete;
  ~HeldBackErrors();
};

// One line; what a terminal would obey in it is made visible.
void say(std::string_view line);
// The same, of text that has lines.
void say_text(std::string_view text);
// As it is: for a line that stays open, and for commands to the terminal of our own.
void say_raw(std::string_view text);

// Ends the process as one ends that a pipe without a reader stops.
[[noreturn]] void end_without_reader();

}  // namespace gputopo::cli
