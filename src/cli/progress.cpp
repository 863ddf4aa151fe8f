#include "cli/progress.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace gputopo::cli {
namespace {

constexpr const char* kClearLine = "\r\033[K";

}  // namespace

ProgressPrinter::~ProgressPrinter() {
  if (line_is_open_) std::fputs(kClearLine, stderr);
}

void ProgressPrinter::show(const Progress& progress) {
  const std::string text = fmt::format("[{}/{}] {} {:.1f} s", progress.done, progress.total,
                                       progress.probe.empty() ? "done" : progress.probe, progress.elapsed_seconds);
  if (live_) {
    fmt::print(stderr, "{}{}", kClearLine, text);
    std::fflush(stderr);
    line_is_open_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace gputopo::cli
