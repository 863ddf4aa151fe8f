// Messages that quote a file are short, however long the quoted text is.
#include <gtest/gtest.h>

#include <string>

#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

TEST(LongMessages, APathOfLongKeysIsCutShort) {
  constexpr int kLevels = 60;
  const std::string key(100, '<');
  std::string text;
  for (int i = 0; i < kLevels; ++i) text += "{\"" + key + "\":";
  text += "{\"a\":1,\"a\":2}" + std::string(kLevels, '}');
  const test::TemporaryFolder folder;
  write_file(folder.file("report.json"), text);
  const test::CommandResult result = test::run_command(GPUTOPO_BINARY " show " + folder.file("report.json"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_LT(result.err.size(), 4100U);
  EXPECT_EQ(result.err.rfind("gputopo: error: ", 0), 0U) << result.err;
}

}  // namespace
}  // namespace gputopo
