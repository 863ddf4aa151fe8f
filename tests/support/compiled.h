// Output of external compilers and assemblers for a text, cached in the build folder. Compiling takes a third of the
// time of all tests, and the texts seldom change.
#pragma once

#include <filesystem>
#include <string>

namespace gputopo::test {

struct Compilation {
  std::string tool;     // a path, or a name that is found in PATH
  std::string options;  // for the shell, without the two files
  std::string text;
  std::string suffix;  // file name suffix of the text
  int most_seconds = 600;
};

struct Compiled {
  int exit_code = 0;     // 124: timed out
  std::string messages;  // stdout and stderr
  std::string result;    // bytes of the output file
};

// Compiles again if the tool (its path, size and modification time), the options or the text have changed, or if the
// last compilation failed. Removes entries that were not used for a month.
[[nodiscard]] Compiled compiled(const Compilation& compilation);
// The same with a different cache folder.
[[nodiscard]] Compiled compiled(const Compilation& compilation, const std::filesystem::path& folder);

}  // namespace gputopo::test
