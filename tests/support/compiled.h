// What compilers and assemblers of others make of a text. It is kept in the build folder: making it is a third of the
// time of all tests, and the texts seldom change.
#pragma once

#include <filesystem>
#include <string>

namespace gputopo::test {

struct Compilation {
  std::string tool;     // a path, or a name that PATH leads to
  std::string options;  // for the shell, all but the two files
  std::string text;
  std::string suffix;  // of the file that has the text
  int most_seconds = 600;
};

struct Compiled {
  int exit_code = 0;     // 124: not done in time
  std::string messages;  // of both outputs
  std::string result;    // the bytes of the file that was made
};

// Made anew where the tool (its path, size and time of change), the options or the text are others than those of what
// is kept, or where it failed. What nobody asked for in a month is removed.
[[nodiscard]] Compiled compiled(const Compilation& compilation);
// The same, kept in another folder than that of the build.
[[nodiscard]] Compiled compiled(const Compilation& compilation, const std::filesystem::path& folder);

}  // namespace gputopo::test
