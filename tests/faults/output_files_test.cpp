// Targets of output: links, pipes, devices, one file given twice, and missing standard streams.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "gputopo/file.h"
#include "gputopo/report.h"
#include "support/command.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::run_command;
using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

const std::string kShortRun = GPUTOPO_BINARY " --device sim:h200 --only shared --attribute size,latency --quiet ";
const std::string kOneReport = GPUTOPO_SOURCE_DIR "/tests/reports/gt200.json";

bool is_report(const std::string& path) { return read_json(read_file(path)).complete; }

mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

TEST(OutputFile, ANewOneHasTheUmasksModeAndAnOldOneKeepsIts) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.json");
  EXPECT_EQ(run_command("umask 027; " + kShortRun + "--json " + path).exit_code, 0);
  EXPECT_EQ(mode_of(path), 0640u);
  ::chmod(path.c_str(), 0604);
  EXPECT_EQ(run_command("umask 077; " + kShortRun + "--json " + path).exit_code, 0);
  EXPECT_EQ(mode_of(path), 0604u);
  EXPECT_THAT(folder.entries(), ElementsAre("a.json"));
}

constexpr uid_t kNobody = 65534;

// Runs the command as a user who owns nothing. This needs root.
CommandResult run_as_nobody(const std::string& command) {
  return run_command("setpriv --reuid=65534 --regid=65534 --clear-groups sh -c " + test::quoted(command));
}

bool may_be_nobody() { return ::geteuid() == 0 && run_as_nobody("test -x " GPUTOPO_BINARY).exit_code == 0; }

TEST(OutputFile, AReplacedFileStaysAnothersAsFarAsItMay) {
  if (!may_be_nobody()) GTEST_SKIP() << "only root becomes another user (setpriv)";
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const std::string path = folder.file("a.json");
  const auto old_file = [&](uid_t owner, mode_t mode) {
    write_file(path, "old");
    EXPECT_EQ(::chown(path.c_str(), owner, owner), 0);
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  };
  const auto owner = [&] {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_uid : ~uid_t{0};
  };
  old_file(kNobody, 0640);
  EXPECT_EQ(run_command(kShortRun + "--json " + path).exit_code, 0);
  EXPECT_TRUE(is_report(path));
  EXPECT_EQ(owner(), kNobody);
  EXPECT_EQ(mode_of(path), 0640u);
  // Root's group had rights that the group of nobody must not get.
  old_file(0, 0664);
  EXPECT_EQ(run_as_nobody(kShortRun + "--json " + path).exit_code, 0);
  EXPECT_TRUE(is_report(path));
  EXPECT_EQ(owner(), kNobody);
  EXPECT_EQ(mode_of(path), 0604u);
}

TEST(OutputFile, WhatMayNotBeWrittenIsSaidFirst) {
  if (!may_be_nobody()) GTEST_SKIP() << "only root becomes another user (setpriv)";
  const TemporaryFolder folder;
  const std::string path = folder.file("a.json");
  write_file(path, "old");
  for (const mode_t mode : {01777, 0755, 0711, 0700}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    const CommandResult result = run_as_nobody(kShortRun + "--json " + path);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("choose a path that you may access"));
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_EQ(read_file(path), "old");
  }
  // Search and write permission on the folder suffice; read permission is not needed.
  ASSERT_EQ(::chmod(folder.path().c_str(), 0733), 0);
  EXPECT_EQ(run_as_nobody(kShortRun + "--json " + folder.file("b.json")).exit_code, 0);
  EXPECT_TRUE(is_report(folder.file("b.json")));
}

TEST(OutputFile, ADiskIsRefused) {
  constexpr dev_t kNoDriver = 240 << 8;  // major number for experiments: a write would reach no device
  const TemporaryFolder folder;
  if (::mknod(folder.file("disk").c_str(), S_IFBLK | 0600, kNoDriver) != 0) GTEST_SKIP() << "only root makes devices";
  const CommandResult result = run_command(kShortRun + "--json " + folder.file("disk"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("it is a block device, not a file; name a file"));
}

TEST(OutputFile, ALinkStaysALinkAndLeadsToTheReport) {
  const TemporaryFolder folder;
  write_file(folder.file("file"), "old");
  fs::create_symlink("file", folder.file("link"));
  fs::create_symlink("link", folder.file("link_to_link"));
  fs::create_symlink("missing", folder.file("dangling"));
  fs::create_symlink("circle", folder.file("circle"));
  EXPECT_EQ(run_command(kShortRun + "--json " + folder.file("link_to_link")).exit_code, 0);
  EXPECT_EQ(run_command(kShortRun + "--json " + folder.file("dangling")).exit_code, 0);
  EXPECT_TRUE(is_report(folder.file("file")));
  EXPECT_TRUE(is_report(folder.file("missing")));
  EXPECT_TRUE(fs::is_symlink(folder.file("link")));
  EXPECT_THAT(run_command(kShortRun + "--json " + folder.file("circle")).err, HasSubstr("Too many levels"));
  EXPECT_THAT(folder.entries(), ElementsAre("circle", "dangling", "file", "link", "link_to_link", "missing"));
}

TEST(OutputFile, ALinkOfAnotherUserIsNotFollowed) {
  const TemporaryFolder folder;
  write_file(folder.file("precious"), "old");
  fs::create_symlink("precious", folder.file("a.json"));
  if (::lchown(folder.file("a.json").c_str(), kNobody, kNobody) != 0) GTEST_SKIP() << "only root gives files away";
  const CommandResult result = run_command(kShortRun + "--json " + folder.file("a.json"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("a symbolic link that belongs to another user; name the file that it points to"));
  EXPECT_EQ(read_file(folder.file("precious")), "old");
}

// A user's own links may lead anywhere. Another user's are refused, in a folder like /tmp or one of that user.
TEST(OutputFile, AFolderThatIsALinkOfAnotherUserIsNotFollowed) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("precious/deep"));
  fs::create_directories(folder.file("shared"));
  fs::create_directory_symlink("../precious", folder.file("shared/link"));
  fs::create_directory_symlink("shared/link/../precious", folder.file("own"));
  const std::vector<std::string> paths = {folder.file("shared/link/a.json"), folder.file("shared/link/deep/a.json"),
                                          folder.file("own/deep/../a.json")};
  for (const std::string& path : paths) {
    EXPECT_EQ(run_command(kShortRun + "--json " + path + " --record " + path + ".rec --raw " + path + ".raw").exit_code,
              0);
    EXPECT_TRUE(is_report(path));
    for (const char* end : {"", ".rec", ".raw"}) fs::remove_all(path + end);
  }
  if (::lchown(folder.file("shared/link").c_str(), kNobody, kNobody) != 0) {
    GTEST_SKIP() << "only root gives files away";
  }
  for (const mode_t mode : {01777, 0755}) {
    ASSERT_EQ(::chmod(folder.file("shared").c_str(), mode), 0);
    ASSERT_EQ(::chown(folder.file("shared").c_str(), mode == 0755 ? kNobody : 0, 0), 0);
    for (const std::string& path : paths) {
      for (const char* option : {"--json ", "--record ", "--raw ", "--html "}) {
        const CommandResult result = run_command(kShortRun + option + path);
        EXPECT_EQ(result.exit_code, 1) << path;
        EXPECT_THAT(result.err, HasSubstr("its folder 'link' is a symbolic link that belongs to another user; name the "
                                          "folder that it points to"));
      }
    }
  }
  EXPECT_TRUE(fs::is_empty(folder.file("precious/deep")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.file("precious")), {}), 1);
}

TEST(OutputFile, FoldersMayBeWrittenInManyWays) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("a/b"));
  const std::string in_folder = "cd " + folder.file("a") + "; ";
  for (const char* path : {"x.json", "./b/../x.json", "..//a/x.json", "/proc/self/cwd/x.json"}) {
    EXPECT_EQ(run_command(in_folder + kShortRun + "--json " + path).exit_code, 0) << path;
    EXPECT_TRUE(is_report(folder.file("a/x.json")));
    fs::remove(folder.file("a/x.json"));
  }
  for (const char* path : {"b/", "b/.", "..", "/", "missing/x.json", "x.json/y.json", "''/"}) {
    const CommandResult result = run_command(in_folder + "touch x.json; " + kShortRun + "--json " + path);
    EXPECT_EQ(result.exit_code, 1) << path;
    EXPECT_THAT(result.err, HasSubstr("cannot write '")) << path;
  }
  EXPECT_EQ(run_command(in_folder + kShortRun + "--raw n/../n/./raw/").exit_code, 0);
  EXPECT_TRUE(fs::exists(folder.file("a/n/raw/device.txt")));
}

TEST(OutputFile, WhatWasPlantedUnderTheNameOfAPartialFileStays) {
  const TemporaryFolder folder;
  write_file(folder.file("precious"), "old");
  // exec keeps the shell's process ID, so $$ is also that of gputopo.
  EXPECT_EQ(run_command("cd " + folder.path().string() + "; exec sh -c 'ln -s precious a.json.$$.partial; exec " +
                        kShortRun + "--json a.json'")
                .exit_code,
            0);
  EXPECT_EQ(read_file(folder.file("precious")), "old");
  EXPECT_TRUE(is_report(folder.file("a.json")));
}

TEST(OutputFile, PipesAndDevicesStayWhatTheyAre) {
  const TemporaryFolder folder;
  const std::string fifo = folder.file("fifo");
  const CommandResult piped = run_command("mkfifo " + fifo + "; { cat " + fifo + " >" + folder.file("read") + " & }; " +
                                          kShortRun + "--json " + fifo + " >/dev/null; wait");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_TRUE(is_report(folder.file("read")));
  EXPECT_TRUE(fs::is_fifo(fifo));
  // Both outputs arrive whatever /dev/stdout is, a file or a pipe.
  for (const char* end : {"", " | cat"}) {
    const CommandResult both = run_command(kShortRun + "--json /dev/stdout" + end);
    EXPECT_THAT(both.out, ::testing::StartsWith("{\n"));
    EXPECT_THAT(both.out, HasSubstr("Shared memory"));
  }
  EXPECT_EQ(run_command(kShortRun + "--json /dev/null --csv /dev/null").exit_code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(OutputFile, TwoOutputsThatAreOneFileAreRefusedFirst) {
  const TemporaryFolder folder;
  const std::string in_folder = "cd " + folder.path().string() + "; ";
  write_file(folder.file("file"), "old");
  fs::create_symlink("file", folder.file("link"));
  fs::create_hard_link(folder.file("file"), folder.file("hard"));
  for (const char* outputs : {"--json x --csv x", "--json x --csv ./x", "--json file --svg link",
                              "--csv link --html hard", "--record x --json $PWD/x", "--raw x --json x"}) {
    const CommandResult result = run_command(in_folder + kShortRun + outputs);
    EXPECT_EQ(result.exit_code, 2) << outputs;
    EXPECT_THAT(result.err, HasSubstr("would be lost: choose another file")) << outputs;
    EXPECT_THAT(result.out, IsEmpty());
  }
  EXPECT_EQ(read_file(folder.file("file")), "old");
  const CommandResult page =
      run_command(in_folder + "cp " + kOneReport + " a; cp a b; " GPUTOPO_BINARY " diff a b --html ./b");
  EXPECT_EQ(page.exit_code, 2);
  EXPECT_THAT(page.err, HasSubstr("would overwrite the report 'b'"));
  EXPECT_THAT(folder.entries(), ElementsAre("a", "b", "file", "hard", "link"));
}

TEST(OutputFile, TheLimitOfAFilesSizeIsAnErrorAndNoSignal) {
  const TemporaryFolder folder;
  write_file(folder.file("a.json"), "old");
  const CommandResult result =
      run_command("(ulimit -f 1; exec " + kShortRun + "--json " + folder.file("a.json") + ") | cat >/dev/null");
  EXPECT_THAT(result.err, HasSubstr("File too large; raise the file size limit"));
  EXPECT_EQ(read_file(folder.file("a.json")), "old");
  EXPECT_THAT(folder.entries(), ElementsAre("a.json"));
}

// ---- a full disk ----

// Runs the command on a full disk of its own. Standard output lists the remaining files and their contents.
CommandResult run_on_full_disk(const std::string& command) {
  const TemporaryFolder folder;
  return run_command("unshare -rm sh -c " +
                     test::quoted("mount -t tmpfs -o size=64k tmpfs " + folder.path().string() + " && cd " +
                                  folder.path().string() +
                                  " || exit 99; echo old >a.json; cp a.json a.rec; cp a.json a.html; "
                                  "cat /dev/zero >filler 2>&-; { " +
                                  command +
                                  "; } >&2; code=$?; find . -type f -not -name filler -exec cat {} +; "
                                  "find . | sort; exit $code"));
}

TEST(FullDisk, LeavesOldFilesAndNothingElse) {
  if (run_on_full_disk("true").exit_code == 99) GTEST_SKIP() << "this user may not mount a tmpfs of its own";
  const std::string as_before = run_on_full_disk("true").out;
  EXPECT_EQ(as_before, "old\nold\nold\n.\n./a.html\n./a.json\n./a.rec\n./filler\n");
  const std::pair<const char*, const char*> outputs[] = {
      {"--json a.json", "a.json"},
      {"--json new.json", "new.json"},
      {"--record a.rec", "a.rec"},
      {"--html a.html", "a.html"},
      {"--raw new/raw", "new/raw/device.txt"},
      {"--raw raw --json a.json --record a.rec --html a.html", "a.json"}};
  for (const auto& [options, first] : outputs) {
    const CommandResult result = run_on_full_disk(kShortRun + options + " >/dev/null");
    EXPECT_EQ(result.exit_code, 1) << options;
    EXPECT_EQ(result.err, fmt::format("gputopo: error: cannot write '{}': No space left on device; free some space or "
                                      "choose another path\n",
                                      first));
    EXPECT_EQ(result.out, as_before) << options;
  }
  for (const std::string& option : {std::string("--json a.json"), std::string("--html a.html")}) {
    const CommandResult shown = run_on_full_disk(GPUTOPO_BINARY " show " + kOneReport + " " + option + " >/dev/null");
    EXPECT_EQ(shown.exit_code, 1);
    EXPECT_THAT(shown.err, HasSubstr("No space left on device"));
    EXPECT_EQ(shown.out, as_before);
  }
}

// Files that fit before the disk is full must not stay without the rest.
TEST(FullDisk, LeavesNoPartOfTheSamples) {
  const std::string room = "truncate -s -8192 filler; ";
  const CommandResult result = run_on_full_disk(room + GPUTOPO_BINARY
                                                " --device sim:h200 --only l1 --attribute size --quiet --raw raw "
                                                ">/dev/null");
  if (result.exit_code == 99) GTEST_SKIP() << "this user may not mount a tmpfs of its own";
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(".csv': No space left on device"));
  EXPECT_EQ(result.out, run_on_full_disk("true").out);
}

TEST(FullDisk, AsStandardOutputIsAnErrorAfterTheFiles) {
  const TemporaryFolder folder;
  for (const std::string& command : {kShortRun + "--json " + folder.file("a.json"),
                                     GPUTOPO_BINARY " show " + kOneReport + " --json " + folder.file("a.json")}) {
    fs::remove(folder.file("a.json"));
    const CommandResult result = run_command(command + " >/dev/full");
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err,
              "gputopo: error: cannot write to standard output: No space left on device; redirect it elsewhere\n");
    EXPECT_TRUE(is_report(folder.file("a.json")));
  }
  EXPECT_EQ(run_command(kShortRun + ">/dev/full 2>/dev/full").exit_code, 1);
}

// ---- standard streams ----

TEST(StandardStreams, AStandardErrorThatCannotBeWrittenCostsNothing) {
  const TemporaryFolder folder;
  for (const char* end : {" 2>&-", " 2>/dev/full", " --verbose 2>/dev/full", " --dump-program 2>&-"}) {
    const std::string path = folder.file("a.json");
    fs::remove(path);
    const CommandResult result =
        run_command(GPUTOPO_BINARY " --device sim:h200 --only shared --attribute size,latency --json " + path + end);
    EXPECT_EQ(result.exit_code, 0) << end;
    EXPECT_THAT(result.out, HasSubstr("Shared memory")) << end;
    EXPECT_TRUE(is_report(path)) << end;
  }
}

TEST(StandardStreams, AClosedStandardOutputIsAnErrorAndNoFileTakesItsPlace) {
  const TemporaryFolder folder;
  for (const char* end : {" >&-", " >&- <&-"}) {
    const CommandResult result = run_command(kShortRun + "--json " + folder.file("a.json") + end);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err,
              "gputopo: error: cannot write to standard output: it is closed; redirect it to a file or a pipe\n");
    EXPECT_TRUE(is_report(folder.file("a.json")));
    EXPECT_EQ(run_command(std::string(GPUTOPO_BINARY " list") + end).exit_code, 1);
  }
  EXPECT_EQ(run_command(kShortRun + "--json " + folder.file("b.json") + " >&- 2>&-").exit_code, 1);
  EXPECT_TRUE(is_report(folder.file("b.json")));
}

TEST(StandardStreams, AReaderThatGoesAwayCostsNoFile) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_command("bash -c '" GPUTOPO_BINARY " --device sim:h200 --only shared --attribute size,latency --json " +
                  folder.file("a.json") + " --record " + folder.file("a.rec") + " --raw " + folder.file("raw") +
                  " 2>&1 | true; exit ${PIPESTATUS[0]}'");
  EXPECT_EQ(result.exit_code, 141);
  EXPECT_THAT(result.out + result.err, IsEmpty());
  EXPECT_TRUE(is_report(folder.file("a.json")));
  EXPECT_THAT(folder.entries(), UnorderedElementsAre("a.json", "a.rec", "raw"));
  EXPECT_EQ(run_command("bash -c '" GPUTOPO_BINARY " show " + kOneReport + " | true; exit ${PIPESTATUS[0]}'").exit_code,
            141);
}

}  // namespace
}  // namespace gputopo
