// Progress on standard error: one live line on a terminal, plain lines elsewhere.
#pragma once

#include "gputopo/discover.h"

namespace gputopo::cli {

class ProgressPrinter {
 public:
  struct Style {
    bool live = false;
    int columns = 0;            // terminal width that a live line must not exceed; 0: unknown
    double budget_seconds = 0;  // limit of the measurement
  };
  explicit ProgressPrinter(const Style& style) : style_(style) {}
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  ~ProgressPrinter();

  void show(const Progress& progress);

 private:
  Style style_;
  bool line_is_open_ = false;  // a live line is on the screen and must be cleared
};

}  // namespace gputopo::cli
