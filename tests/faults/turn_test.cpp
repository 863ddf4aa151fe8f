// Two gputopo processes on one GPU: a slow reader of one's output does not delay the other, and nobody waits forever.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "gputopo/file.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fake_cuda.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::run_command;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

const std::string kQuickRun = GPUTOPO_BINARY " --device cuda:0 --only shared --attribute latency --budget 30 --quiet ";

// A driver whose only GPU has its lock in a folder of this test.
class TurnsOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("GPUTOPO_LOCK_DIR", locks_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("GPUTOPO_LOCK_DIR"); }
  [[nodiscard]] std::string lock_file() const { return locks_.file("gputopo-0000-0f-00.0.lock"); }

  // During `script` the first gputopo waits for a reader while the second measures.
  CommandResult measure_beside(const std::string& script) const {
    return run_command("first=; " + script + "\nkill -0 $first || echo 'the first one has ended' >&2\n" + finish_);
  }

  test::FakeCuda fake_;
  TemporaryFolder locks_;
  TemporaryFolder folder_;
  std::string finish_ = "kill -9 $first; wait $first 2>/dev/null; exit $code";
};

std::string until(const std::string& condition) {
  return "for i in $(seq 600); do " + condition + " && break; sleep 0.1; done; ";
}

TEST_F(TurnsOnAGpu, APipeThatNobodyReadsKeepsNobodyWaiting) {
  const std::string json = folder_.file("a.json");
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& command : {kQuickRun, std::string(GPUTOPO_BINARY " node --quiet --only shared --attribute "
                                                                           "latency ")}) {
    fs::remove(json);
    const CommandResult result =
        measure_beside(command + "--json " + json + " --html " + fifo + " >/dev/null 2>&1 & first=$!; " +
                       until("test -e " + json) + kQuickRun + "--no-wait; code=$?");
    EXPECT_EQ(result.exit_code, 0) << command << result.err;
    EXPECT_THAT(result.err, ::testing::IsEmpty()) << command;
  }
}

// The write end of a pipe without free space.
class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(::pipe(ends_), 0);
    ::fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    const std::string block(4096, ' ');
    while (::write(ends_[1], block.data(), block.size()) > 0) {
    }
    ::fcntl(ends_[1], F_SETFL, 0);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  ~FullPipe() {
    for (const int end : ends_) ::close(end);
  }
  [[nodiscard]] std::string written_to() const { return fmt::format("&{}", ends_[1]); }

 private:
  int ends_[2] = {-1, -1};
};

// Like a pager that shows its first page.
TEST_F(TurnsOnAGpu, AReaderOfStandardOutputThatPausesKeepsNobodyWaiting) {
  const FullPipe pager;
  const std::string json = folder_.file("a.json");
  const CommandResult result =
      measure_beside(kQuickRun + "--json " + json + " >" + pager.written_to() + " & first=$!; " +
                     until("test -e " + json) + kQuickRun + "--no-wait; code=$?");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ::testing::IsEmpty());
}

TEST_F(TurnsOnAGpu, AReaderOfStandardErrorThatPausesKeepsNobodyWaiting) {
  const FullPipe pager;
  for (const char* talk : {"--verbose", "--dump-program", "--profile"}) {
    fs::remove(lock_file());
    const CommandResult result = measure_beside(
        GPUTOPO_BINARY " --device cuda:0 --only shared --attribute latency --budget 30 " + std::string(talk) +
        " >/dev/null 2>" + pager.written_to() + " & first=$!; " + until("test -e " + lock_file()) + kQuickRun +
        "--max-wait 60 2>" + folder_.file("err") + "; code=$?");
    EXPECT_EQ(result.exit_code, 0) << talk << read_file(folder_.file("err"));
    EXPECT_THAT(result.err, ::testing::IsEmpty()) << talk;
  }
}

// Delayed output arrives complete once it is read.
TEST_F(TurnsOnAGpu, NothingOfStandardErrorIsLost) {
  const std::string talk = GPUTOPO_BINARY
      " --device cuda:0 --only shared --attribute latency --budget 30 --quiet --dump-program 2>&1 "
      ">/dev/null ";
  // On a busy host, a run may repeat programs that another run does not.
  constexpr int kAttempts = 4;
  bool is_complete = false;
  for (int attempt = 0; attempt < kAttempts && !is_complete; ++attempt) {
    const CommandResult slow = run_command(talk + "| { sleep 3; cat; }");
    const CommandResult quick = run_command(talk);
    EXPECT_GT(quick.out.size(), std::size_t{65536}) << "it has to be more than a pipe holds";
    is_complete = slow.out == quick.out;
  }
  EXPECT_TRUE(is_complete);
}

TEST_F(TurnsOnAGpu, APipeOfAnotherUserIsRefusedFirst) {
  constexpr uid_t kNobodyElse = 65534;
  const std::string fifo = folder_.file("a.json");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
  if (::chown(fifo.c_str(), kNobodyElse, kNobodyElse) != 0) GTEST_SKIP() << "only root gives files away";
  for (const char* option : {"--json ", "--html ", "--record "}) {
    const CommandResult result = run_command("timeout 30 " + kQuickRun + option + fifo);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err,
              "gputopo: error: cannot write '" + fifo + "': it is a pipe that belongs to another user; name a file\n");
    EXPECT_FALSE(fs::exists(lock_file())) << "it is said before anything is measured";
  }
  EXPECT_EQ(
      run_command("timeout 30 " GPUTOPO_BINARY " show " GPUTOPO_SOURCE_DIR "/tests/reports/gt200.json --json " + fifo)
          .exit_code,
      1);
}

// ---- a lock that is not given back ----

// A process that holds the lock until end(), as another user if possible.
class LockOfAnother {
 public:
  explicit LockOfAnother(const std::string& file) {
    write_file(file, "");
    ::chmod(file.c_str(), 0444);
    ::chmod(fs::path(file).parent_path().c_str(), 0755);
    int ready[2] = {-1, -1};
    EXPECT_EQ(::pipe(ready), 0);
    process_ = ::fork();
    if (process_ == 0) {
      if (::geteuid() == 0 && ::setresuid(kUser, kUser, kUser) != 0) ::_exit(1);
      if (::flock(::open(file.c_str(), O_RDONLY), LOCK_EX | LOCK_NB) != 0) ::_exit(1);
      ::close(ready[0]);
      ::close(ready[1]);
      while (true) ::pause();
    }
    ::close(ready[1]);
    char end = 0;
    EXPECT_EQ(::read(ready[0], &end, 1), 0);
    ::close(ready[0]);
  }
  LockOfAnother(const LockOfAnother&) = delete;
  LockOfAnother& operator=(const LockOfAnother&) = delete;
  ~LockOfAnother() { end(); }
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(std::exchange(process_, 0), nullptr, 0);
  }
  [[nodiscard]] std::string name() const {
    return fmt::format("(process {} of user {})", process_, ::geteuid() == 0 ? kUser : ::geteuid());
  }

 private:
  static constexpr uid_t kUser = 65534;
  pid_t process_ = 0;
};

TEST_F(TurnsOnAGpu, ALockThatIsNeverGivenBackIsWaitedForWithinALimit) {
  const LockOfAnother lock(lock_file());
  const auto begin = std::chrono::steady_clock::now();
  const CommandResult result = run_command(kQuickRun + "--max-wait 1.5");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, AllOf(HasSubstr("gputopo: waiting up to 1.5 s for the GPU at 0000:0f:00.0"),
                                HasSubstr("gputopo: error: waited 1.5 s, but the GPU at 0000:0f:00.0 is locked by "),
                                HasSubstr(lock.name())));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  const CommandResult at_once = run_command(kQuickRun + "--no-wait");
  EXPECT_EQ(at_once.exit_code, 4);
  EXPECT_EQ(std::ranges::count(at_once.err, '\n'), 1) << at_once.err;
  EXPECT_THAT(run_command(kQuickRun + "--no-wait --max-wait 3").exit_code, 2);
  EXPECT_THAT(run_command(kQuickRun + "--max-wait -1").exit_code, 2);
}

// Waits for each GPU of a node, and then for its links. The report names what is missing and holds the rest.
TEST_F(TurnsOnAGpu, ANodeDoesNotWaitForEver) {
  const LockOfAnother lock(lock_file());
  const CommandResult result =
      run_command("timeout 60 " GPUTOPO_BINARY " node --quiet --only shared --attribute latency --max-wait 1 --json " +
                  folder_.file("n.json") + " >/dev/null");
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(read_file(folder_.file("n.json")), HasSubstr(lock.name()));
}

TEST_F(TurnsOnAGpu, AnotherUsersIsWaitedForAsLongAsItMeasures) {
  LockOfAnother lock(lock_file());
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    lock.end();
  });
  const CommandResult result = run_command(kQuickRun + "--max-wait 60 --json " + folder_.file("a.json"));
  ends.join();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("waiting up to 60 s"));
  EXPECT_TRUE(read_json(read_file(folder_.file("a.json"))).complete);
}

}  // namespace
}  // namespace gputopo
