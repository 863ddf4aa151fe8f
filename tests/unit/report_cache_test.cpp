// The folder of `gputopo get`, whose contents are not trusted if others may have written them.
#include "cache/report_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "file/digest.h"
#include "file/private_folder.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

constexpr uid_t kCacheStranger = 65534;

mode_t cache_permissions(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

class CacheFolder : public ::testing::Test {
 protected:
  [[nodiscard]] test::CommandResult get(const std::string& before = "") const {
    return test::run_command(before + "XDG_CACHE_HOME=" + home_.path().string() +
                             " " GPUTOPO_BINARY " get shared.size --device sim:h200");
  }
  [[nodiscard]] std::string folder() const { return home_.file("gputopo"); }
  [[nodiscard]] std::string entry() const { return fs::directory_iterator(folder())->path(); }

  // Replaces an entry by a complete one with another value.
  void poison(const std::string& path) const {
    std::string report = read_file(path);
    report.erase(0, report.find('\n') + 1);
    ASSERT_NE(report.find(kValue), std::string::npos);
    for (std::size_t at = 0; (at = report.find(kValue, at)) != std::string::npos;)
      report.replace(at, kValue.size(), "666");
    // Not by write_file, which keeps the owner and the permissions.
    fs::remove(path);
    write_file(path, "gputopo cache 1 " + digest(fs::path(path).filename().string() + report) + "\n" + report);
    ::chmod(path.c_str(), 0600);
  }

  const std::string kValue = "233472";
  test::TemporaryFolder home_;
};

TEST_F(CacheFolder, IsForItsUserAloneWhateverTheUmask) {
  for (const char* umask : {"0", "022", "077", "0277"}) {
    fs::remove_all(folder());
    EXPECT_EQ(get(std::string("umask ") + umask + "; ").out, kValue + "\n");
    EXPECT_EQ(cache_permissions(folder()), 0700u) << umask;
    EXPECT_EQ(cache_permissions(entry()), 0600u) << umask;
    poison(entry());
    EXPECT_EQ(get().out, "666\n") << "what this user has written is believed, so that the next tests can fail";
  }
}

TEST_F(CacheFolder, WhatOthersMayWriteToIsMeasuredAgain) {
  const auto expect_measured = [&](const char* what) {
    EXPECT_EQ(get().out, kValue + "\n") << what;
    EXPECT_EQ(cache_permissions(folder()), 0700u) << what;
    EXPECT_EQ(cache_permissions(entry()), 0600u) << what;
  };
  ASSERT_EQ(get().exit_code, 0);
  for (const mode_t mode : {0777, 0770, 0702, 01777}) {
    poison(entry());
    ASSERT_EQ(::chmod(folder().c_str(), mode), 0);
    expect_measured("a folder of others");
  }
  for (const mode_t mode : {0666, 0620, 0602}) {
    poison(entry());
    ASSERT_EQ(::chmod(entry().c_str(), mode), 0);
    expect_measured("a file of others");
  }
}

TEST_F(CacheFolder, WhatAnotherUserOwnsIsMeasuredAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(get().exit_code, 0);
  poison(entry());
  ASSERT_EQ(::chown(entry().c_str(), kCacheStranger, kCacheStranger), 0);
  EXPECT_EQ(get().out, kValue + "\n");
  poison(entry());
  ASSERT_EQ(::chown(folder().c_str(), kCacheStranger, kCacheStranger), 0);
  const test::CommandResult strange = get();
  EXPECT_EQ(strange.out, kValue + "\n");
  EXPECT_THAT(strange.err, HasSubstr("the result was not cached: cannot use the folder '" + folder() +
                                     "': it belongs to another user"));
}

TEST_F(CacheFolder, LinksAreNotFollowed) {
  ASSERT_EQ(get().exit_code, 0);
  const std::string name = fs::path(entry()).filename();
  poison(entry());
  fs::rename(entry(), home_.file("elsewhere"));
  fs::create_symlink("../elsewhere", folder() + "/" + name);
  EXPECT_EQ(get().out, kValue + "\n");
  EXPECT_FALSE(fs::is_symlink(entry()));
  fs::remove(entry());
  fs::create_hard_link(home_.file("elsewhere"), folder() + "/" + name);
  EXPECT_EQ(get().out, kValue + "\n");
  EXPECT_THAT(read_file(home_.file("elsewhere")), HasSubstr("666")) << "it is replaced, not written to";
  fs::remove(entry());
  ASSERT_EQ(::mkfifo((folder() + "/" + name).c_str(), 0600), 0);
  EXPECT_EQ(get("timeout 60 env ").out, kValue + "\n");
}

TEST_F(CacheFolder, MayBeALinkOfItsUser) {
  fs::create_directory(home_.file("large_disk"));
  fs::create_directory_symlink("large_disk", folder());
  EXPECT_EQ(get().out, kValue + "\n");
  poison(entry());
  EXPECT_EQ(get().out, "666\n");
  if (::lchown(folder().c_str(), kCacheStranger, kCacheStranger) != 0) GTEST_SKIP() << "only root gives links away";
  EXPECT_EQ(get().out, kValue + "\n");
}

TEST(PrivateFolder, OpensNothingThatIsNotThere) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(PrivateFolder::open(folder.file("none")));
  EXPECT_FALSE(PrivateFolder::open(folder.file("none/below")));
  write_file(folder.file("file"), "");
  EXPECT_FALSE(PrivateFolder::open(folder.file("file")));
  EXPECT_THROW((void)PrivateFolder::open_or_create(folder.file("file")), FileError);
}

TEST(PrivateFolder, KeepsWhatIsWritten) {
  const test::TemporaryFolder folder;
  const PrivateFolder made = PrivateFolder::open_or_create(folder.file("a/b"));
  EXPECT_EQ(cache_permissions(folder.file("a")), 0700u);
  EXPECT_FALSE(made.read("x"));
  made.write("x", "one");
  made.write("x", "two");
  EXPECT_EQ(PrivateFolder::open(folder.file("a/b"))->read("x")->text, "two");
  fs::create_directory(folder.file("a/b/y"));
  EXPECT_FALSE(made.read("y"));
  EXPECT_THROW(made.write("y", "three"), FileError);
}

}  // namespace
}  // namespace gputopo
