#include "support/compiled.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <system_error>

#include "file/digest.h"
#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo::test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kKept{24 * 30};

// Empty if the tool is not installed.
fs::path path_of(const std::string& tool) {
  std::string found = run_command("command -v " + quoted(tool)).out;
  if (found.ends_with('\n')) found.pop_back();
  std::error_code error;
  return found.empty() ? fs::path() : fs::canonical(found, error);
}

std::string key_of(const Compilation& compilation, const fs::path& tool) {
  std::error_code error;
  return digest(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", tool.string(), fs::file_size(tool, error),
                            fs::last_write_time(tool, error).time_since_epoch().count(), compilation.options,
                            compilation.suffix, compilation.text));
}

Compiled made(const Compilation& compilation) {
  const TemporaryFolder folder;
  const std::string source = folder.file("kernel" + compilation.suffix);
  const std::string result = folder.file("result");
  write_file(source, compilation.text);
  const CommandResult run =
      run_command(fmt::format("timeout {} {} {} -o {} {} 2>&1", compilation.most_seconds, quoted(compilation.tool),
                              compilation.options, quoted(result), quoted(source)));
  return {run.exit_code, run.out, fs::exists(result) ? read_file(result) : ""};
}

void remove_old(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    std::error_code gone;
    const auto used = entry.last_write_time(gone);
    if (!gone && fs::file_time_type::clock::now() - used > kKept) fs::remove_all(entry.path(), gone);
  }
}

// Writes all or nothing, even beside other tests. Keeps nothing in a folder that cannot be written.
void keep(const Compiled& compiled, const fs::path& folder, const std::string& key) {
  std::error_code error;
  fs::create_directories(folder, error);
  std::string unfinished = folder / "unfinished-XXXXXX";
  if (error || mkdtemp(unfinished.data()) == nullptr) return;
  write_file(fs::path(unfinished) / "messages", compiled.messages);
  write_file(fs::path(unfinished) / "result", compiled.result);
  fs::rename(unfinished, folder / key, error);
  if (error) fs::remove_all(unfinished, error);  // another test was first
  remove_old(folder);
}

}  // namespace

Compiled compiled(const Compilation& compilation) { return compiled(compilation, GPUTOPO_COMPILED_FOLDER); }

Compiled compiled(const Compilation& compilation, const fs::path& folder) {
  const fs::path tool = path_of(compilation.tool);
  const std::string key = key_of(compilation, tool);
  const fs::path kept = folder / key;
  std::error_code error;
  fs::last_write_time(kept, fs::file_time_type::clock::now(), error);
  if (!error) return {0, read_file(kept / "messages"), read_file(kept / "result")};
  Compiled result = made(compilation);
  if (result.exit_code == 0) keep(result, folder, key);
  return result;
}

}  // namespace gputopo::test
