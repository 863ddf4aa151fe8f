// The C interface with a fake NVIDIA driver: contexts, turns, threads, forks, and calls that hang.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "library/library.h"

namespace library_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LibraryDriver : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("GPUTOPO_LIBCUDA", GPUTOPO_FAKE_LIBCUDA, 1);
    setenv("GPUTOPO_LOCK_DIR", locks_.file("").c_str(), 1);
    quick_.options.budget_seconds = 30;
  }
  void TearDown() override {
    unsetenv("GPUTOPO_LIBCUDA");
    unsetenv("GPUTOPO_LOCK_DIR");
  }
  Folder locks_;
  Quick quick_{"shared.latency"};
};

// The calling thread's own context, as in a program that computes on the GPU.
TEST_F(LibraryDriver, LeavesTheCallersContextCurrent) {
  void* driver = dlopen(GPUTOPO_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << dlerror();
  const auto set_current = reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"));
  const auto get_current = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
  ASSERT_TRUE(set_current != nullptr && get_current != nullptr);
  int own_context = 0;
  ASSERT_EQ(set_current(&own_context), 0);
  struct Seen {
    decltype(get_current) get;
    void* current = nullptr;
  } seen{get_current};
  quick_.options.user = &seen;
  quick_.options.progress = [](void* user, const gputopo_progress*) {
    auto& found = *static_cast<Seen*>(user);
    found.get(&found.current);
  };
  const Report report = discover("cuda:0", quick_.options);
  double latency = 0;
  EXPECT_EQ(gputopo_number(report.get(), "shared.latency", &latency, nullptr, nullptr), GPUTOPO_OK)
      << gputopo_last_error();
  EXPECT_EQ(seen.current, &own_context) << "not so in a callback";
  void* current = nullptr;
  ASSERT_EQ(get_current(&current), 0);
  EXPECT_EQ(current, &own_context);
}

TEST_F(LibraryDriver, FailsInOneLine) {
  setenv("GPUTOPO_FAKE_CUDA", "no_device", 1);
  gputopo_report* report = nullptr;
  EXPECT_EQ(gputopo_discover("cuda:0", &quick_.options, &report), GPUTOPO_ERROR_DEVICE);
  EXPECT_THAT(gputopo_last_error(), HasSubstr("the driver is installed but reports no GPU"));
  unsetenv("GPUTOPO_FAKE_CUDA");
}

TEST_F(LibraryDriver, TakesTurns) {
  const int lock = open(locks_.file("gputopo-0000-0f-00.0.lock").c_str(), O_CREAT | O_RDWR, 0666);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  gputopo_report* report = nullptr;
  quick_.options.wait = 0;
  EXPECT_EQ(gputopo_discover("cuda:0", &quick_.options, &report), GPUTOPO_ERROR_BUSY);
  EXPECT_THAT(gputopo_last_error(), StartsWith("another discovery is measuring the GPU at 0000:0f:00.0"));
  // The holder of the lock may never release it.
  quick_.options.wait = 1;
  quick_.options.max_wait_seconds = 0.2;
  EXPECT_EQ(gputopo_discover("cuda:0", &quick_.options, &report), GPUTOPO_ERROR_BUSY);
  EXPECT_THAT(gputopo_last_error(), HasSubstr("(process " + std::to_string(getpid()) + " of user "));
  quick_.options.max_wait_seconds = 60;
  int questions = 0;
  quick_.options.user = &questions;
  quick_.options.cancelled = [](void* user) -> int32_t { return ++*static_cast<int*>(user) > 3 ? 1 : 0; };
  EXPECT_EQ(gputopo_discover("cuda:0", &quick_.options, &report), GPUTOPO_ERROR_CANCELLED);
  quick_.options.cancelled = nullptr;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    close(lock);
  });
  EXPECT_EQ(gputopo_discover("cuda:0", &quick_.options, &report), GPUTOPO_OK) << gputopo_last_error();
  other.join();
  gputopo_report_free(report);
}

// The fake driver does not support two discoveries at once.
TEST_F(LibraryDriver, OneGpuIsMeasuredByOneThreadAtATime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      const Quick quick("shared.latency");
      const Report report = discover("cuda:0", quick.options);
      EXPECT_NE(report, nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LibraryThreads, ShareReports) {
  const Report shared = load();
  std::atomic<gputopo_report*> given_away = load().release();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        double number = 0;
        EXPECT_EQ(gputopo_number(shared.get(), "l2.latency", &number, nullptr, nullptr), GPUTOPO_OK);
        gputopo_value value = GPUTOPO_VALUE_INIT;
        // Another thread may free the report at this moment: expects a value or an error, and nothing else.
        const int status = gputopo_get(given_away, "device.name", &value);
        EXPECT_TRUE(status == GPUTOPO_OK || status == GPUTOPO_ERROR_HANDLE) << status;
        gputopo_value_free(&value);
        const std::string wrong = "l2.wrong" + std::to_string(i);
        EXPECT_EQ(gputopo_number(shared.get(), wrong.c_str(), &number, nullptr, nullptr), GPUTOPO_ERROR_NAME);
        EXPECT_THAT(gputopo_last_error(), HasSubstr(wrong));
        if (i == 0 && round == 10) gputopo_report_free(given_away);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LibraryThreads, DiscoverSideBySide) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([] {
      const Quick quick;
      const Report report = discover(kQuickDevice, quick.options);
      char* text = nullptr;
      EXPECT_EQ(gputopo_render(report.get(), "html", &text, nullptr), GPUTOPO_OK);
      gputopo_string_free(text);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- fork ----

// Runs `body` in a child process and returns its result.
template <typename Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

TEST_F(LibraryDriver, AChildReadsReportsAndRefusesDrivers) {
  const Report report = discover("cuda:0", quick_.options);
  EXPECT_EQ(in_child([&] {
              double number = 0;
              if (gputopo_number(report.get(), "shared.latency", &number, nullptr, nullptr) != GPUTOPO_OK) return 1;
              if (load() == nullptr) return 2;
              gputopo_report* made = nullptr;
              for (const char* device : {"cuda:0", "hip:0", ""}) {
                if (gputopo_discover(device, &quick_.options, &made) != GPUTOPO_ERROR_FORKED) return 3;
              }
              gputopo_device** devices = nullptr;
              if (gputopo_list(&devices, nullptr) != GPUTOPO_ERROR_FORKED) return 4;
              if (std::strstr(gputopo_last_error(), "fork") == nullptr) return 5;
              gputopo_report_free(report.get());
              return 0;
            }),
            0);
  // The parent can still use the driver.
  const Report again = discover("cuda:0", quick_.options);
  EXPECT_NE(again, nullptr);
}

// Simulated devices need no driver. The child lacks the library's threads and does not need them.
TEST(LibraryFork, AChildSimulates) {
  const Quick quick;
  discover(kQuickDevice, quick.options);
  EXPECT_EQ(in_child([&] {
              gputopo_report* report = nullptr;
              return gputopo_discover(kQuickDevice, &quick.options, &report);
            }),
            GPUTOPO_OK);
}

// Another thread may be inside the library during the fork. This test allocates nothing, because the allocators of
// the sanitizers do not survive such a fork.
TEST(LibraryFork, NoLockIsLeftBehind) {
  const Report report = load();
  std::atomic<bool> ends = false;
  std::thread busy([&] {
    int32_t complete = 0;
    while (!ends) gputopo_complete(report.get(), &complete);
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(in_child([&] {
                alarm(20);
                int32_t complete = 0;
                return gputopo_complete(report.get(), &complete);
              }),
              GPUTOPO_OK);
  }
  ends = true;
  busy.join();
}

// ---- A driver that ends the process ----

// Needs a process without a loaded driver: a process that has loaded it calls the driver itself.
TEST_F(LibraryDriver, OneThatAbortsCostsTheCallerNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto list = [] {
    setenv("GPUTOPO_FAKE_HOSTILE", "abort:cuInit", 1);
    gputopo_device** devices = nullptr;
    char* problem = nullptr;
    if (gputopo_list(&devices, &problem) != GPUTOPO_OK) return 1;
    const bool is_named =
        std::strstr(problem, "cuda: cuInit ended the query process with signal 6 (SIGABRT)") != nullptr;
    const bool has_others = devices[0] != nullptr && std::strncmp(devices[0]->spec, "sim:", 4) == 0;
    gputopo_devices_free(devices);
    gputopo_string_free(problem);
    if (!is_named) return 2;
    if (!has_others) return 3;
    return waitpid(-1, nullptr, WNOHANG) == -1 ? 0 : 4;  // and no child is left
  };
  EXPECT_EXIT(_exit(list()), ::testing::ExitedWithCode(0), "");
}

// ---- A call that never comes back ----

// Needs a process of its own: the thread never leaves the call.
TEST_F(LibraryDriver, ACallThatHangsIsGivenUp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [&] {
    setenv("GPUTOPO_FAKE_HOSTILE", "hang:cuInit", 1);
    quick_.options.cancelled = [](void* user) -> int32_t { return ++*static_cast<int*>(user) > 2 ? 1 : 0; };
    int questions = 0;
    quick_.options.user = &questions;
    gputopo_report* report = nullptr;
    if (gputopo_discover("cuda:0", &quick_.options, &report) != GPUTOPO_ERROR_DEVICE_LOST) return 1;
    if (std::strstr(gputopo_last_error(), "does not return") == nullptr) return 2;
    // A second call does not wait again.
    if (gputopo_discover("cuda:0", &quick_.options, &report) != GPUTOPO_ERROR_DEVICE_LOST) return 3;
    const Quick simulated;
    return gputopo_discover(kQuickDevice, &simulated.options, &report) == GPUTOPO_OK ? 0 : 4;
  };
  EXPECT_EXIT(_exit(hang()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace library_test
