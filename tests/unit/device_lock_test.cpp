// The lock that keeps two gputopo processes from measuring one GPU at a time, and other files in its place.
#include "gputopo/device_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace gputopo {
namespace {

using ::testing::HasSubstr;

constexpr char kGpu[] = "0000:0f:00.0";

class Lock : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("lock" + std::to_string(getpid()));
    std::filesystem::create_directory(folder_);
    setenv("GPUTOPO_LOCK_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("GPUTOPO_LOCK_DIR");
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "gputopo-0000-0f-00.0.lock"; }

  // Expects a refusal because something else is in the place of the lock file.
  void expect_refused() const {
    const DeviceLockAttempt attempt = try_lock_device(kGpu);
    EXPECT_EQ(attempt.lock, nullptr);
    EXPECT_FALSE(attempt.taken_by_another()) << "it need not be waited for";
    EXPECT_THAT(attempt.problem, HasSubstr(file().string()));
  }

  std::filesystem::path folder_;
};

TEST_F(Lock, IsOneHoldersAtATime) {
  DeviceLockAttempt first = try_lock_device(kGpu);
  ASSERT_NE(first.lock, nullptr) << first.problem;
  EXPECT_TRUE(try_lock_device(kGpu).taken_by_another());
  EXPECT_NE(try_lock_device("0000:10:00.0").lock, nullptr) << "another GPU";
  first.lock.reset();
  EXPECT_NE(try_lock_device(kGpu).lock, nullptr);
}

TEST_F(Lock, ItsHolderIsNamed) {
  EXPECT_EQ(device_lock_holder(kGpu), "another gputopo process") << "there is none";
  const DeviceLockAttempt first = try_lock_device(kGpu);
  ASSERT_NE(first.lock, nullptr) << first.problem;
  EXPECT_THAT(device_lock_holder(kGpu), ::testing::EndsWith(" (process " + std::to_string(getpid()) + " of user " +
                                                            std::to_string(geteuid()) + ")"));
  EXPECT_EQ(device_lock_holder("0000:10:00.0"), "another gputopo process");
}

// A process chooses its own name, which may contain terminal control sequences.
TEST_F(Lock, TheNameOfItsHolderIsMadeVisible) {
  char before[16] = {};
  ASSERT_EQ(prctl(PR_GET_NAME, before), 0);
  // The file tells the name of the process's first thread, which runs the tests.
  ASSERT_EQ(prctl(PR_SET_NAME, "a\x1b[2J\xff"), 0);
  const DeviceLockAttempt first = try_lock_device(kGpu);
  const std::string holder = device_lock_holder(kGpu);
  prctl(PR_SET_NAME, before);
  EXPECT_THAT(holder, ::testing::StartsWith("a\\x1b[2J\\xff (process "));
}

TEST_F(Lock, IsAFileThatEveryUserCanLock) {
  const mode_t before = umask(077);
  EXPECT_NE(try_lock_device(kGpu).lock, nullptr);
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(file().c_str(), &status), 0) << "it stays";
  EXPECT_EQ(status.st_mode & 0777, 0444u);
  EXPECT_NE(try_lock_device(kGpu).lock, nullptr) << "to read it is enough";
}

TEST_F(Lock, FollowsNoLink) {
  const auto target = folder_ / "target";
  std::filesystem::create_symlink(target, file());
  expect_refused();
  EXPECT_FALSE(std::filesystem::exists(target));
  std::ofstream(target) << "another's";
  expect_refused();
}

TEST_F(Lock, LocksNoFileThatHasAnotherName) {
  std::ofstream(folder_ / "target") << "another's";
  std::filesystem::create_hard_link(folder_ / "target", file());
  expect_refused();
}

TEST_F(Lock, UsesPlainFilesOnly) {
  ASSERT_EQ(mkfifo(file().c_str(), 0666), 0);
  expect_refused();
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  expect_refused();
}

TEST_F(Lock, WithoutAFolderSaysSo) {
  setenv("GPUTOPO_LOCK_DIR", (folder_ / "none").c_str(), 1);
  const DeviceLockAttempt attempt = try_lock_device(kGpu);
  EXPECT_EQ(attempt.lock, nullptr);
  EXPECT_THAT(attempt.problem, HasSubstr("none"));
}

TEST_F(Lock, ATakenAwayFileIsNoLock) {
  const DeviceLockAttempt first = try_lock_device(kGpu);
  std::filesystem::remove(file());
  const DeviceLockAttempt second = try_lock_device(kGpu);
  EXPECT_NE(second.lock, nullptr);
  EXPECT_TRUE(try_lock_device(kGpu).taken_by_another()) << "of the file that is there now";
}

TEST_F(Lock, StaysInItsFolder) {
  EXPECT_NE(try_lock_device("../0/..").lock, nullptr);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::MatchesRegex("gputopo-[-.0-9a-z]*.lock"));
  }
}

TEST(LockAddress, IsOfRealGpusOnly) {
  EXPECT_EQ(pci_address_of("sim:h200"), "");
  EXPECT_EQ(pci_address_of("replay:nowhere"), "");
  EXPECT_EQ(pci_address_of("h200"), "");
}

}  // namespace
}  // namespace gputopo
