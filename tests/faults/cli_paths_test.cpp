// Paths that the system refuses: every command that reads or writes one prints one line in gputopo's own words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/command.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::quoted;
using test::run_command;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Rejects the wording of the standard library's exceptions, which is for programmers.
const auto kIsInOwnWords = AllOf(StartsWith("gputopo: error: "), Not(HasSubstr("filesystem")), Not(HasSubstr("std::")),
                                 Not(HasSubstr("what()")), Not(HasSubstr("terminate")), Not(HasSubstr("basic_string")));

void expect_refusal(const std::string& command, const std::string& why) {
  const CommandResult result = run_command(command);
  // check judges nothing then, and says so by its exit code.
  EXPECT_EQ(result.exit_code, command.find(" check ") == std::string::npos ? 1 : 3) << command;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << command << "\n" << result.err;
  EXPECT_THAT(result.err, AllOf(kIsInOwnWords, HasSubstr(why))) << command;
}

// Every command that reads a file, applied to this path.
std::vector<std::string> readers_of(const std::string& path) {
  const std::string word = quoted(path);
  return {"get --device " + quoted("sim:" + path) + " l1.size",
          "get --device " + quoted("replay:" + path) + " l1.size",
          "--device " + quoted("sim:" + path),
          "--device " + quoted("replay:" + path),
          "replay " + word,
          "show " + word,
          "diff " + word + " " + word,
          "check --baseline " + word + " " + word,
          "get --report " + word + " l1.size",
          "model " + word + " --kernel " + word,
          "node --node " + quoted("sim:" + path),
          "node --node " + quoted("replay:" + path),
          "fleet report " + word,
          "fleet merge " + word + " --out /dev/null"};
}

TEST(CliPaths, TooLongOnesAreRefusedInOneLine) {
  for (const std::string& path : {"/" + std::string(300, 'n') + ".json", std::string(5000, '/') + "a.json"}) {
    const bool is_found = path.starts_with("//");
    for (const std::string& command : readers_of(path)) {
      expect_refusal(GPUTOPO_BINARY " " + command, is_found ? "" : "File name too long");
    }
  }
}

TEST(CliPaths, LinksInACircleAreRefusedInOneLine) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("loop.json");
  ASSERT_EQ(::symlink("loop.json", path.c_str()), 0);
  for (const std::string& command : readers_of(path)) {
    expect_refusal(GPUTOPO_BINARY " " + command, "Too many levels of symbolic links");
  }
}

TEST(CliPaths, ForbiddenOnesAreRefusedInOneLine) {
  const std::string as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
  if (geteuid() == 0 && run_command(as_nobody + "true").exit_code != 0) {
    GTEST_SKIP() << "root reads every file, and setpriv is not there to be another user";
  }
  const test::TemporaryFolder folder;
  const std::string path = folder.file("shut/a.json");
  (void)run_command("cd " + quoted(folder.path()) +
                    "; chmod 755 .; mkdir shut; echo {} > shut/a.json; chmod 0 shut; cp " + GPUTOPO_BINARY + " copy");
  for (const std::string& command : readers_of(path)) {
    expect_refusal((geteuid() == 0 ? as_nobody : std::string()) + quoted(folder.file("copy")) + " " + command,
                   "Permission denied");
  }
  (void)run_command("chmod 755 " + quoted(folder.file("shut")));
}

TEST(CliPaths, AFolderThatIsGoneIsRefusedInOneLine) {
  const test::TemporaryFolder folder;
  const std::string gone = "cd " + quoted(folder.path()) + "; mkdir gone; cd gone; rmdir ../gone; ";
  expect_refusal(gone + GPUTOPO_BINARY " --device sim:h200 --only shared --json a --html b", "cannot write 'a'");
  expect_refusal(gone + GPUTOPO_BINARY " fleet merge --resume . --out a", "cannot write 'a'");
  expect_refusal(gone + GPUTOPO_BINARY " show a", "cannot read 'a'");
}

}  // namespace
}  // namespace gputopo
