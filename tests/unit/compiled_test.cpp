// Outputs of external tools are cached, and made anew if anything that they depend on changes.
#include "support/compiled.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo::test {
namespace {

class CompiledTest : public ::testing::Test {
 protected:
  // A tool that writes its option and the number of its runs. It fails if the option asks for it.
  void SetUp() override {
    write_file(tool(), "#!/bin/sh\necho run >> " + folder_.file("runs") + "\necho says $1\ncat \"$4\" " +
                           folder_.file("runs") + " > \"$3\"\ncase $1 in -fail) exit 3;; esac\n");
    std::filesystem::permissions(tool(), std::filesystem::perms::owner_all);
  }

  [[nodiscard]] std::string tool() const { return folder_.file("tool"); }
  [[nodiscard]] std::filesystem::path kept() const { return folder_.path() / "kept"; }
  [[nodiscard]] Compiled made_of(const std::string& text, const std::string& options = "-a") const {
    return compiled({tool(), options, text, ".txt"}, kept());
  }

  const TemporaryFolder folder_;
};

TEST_F(CompiledTest, IsMadeOnce) {
  for (int i = 0; i < 2; ++i) {
    const Compiled once = made_of("text\n");
    EXPECT_EQ(once.exit_code, 0);
    EXPECT_EQ(once.messages, "says -a\n");
    EXPECT_EQ(once.result, "text\nrun\n");
  }
}

TEST_F(CompiledTest, IsMadeAnewOfOtherTextsAndOptions) {
  static_cast<void>(made_of("text\n"));
  EXPECT_EQ(made_of("other\n").result, "other\nrun\nrun\n");
  EXPECT_EQ(made_of("text\n", "-b").result, "text\nrun\nrun\nrun\n");
}

TEST_F(CompiledTest, IsMadeAnewByAnotherTool) {
  static_cast<void>(made_of("text\n"));
  const auto changed = std::filesystem::last_write_time(tool());
  std::filesystem::last_write_time(tool(), changed + std::chrono::seconds(1));
  EXPECT_EQ(made_of("text\n").result, "text\nrun\nrun\n");
}

TEST_F(CompiledTest, KeepsNoFailure) {
  EXPECT_EQ(made_of("text\n", "-fail").exit_code, 3);
  EXPECT_EQ(made_of("text\n", "-fail").exit_code, 3);
  EXPECT_EQ(read_file(folder_.file("runs")), "run\nrun\n");
}

TEST_F(CompiledTest, ForgetsWhatNobodyAsksFor) {
  static_cast<void>(made_of("text\n"));
  const auto entry = std::filesystem::directory_iterator(kept())->path();
  std::filesystem::last_write_time(entry, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 40));
  static_cast<void>(made_of("other\n"));
  EXPECT_FALSE(std::filesystem::exists(entry));
}

TEST_F(CompiledTest, WorksWhereNothingCanBeKept) {
  write_file(kept().string(), "a file");
  EXPECT_EQ(made_of("text\n").result, "text\nrun\n");
  EXPECT_EQ(made_of("text\n").result, "text\nrun\nrun\n");
}

}  // namespace
}  // namespace gputopo::test
