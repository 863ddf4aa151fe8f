// The binary must run on any Linux with glibc 2.34 and nothing else installed (RHEL 9, Ubuntu 22.04).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "support/command.h"
#include "support/sanitized.h"

namespace gputopo {
namespace {

class ReleaseBinary : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::kSanitized) GTEST_SKIP() << "a build with sanitizers is not the release binary";
    if (test::run_command("command -v objdump").exit_code != 0) GTEST_SKIP() << "objdump is not installed";
  }
};

TEST_F(ReleaseBinary, NeedsNoSymbolNewerThanGlibc234) {
  const std::string symbols = test::run_command("objdump -T " GPUTOPO_BINARY).out;
  const std::regex version(R"(GLIBC_2\.(\d+))");
  int found = 0;
  for (std::sregex_iterator match(symbols.begin(), symbols.end(), version), end; match != end; ++match, ++found) {
    EXPECT_LE(std::stoi((*match)[1]), 34) << match->str();
  }
  EXPECT_GT(found, 0) << symbols;
}

TEST_F(ReleaseBinary, NeedsNothingButGlibc) {
  std::istringstream lines(test::run_command("objdump -p " GPUTOPO_BINARY).out);
  const std::regex needed(R"(^\s*NEEDED\s+(\S+))");
  const std::regex glibc(R"((libc|libm|libdl|libpthread|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+)");
  int found = 0;
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, match, needed)) continue;
    ++found;
    EXPECT_TRUE(std::regex_match(match[1].str(), glibc)) << line;
  }
  EXPECT_GT(found, 0);
}

// The unwinder is linked statically; an exception that is caught shows that it works.
TEST_F(ReleaseBinary, CatchesExceptions) {
  const test::CommandResult result = test::run_command(GPUTOPO_BINARY " show /no/such/file");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, ::testing::StartsWith("gputopo: error: cannot read '/no/such/file'"));
}

}  // namespace
}  // namespace gputopo
