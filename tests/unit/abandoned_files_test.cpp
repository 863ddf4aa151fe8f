// Partial files of processes that were killed while writing, and who removes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "file/temporary_file.h"
#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

namespace fs = std::filesystem;

const std::string kAbandoned = ".gputopo.0123456789abcdef.partial";

// A process that begins to write a file into the folder and then stalls.
class StalledWriter {
 public:
  explicit StalledWriter(const std::string& folder) {
    int begun[2] = {-1, -1};
    EXPECT_EQ(::pipe(begun), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const TemporaryFile beside(find_path_end(folder + "/x").folder, 0600);
      ::close(begun[0]);
      ::close(begun[1]);
      while (true) ::pause();
    }
    ::close(begun[1]);
    char end = 0;
    EXPECT_EQ(::read(begun[0], &end, 1), 0);
    ::close(begun[0]);
  }
  StalledWriter(const StalledWriter&) = delete;
  StalledWriter& operator=(const StalledWriter&) = delete;
  ~StalledWriter() { kill(); }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }

 private:
  pid_t process_ = 0;
};

TEST(AbandonedFiles, AreRemovedOnceTheirWriterIsKilled) {
  const test::TemporaryFolder folder;
  StalledWriter writer(folder.path());
  ASSERT_THAT(folder.entries(), SizeIs(1));
  const std::string partial = folder.entries().front();
  write_file(folder.file("a"), "text");
  EXPECT_THAT(folder.entries(), ElementsAre(partial, "a")) << "it is still being written";
  writer.kill();
  EXPECT_THAT(folder.entries(), ElementsAre(partial, "a"));
  write_file(folder.file("a"), "other text");
  EXPECT_THAT(folder.entries(), ElementsAre("a"));
}

TEST(AbandonedFiles, AreThoseOfThisNameAlone) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> others = {".gputopo.0123456789ABCDEF.partial", ".gputopo.0123456789abcde.partial",
                                           ".gputopo.0123456789abcdef.part", "gputopo.0123456789abcdef.partial"};
  for (const std::string& name : others) write_file(folder.file(name), "");
  fs::create_symlink(others[0], folder.file(".gputopo.0000000000000001.partial"));
  fs::create_directory(folder.file(".gputopo.0000000000000002.partial"));
  ASSERT_EQ(::mkfifo(folder.file(".gputopo.0000000000000003.partial").c_str(), 0600), 0);
  fs::create_hard_link(folder.file(others[1]), folder.file(".gputopo.0000000000000004.partial"));
  const std::vector<std::string> before = folder.entries();
  write_file(folder.file(kAbandoned), "");
  write_file(folder.file("a"), "");
  std::vector<std::string> after = before;
  after.emplace_back("a");
  EXPECT_THAT(folder.entries(), ::testing::UnorderedElementsAreArray(after));
}

TEST(AbandonedFiles, OfAnotherUserStay) {
  const test::TemporaryFolder folder;
  write_file(folder.file(kAbandoned), "");
  constexpr uid_t kOtherUser = 65534;
  if (::chown(folder.file(kAbandoned).c_str(), kOtherUser, kOtherUser) != 0)
    GTEST_SKIP() << "only root gives files away";
  write_file(folder.file("a"), "");
  EXPECT_THAT(folder.entries(), ElementsAre(kAbandoned, "a"));
}

// A process that removes abandoned files also meets files that others have just begun.
TEST(AbandonedFiles, NoWriterLosesItsFileToAnother) {
  const test::TemporaryFolder folder;
  constexpr int kWriters = 4;
  constexpr int kFiles = 300;
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t process = ::fork();
    if (process == 0) {
      int lost = 0;
      for (int i = 0; i < kFiles; ++i) {
        try {
          write_file(folder.file("of" + std::to_string(writer)), std::string(10000, 'x'));
        } catch (const std::exception&) {
          ++lost;
        }
      }
      ::_exit(lost == 0 ? 0 : 1);
    }
    writers.push_back(process);
  }
  for (const pid_t process : writers) {
    int status = 0;
    ::waitpid(process, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(folder.entries(), SizeIs(kWriters));
}

TEST(AbandonedFiles, CostNothingWhereTheFolderCannotBeListed) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0300), 0);
  write_file(folder.file("a"), "text");
  EXPECT_EQ(read_file(folder.file("a")), "text");
  ::chmod(folder.path().c_str(), 0700);
}

}  // namespace
}  // namespace gputopo
