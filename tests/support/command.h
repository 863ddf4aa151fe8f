// Runs a program as a user would, and keeps its output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gputopo::test {

struct CommandResult {
  int exit_code = 0;  // 128 + signal if a signal killed the command
  std::string out;
  std::string err;
};

[[nodiscard]] CommandResult run_command(const std::string& shell_command);

// Quotes the text as one word for the shell.
[[nodiscard]] std::string quoted(const std::string& text);

// A temporary folder for one test. The destructor removes it and all its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // The sorted names of its entries.
  [[nodiscard]] std::vector<std::string> entries() const;

 private:
  std::filesystem::path path_;
};

}  // namespace gputopo::test
