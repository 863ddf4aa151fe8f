// Progress on standard error: one live line on a terminal, plain lines elsewhere.
#pragma once

#include "gputopo/discover.h"

namespace gputopo::cli {

class ProgressPrinter {
 public:
  struct Style {
    bool live = false;
    int columns = 0;            // of the terminal, which a live line must not run over; 0: not known
    double budget_seconds = 0;  // what the measurement takes at most
  };
  explicit ProgressPrinter(const Style& style) : style_(style) {}
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  ~ProgressPrinter();

  void show(const Progress& progress);

 private:
  Style style_;
  bool line_is_open_ = false;  // the live line is on the screen and must be cleared
};

}  // namespace gputopo::cli
