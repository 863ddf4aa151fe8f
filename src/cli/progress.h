// Progress on standard error: one live line on a terminal, plain lines elsewhere.
#pragma once

#include "gputopo/discover.h"

namespace gputopo::cli {

class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool live) : live_(live) {}
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  ~ProgressPrinter();

  void show(const Progress& progress);

 private:
  bool live_;
  bool line_is_open_ = false;  // the live line is on the screen and must be cleared
};

}  // namespace gputopo::cli
