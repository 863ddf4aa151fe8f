#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cli/standard_streams.h"
#include "file/sanitize.h"

namespace gputopo::cli {
namespace {

constexpr const char* kClearLine = "\r\033[K";

}  // namespace

ProgressPrinter::~ProgressPrinter() {
  if (line_is_open_) say_raw(kClearLine);
}

void ProgressPrinter::show(const Progress& progress) {
  std::string text = fmt::format("[{}/{}] {} {:.1f} s", progress.done, progress.total,
                                 progress.probe.empty() ? "done" : progress.probe, progress.elapsed_seconds);
  // The first values need surveys that later ones share, so their time says nothing about the rest.
  constexpr std::size_t kEnoughToJudge = 5;
  if (progress.done >= kEnoughToJudge && progress.done < progress.total) {
    const double per_value = progress.elapsed_seconds / static_cast<double>(progress.done);
    text += fmt::format(", about {:.0f} s left",
                        std::ceil(per_value * static_cast<double>(progress.total - progress.done)));
  } else if (progress.done < progress.total && style_.budget_seconds > 0) {
    text += fmt::format(", at most {:.0f} s left",
                        std::ceil(std::max(style_.budget_seconds - progress.elapsed_seconds, 0.0)));
  }
  if (style_.live) {
    // A line that wraps could not be cleared.
    if (style_.columns > 0) text.resize(std::min(text.size(), static_cast<std::size_t>(style_.columns - 1)));
    say_raw(kClearLine + sanitized_line(text));
    line_is_open_ = true;
  } else {
    say(text);
  }
}

}  // namespace gputopo::cli
