// A file that several processes read, change and write back.
#include "file/file_update.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "gputopo/error.h"
#include "gputopo/file.h"
#include "support/command.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kMost = 1000;
constexpr std::chrono::seconds kLong{60};

class Updates : public testing::Test {
 protected:
  FileUpdate update(std::chrono::duration<double> patience = kLong) {
    return {path_, patience, [this](const std::string& line) { said_.push_back(line); }};
  }
  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("store");
  std::vector<std::string> said_;
};

// A lock belongs to an open file, so threads compete for it as processes do.
TEST_F(Updates, NoneIsLost) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 10;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int time = 0; time < kTimes; ++time) {
        FileUpdate one(path_, kLong, [](const std::string&) {});
        one.write(one.read(kMost).value_or("") + "x");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_file(path_), std::string(kThreads * kTimes, 'x'));
}

TEST_F(Updates, WaitForOneAnotherForALimitedTime) {
  const FileUpdate holder = update();
  EXPECT_THAT(test::message_of<FileError>("waiting", [&] { update(std::chrono::duration<double>(0.1)); }),
              HasSubstr("another process has held the lock on '" + path_ + "'"));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("waiting for another process that is changing '" + path_ + "'")));
}

TEST_F(Updates, AFileThatWasChangedWithoutTheLockIsKept) {
  write_file(path_, "one");
  FileUpdate one = update();
  EXPECT_EQ(one.read(kMost), "one");
  write_file(path_, "two");
  EXPECT_THAT(test::message_of<FileError>("writing", [&] { one.write("three"); }), HasSubstr("was changed meanwhile"));
  EXPECT_EQ(read_file(path_), "two");
  FileUpdate fresh = FileUpdate(folder_.file("new"), kLong, [](const std::string&) {});
  EXPECT_EQ(fresh.read(kMost), std::nullopt);
  write_file(folder_.file("new"), "first");
  EXPECT_THROW(fresh.write("second"), FileError);
}

TEST_F(Updates, ALinkInPlaceOfTheLockIsNotFollowed) {
  std::filesystem::create_symlink(folder_.file("victim"), folder_.file(".store.lock"));
  EXPECT_THAT(test::message_of<FileError>("locking", [&] { update(); }), HasSubstr("its lock file '.store.lock'"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("victim")));
}

TEST_F(Updates, LongNamesAndLinksHaveTheSameLock) {
  path_ = folder_.file(std::string(255, 'n'));
  const FileUpdate holder = update();
  std::filesystem::create_symlink(path_, folder_.file("link"));
  path_ = folder_.file("link");
  EXPECT_THROW(update(std::chrono::duration<double>(0)), FileError);
}

TEST_F(Updates, PipesAreNotLocked) {
  path_ = "/dev/null";
  update().write("text");
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists("/dev/.null.lock"));
}

}  // namespace
}  // namespace gputopo
