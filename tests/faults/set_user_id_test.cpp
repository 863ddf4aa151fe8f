// Programs with more rights than the user who starts them must ignore the environment, which that user controls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/command.h"
#include "support/fake_cuda.h"
#include "support/sanitized.h"

namespace gputopo {
namespace {

using test::CommandResult;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

class SetUserId : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root makes programs of other users (setpriv)";
    ::chmod(folder_.path().c_str(), 0755);
    ::mkdir(chosen_.c_str(), 0777);
    ::chmod(chosen_.c_str(), 0777);
    if (run_as_nobody("test -r " GPUTOPO_FAKE_LIBCUDA).exit_code != 0) {
      GTEST_SKIP() << "other users cannot read the build folder";
    }
    if (run_as_nobody(copy("/usr/bin/id", kSetUserId) + " -u").out != "0\n") {
      GTEST_SKIP() << "set-user-ID has no effect on this file system or in this container";
    }
  }

  // A copy of the program with this mode, owned by root.
  [[nodiscard]] std::string copy(const std::string& program, mode_t mode) const {
    const std::string path = folder_.file(fs::path(program).filename());
    fs::copy_file(program, path, fs::copy_options::overwrite_existing);
    ::chmod(path.c_str(), mode);
    return path;
  }
  [[nodiscard]] CommandResult run_as_nobody(const std::string& command) const {
    // The leak check traces the process, which the system forbids for a program with more rights.
    const std::string sanitizers = test::kSanitized ? "ASAN_OPTIONS=detect_leaks=0 " : "";
    const std::string variables = "env " + sanitizers + "GPUTOPO_SYSFS=" + chosen_ + " XDG_CACHE_HOME=" + chosen_ +
                                  " HOME=" + chosen_ + " TMPDIR=" + chosen_ + " GPUTOPO_LOCK_DIR=" + chosen_ + " ";
    return test::run_command("setpriv --reuid=65534 --regid=65534 --clear-groups " + variables + command);
  }

  static constexpr mode_t kPlain = 0755;
  static constexpr mode_t kSetUserId = 04755;
  static constexpr mode_t kSetGroupId = 02755;
  const test::FakeCuda fake_;
  const test::TemporaryFolder folder_;
  const std::string chosen_ = folder_.file("chosen");
};

TEST_F(SetUserId, AHostOfTheLibraryLoadsNoLibraryOfTheCaller) {
  const std::string plain = run_as_nobody(copy(GPUTOPO_SHOW_CHOICES, kPlain)).out;
  EXPECT_THAT(plain, AllOf(HasSubstr("cuda:0\n"), HasSubstr(chosen_ + "\n"))) << "the variables have an effect";
  for (const mode_t mode : {kSetUserId, kSetGroupId}) {
    const std::string privileged = run_as_nobody(copy(GPUTOPO_SHOW_CHOICES, mode)).out;
    EXPECT_THAT(privileged, AllOf(HasSubstr("sim:h200\n"), HasSubstr("/sys\n"), Not(HasSubstr(chosen_))));
    EXPECT_THAT(privileged, Not(HasSubstr("cuda:0\n"))) << "unless there is a real one";
  }
}

TEST_F(SetUserId, TheProgramLoadsNoLibraryOfTheCallerAndWritesToNoFolderOfItsChoice) {
  const std::string plain = copy(GPUTOPO_BINARY, kPlain);
  EXPECT_THAT(run_as_nobody(plain + " list").out, HasSubstr("cuda:0 "));
  EXPECT_EQ(run_as_nobody(plain + " get shared.size --device sim:h200").out, "233472\n");
  EXPECT_FALSE(fs::is_empty(chosen_)) << "it keeps what it has measured";
  fs::remove_all(chosen_ + "/gputopo");
  for (const mode_t mode : {kSetUserId, kSetGroupId}) {
    const std::string privileged = copy(GPUTOPO_BINARY, mode);
    EXPECT_THAT(run_as_nobody(privileged + " list").out, AllOf(HasSubstr("sim:h200 "), Not(HasSubstr("cuda:0 "))));
    EXPECT_EQ(run_as_nobody(privileged + " get shared.size --device sim:h200").out, "233472\n");
    const CommandResult node =
        run_as_nobody(privileged + " node --node sim:h200x2 --only shared.size --gpus-only --quiet");
    // The leak check reads its options from /proc/self/environ, which a set-group-ID process may not open.
    if (!test::kSanitized || mode == kSetUserId) {
      EXPECT_EQ(node.exit_code, 0) << node.err;
    }
    EXPECT_TRUE(fs::is_empty(chosen_));
  }
}

}  // namespace
}  // namespace gputopo
