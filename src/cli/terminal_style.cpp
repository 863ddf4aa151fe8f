#include "cli/terminal_style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace gputopo::cli {
namespace {

// The first of these that is set decides (POSIX, Locale).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace

TerminalStyle standard_output_style() {
  constexpr int kFileWidth = 132;  // wide enough for the whole table: a file or a pipe has no width
  TerminalStyle style;
  style.width = kFileWidth;
  if (isatty(STDOUT_FILENO) == 0) return style;
  style.width = TerminalStyle{}.width;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = size.ws_col;
  const char* no_colour = std::getenv("NO_COLOR");
  style.colour = no_colour == nullptr || *no_colour == '\0';
  style.unicode = locale_is_utf8();
  return style;
}

}  // namespace gputopo::cli
