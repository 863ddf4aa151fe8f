// Runs a program, as a user would, and keeps what it says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gputopo::test {

struct CommandResult {
  int exit_code = 0;  // 128 + signal if one killed it
  std::string out;
  std::string err;
};

// Runs `shell_command` with /bin/sh.
[[nodiscard]] CommandResult run_command(const std::string& shell_command);

// The text as one word for the shell.
[[nodiscard]] std::string quoted(const std::string& text);

// A folder of its own for a test, removed with everything in it at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Names of what is in it, sorted.
  [[nodiscard]] std::vector<std::string> entries() const;

 private:
  std::filesystem::path path_;
};

}  // namespace gputopo::test
