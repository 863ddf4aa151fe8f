#include "cli/terminal_style.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "file/environment.h"
#include "report/words/text_table.h"

namespace gputopo::cli {
namespace {

// The first variable that is set decides (POSIX, Locale).
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = environment_variable(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

}  // namespace

bool terminal_knows_escapes() {
  const char* terminal = environment_variable("TERM");
  return terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

int terminal_columns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string wrapped_help(const std::string& help, int columns) {
  constexpr std::size_t kLastColumn = 45;  // the last column in which the text beside an option may begin
  std::string text;
  for (std::size_t begin = 0; begin < help.size();) {
    const std::size_t end = std::min(help.find('\n', begin), help.size());
    const std::string line = help.substr(begin, end - begin);
    begin = end + 1;
    if (line.size() <= static_cast<std::size_t>(columns)) {
      text += line + "\n";
      continue;
    }
    const std::size_t gap = line.substr(0, kLastColumn).rfind("  ");
    const std::size_t indent = gap == std::string::npos ? 0 : gap + 2;
    text += report::wrap(line.substr(0, indent), line.substr(indent), columns);
  }
  return text;
}

TerminalStyle standard_output_style() {
  TerminalStyle style;
  const char* terminal = environment_variable("TERM");
  const bool plain = isatty(STDOUT_FILENO) == 0 || (terminal != nullptr && std::string_view(terminal) == "dumb");
  constexpr int kLeastRows = 24;  // also for a terminal that does not report its height
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.height = std::max<int>(size.ws_row, kLeastRows);
  if (size.ws_col > 0) {
    style.width = size.ws_col;
  } else if (const char* columns = environment_variable("COLUMNS"); columns != nullptr) {
    constexpr int kLeast = 40;
    constexpr int kMost = 1000;
    const int asked = std::atoi(columns);
    if (asked >= kLeast && asked <= kMost) style.width = asked;
  }
  if (plain) return style;
  const char* no_colour = environment_variable("NO_COLOR");
  style.colour = terminal_knows_escapes() && (no_colour == nullptr || *no_colour == '\0');
  style.unicode = locale_is_utf8();
  return style;
}

}  // namespace gputopo::cli
