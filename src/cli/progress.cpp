#include "cli/progress.h"

#include <fmt/format.h>

#include <cmath>
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
  std::string text = fmt::format("[{}/{}] {} {:.1f} s", progress.done, progress.total,
                                 progress.probe.empty() ? "done" : progress.probe, progress.elapsed_seconds);
  // The first values need surveys that the later ones share: what they took says nothing of the rest.
  constexpr std::size_t kEnoughToJudge = 5;
  if (progress.done >= kEnoughToJudge && progress.done < progress.total) {
    const double per_value = progress.elapsed_seconds / static_cast<double>(progress.done);
    text += fmt::format(", about {:.0f} s left",
                        std::ceil(per_value * static_cast<double>(progress.total - progress.done)));
  }
  if (live_) {
    fmt::print(stderr, "{}{}", kClearLine, text);
    std::fflush(stderr);
    line_is_open_ = true;
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace gputopo::cli
