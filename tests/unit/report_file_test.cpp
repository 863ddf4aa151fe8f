#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "file/output.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Action>
std::string file_error(const Action& action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  }
  return "no error";
}

TEST(WriteFile, ReplacesAFileAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  write_file(folder.file("a"), "old text");
  write_file(folder.file("a"), "new");
  EXPECT_EQ(read_file(folder.file("a")), "new");
  EXPECT_THAT(folder.entries(), ElementsAre("a"));
}

TEST(WriteFile, KeepsASymbolicLink) {
  const TemporaryFolder folder;
  write_file(folder.file("target"), "old");
  std::filesystem::create_symlink(folder.file("target"), folder.file("link"));
  write_file(folder.file("link"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(read_file(folder.file("target")), "new");
}

TEST(WriteFile, SaysWhatToDoWhereItCannotWrite) {
  const TemporaryFolder folder;
  EXPECT_THAT(file_error([&] { write_file(folder.file("no/such/folder"), "x"); }),
              HasSubstr("create its folder first"));
  EXPECT_THAT(file_error([&] { write_file(folder.path(), "x"); }), HasSubstr("name a file, not a folder"));
  EXPECT_THAT(file_error([&] { check_writable(folder.file("no/such/folder")); }), HasSubstr("create its folder first"));
  EXPECT_THAT(folder.entries(), IsEmpty());
}

TEST(WriteFile, ReportsAFullDiskAndKeepsTheDevice) {
  EXPECT_THAT(file_error([] { write_file("/dev/full", "x"); }), HasSubstr("free some space"));
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/full"));
}

TEST(CheckWritable, LeavesNothingBehind) {
  const TemporaryFolder folder;
  check_writable(folder.file("a"));
  EXPECT_THAT(folder.entries(), IsEmpty());
}

TEST(ReadFile, RefusesWhatMayNeverEnd) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("fifo").c_str(), 0666), 0);
  for (const std::string& path : {std::string("/dev/zero"), std::string("/dev/null"), folder.file("fifo")}) {
    EXPECT_THAT(file_error([&] { (void)read_file(path); }), HasSubstr("'" + path + "': it is not a regular file"));
  }
  EXPECT_THAT(file_error([&] { (void)read_file(folder.path()); }), HasSubstr("name a file, not a folder"));
}

TEST(ReadFile, RefusesMoreThanAnyFileHas) {
  const TemporaryFolder folder;
  write_file(folder.file("large"), "");
  std::filesystem::resize_file(folder.file("large"), 1ull << 40);
  EXPECT_THAT(file_error([&] { (void)read_file(folder.file("large")); }), HasSubstr("larger than 256 MiB"));
}

TEST(ReadFile, SaysWhichFileIsMissing) {
  EXPECT_THAT(file_error([] { (void)read_file("/no/such/report.json"); }),
              HasSubstr("cannot read '/no/such/report.json'"));
}

TEST(Samples, AreCsvWithOneFileATable) {
  const TemporaryFolder folder;
  write_samples(test::sample_topology(), folder.file("raw"));
  EXPECT_EQ(read_file(folder.file("raw/l1.size.sweep.csv")),
            "footprint_bytes,\"latency, mean\"\r\n1024,34.25\r\n2048.5,1000000\r\n");
  EXPECT_THAT(read_file(folder.file("raw/device.txt")), HasSubstr("SIMULATED NVIDIA H200"));
}

TEST(Samples, NeedAFolderThatCanBeMade) {
  const TemporaryFolder folder;
  write_file(folder.file("file"), "x");
  EXPECT_THAT(file_error([&] { write_samples(test::sample_topology(), folder.file("file/raw")); }),
              HasSubstr("cannot create the folder"));
}

}  // namespace
}  // namespace gputopo
