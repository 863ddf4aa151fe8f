// Discoveries through the C interface, and parts of the calling process that they must not change.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "library/library.h"

namespace library_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

double number_of(const Report& report, const char* path) {
  double number = std::nan("");
  EXPECT_EQ(gputopo_number(report.get(), path, &number, nullptr, nullptr), GPUTOPO_OK) << gputopo_last_error();
  return number;
}

TEST(LibraryDiscover, MeasuresASimulatedDevice) {
  const Quick quick;
  const Report report = discover(kQuickDevice, quick.options);
  EXPECT_GT(number_of(report, "texture.latency"), 100);
  EXPECT_EQ(number_of(report, "device.simulated"), 1);
  int32_t complete = 0;
  EXPECT_EQ(gputopo_complete(report.get(), &complete), GPUTOPO_OK);
  EXPECT_EQ(complete, 1);
}

TEST(LibraryDiscover, ListsDevices) {
  gputopo_device** devices = nullptr;
  char* problem = nullptr;
  ASSERT_EQ(gputopo_list(&devices, &problem), GPUTOPO_OK) << gputopo_last_error();
  std::vector<std::string> specs;
  for (gputopo_device** device = devices; *device != nullptr; ++device) specs.emplace_back((*device)->spec);
  EXPECT_THAT(specs, Contains("sim:h200"));
  ASSERT_NE(problem, nullptr);
  gputopo_string_free(problem);
  gputopo_devices_free(devices);
}

struct Calls {
  pthread_t caller = pthread_self();
  std::vector<std::string> steps;
  std::vector<std::string> lines;
  int questions = 0;
  int cancels_at = std::numeric_limits<int>::max();
};

void fill_callbacks(gputopo_options& options, Calls& calls) {
  options.user = &calls;
  options.progress = [](void* user, const gputopo_progress* progress) {
    auto& seen = *static_cast<Calls*>(user);
    EXPECT_TRUE(pthread_equal(pthread_self(), seen.caller));
    EXPECT_LE(progress->done, progress->total);
    seen.steps.emplace_back(progress->step);
  };
  options.log = [](void* user, int32_t, const char* line) {
    auto& seen = *static_cast<Calls*>(user);
    EXPECT_TRUE(pthread_equal(pthread_self(), seen.caller));
    seen.lines.emplace_back(line);
  };
  options.cancelled = [](void* user) -> int32_t {
    auto& seen = *static_cast<Calls*>(user);
    EXPECT_TRUE(pthread_equal(pthread_self(), seen.caller));
    return ++seen.questions >= seen.cancels_at ? 1 : 0;
  };
}

TEST(LibraryDiscover, TellsItsProgressOnTheCallersThread) {
  Quick quick;
  Calls calls;
  fill_callbacks(quick.options, calls);
  const Report report = discover(kQuickDevice, quick.options);
  EXPECT_THAT(calls.steps, Contains("texture.latency"));
  EXPECT_EQ(calls.steps.back(), "");
  EXPECT_FALSE(calls.lines.empty());
  EXPECT_GT(calls.questions, 0);
}

TEST(LibraryDiscover, IsCancelledBeforeItBegins) {
  Quick quick;
  Calls calls;
  calls.cancels_at = 1;
  fill_callbacks(quick.options, calls);
  gputopo_report* report = nullptr;
  EXPECT_EQ(gputopo_discover(kQuickDevice, &quick.options, &report), GPUTOPO_ERROR_CANCELLED);
  EXPECT_EQ(report, nullptr);
}

// The values measured before the cancellation form a report.
TEST(LibraryDiscover, IsCancelledMeanwhile) {
  gputopo_options options;
  gputopo_options_init(&options, sizeof options);
  options.full = 1;
  Calls calls;
  calls.cancels_at = 5;
  fill_callbacks(options, calls);
  const Report report = discover("sim:h200", options);
  int32_t complete = 1;
  EXPECT_EQ(gputopo_complete(report.get(), &complete), GPUTOPO_OK);
  EXPECT_EQ(complete, 0);
  gputopo_value value = GPUTOPO_VALUE_INIT;
  EXPECT_EQ(gputopo_get(report.get(), "bulk_copy.latency", &value), GPUTOPO_UNAVAILABLE);
  EXPECT_EQ(value.reason, GPUTOPO_REASON_INTERRUPTED);
  gputopo_value_free(&value);
}

TEST(LibraryDiscover, OptionsThatAreWrong) {
  gputopo_report* report = nullptr;
  const auto expect = [&](const char* device, const gputopo_options& options, int status, const char* text) {
    EXPECT_EQ(gputopo_discover(device, &options, &report), status);
    EXPECT_THAT(gputopo_last_error(), HasSubstr(text));
    EXPECT_EQ(report, nullptr);
  };
  const auto with = [&](auto change, const char* text) {
    Quick quick;
    change(quick.options);
    expect(kQuickDevice, quick.options, GPUTOPO_ERROR_ARGUMENT, text);
  };
  with([](gputopo_options& o) { o.elements = nullptr; }, "options.elements is NULL, but its count is 1");
  static const char* kNames[] = {"l1", nullptr};
  with([](gputopo_options& o) { o.attributes = kNames, o.attribute_count = 2; }, "options.attributes[1] is NULL");
  for (const double budget : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    with([&](gputopo_options& o) { o.budget_seconds = budget; }, "options.budget_seconds must be more than 0");
  }
  with([](gputopo_options& o) { o.max_age_seconds = -1; }, "options.max_age_seconds must not be less than 0");
  with([](gputopo_options& o) { o.max_wait_seconds = std::nan(""); },
       "options.max_wait_seconds must not be less than 0");
  const Quick unknown("l2.latncy");
  expect(kQuickDevice, unknown.options, GPUTOPO_ERROR_NAME, "latncy");
  const Quick quick;
  expect("sim:h2000", quick.options, GPUTOPO_ERROR_NAME, "did you mean sim:h200?");
  expect("nonsense", quick.options, GPUTOPO_ERROR_NAME, "unknown device 'nonsense'");
  expect("replay:/no/such/file", quick.options, GPUTOPO_ERROR_FILE, "/no/such/file");
}

TEST(LibraryDiscover, AnswersFromTheCache) {
  const Folder folder;
  setenv("XDG_CACHE_HOME", folder.file("").c_str(), 1);
  Quick quick;
  quick.options.use_cache = 1;
  Calls first;
  fill_callbacks(quick.options, first);
  const double measured = number_of(discover(kQuickDevice, quick.options), "texture.latency");
  EXPECT_FALSE(first.steps.empty());
  Calls second;
  fill_callbacks(quick.options, second);
  EXPECT_EQ(number_of(discover(kQuickDevice, quick.options), "texture.latency"), measured);
  EXPECT_TRUE(second.steps.empty());
  // The cache is that of `gputopo get`, which returns the same value.
  const std::string file = std::filesystem::directory_iterator(folder.file("gputopo"))->path();
  const std::string got = folder.file("got");
  const std::string command =
      std::string(GPUTOPO_BINARY) + " get texture.latency --device " + kQuickDevice + " >" + got;
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_NEAR(std::stod(text_of(got)), measured, 1e-9);
  const std::filesystem::directory_iterator files(folder.file("gputopo"));
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  // A request for samples has a different key.
  quick.options.keep_samples = 1;
  discover(kQuickDevice, quick.options);
  EXPECT_FALSE(second.steps.empty());
  unsetenv("XDG_CACHE_HOME");
}

// ---- What a library leaves alone ----

// Redirects standard output and standard error to a file.
class Captured {
 public:
  Captured() {
    const int file = open(folder_.file("out").c_str(), O_CREAT | O_RDWR, 0600);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      kept_[fd] = dup(fd);
      dup2(file, fd);
    }
    close(file);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() { restore(); }
  std::string text() {
    restore();
    return text_of(folder_.file("out"));
  }

 private:
  void restore() {
    std::fflush(nullptr);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      if (kept_[fd] < 0) continue;
      dup2(kept_[fd], fd);
      close(kept_[fd]);
      kept_[fd] = -1;
    }
  }
  Folder folder_;
  int kept_[3] = {-1, -1, -1};
};

// Nobody takes a simulated value for the value of a GPU that cannot be used.
TEST(LibraryDiscover, SimulatesNoGpuThatNobodyNamed) {
  ::setenv("GPUTOPO_LIBCUDA", "/no/library", 1);
  ::setenv("GPUTOPO_LIBAMDHIP64", "/no/library", 1);
  const Quick quick;
  gputopo_report* made = nullptr;
  EXPECT_EQ(gputopo_discover("", &quick.options, &made), GPUTOPO_ERROR_DEVICE);
  EXPECT_EQ(made, nullptr);
  EXPECT_THAT(gputopo_last_error(), HasSubstr("no GPU can be used"));
  ::unsetenv("GPUTOPO_LIBCUDA");
  ::unsetenv("GPUTOPO_LIBAMDHIP64");
}

TEST(LibraryGuest, PrintsNothingWhateverHappens) {
  const Quick quick;
  const Report report = load();
  Captured captured;
  gputopo_report* made = nullptr;
  for (const char* device : {kQuickDevice, "cuda:0", "cuda:99", "hip:0", "nonsense", "sim:/no/such.json", ""}) {
    if (gputopo_discover(device, &quick.options, &made) == GPUTOPO_OK) gputopo_report_free(made);
  }
  static_cast<void>(gputopo_load("/no/such/file", &made));
  gputopo_device** devices = nullptr;
  if (gputopo_list(&devices, nullptr) == GPUTOPO_OK) gputopo_devices_free(devices);
  EXPECT_EQ(captured.text(), "");
}

TEST(LibraryGuest, InstallsNoHandlersAndKeepsMaskAndLocale) {
  const auto handlers = [] {
    std::string all;
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action {};
      if (sigaction(number, nullptr, &action) != 0) continue;
      all.append(reinterpret_cast<const char*>(&action.sa_handler), sizeof action.sa_handler);
    }
    return all;
  };
  const auto mask = [] {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, nullptr, &set);
    std::string all;
    for (int number = 1; number < NSIG; ++number) all += sigismember(&set, number) == 1 ? '1' : '0';
    return all;
  };
  const std::string handlers_before = handlers();
  const std::string mask_before = mask();
  const std::string locale_before = std::setlocale(LC_ALL, nullptr);
  const Quick quick;
  discover(kQuickDevice, quick.options);
  gputopo_report* made = nullptr;
  static_cast<void>(gputopo_discover("cuda:0", &quick.options, &made));
  gputopo_report_free(made);
  EXPECT_EQ(handlers(), handlers_before);
  EXPECT_EQ(mask(), mask_before);
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale_before);
}

std::size_t threads_of_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(LibraryGuest, LeavesNoThreadBehind) {
  const Quick quick;
  discover(kQuickDevice, quick.options);
  const std::size_t before = threads_of_process();
  discover(kQuickDevice, quick.options);
  EXPECT_LE(threads_of_process(), before);
}

}  // namespace
}  // namespace library_test
