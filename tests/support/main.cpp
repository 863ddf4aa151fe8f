// Runs the tests of an executable. With --skipped=CODE it exits with that code if every test was skipped. Each
// skipped test and its reason go to the file that GPUTOPO_SKIPS names, for tests/check_skips.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace {

class SkipLog : public testing::EmptyTestEventListener {
 public:
  explicit SkipLog(const char* path) : path_(path) {}

 private:
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Skipped()) return;
    std::string line = std::string(test.test_suite_name()) + "." + test.name() + "\t";
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      const testing::TestPartResult& part = test.result()->GetTestPartResult(i);
      if (part.skipped()) line += part.message();
    }
    std::ranges::replace(line, '\n', ' ');
    // A single write per line, because other processes append to the same file.
    std::ofstream(path_, std::ios::app) << line + "\n";
  }

  const char* path_;
};

}  // namespace

// Read by the leak checker of AddressSanitizer. Version 12 of GCC's crashes on the thread-local storage of libraries
// that another thread has loaded, as the stand-ins for drivers are. Without that storage, what dlerror() keeps looks
// lost.
extern "C" const char* __lsan_default_options();
extern "C" const char* __lsan_default_options() { return "use_tls=0:print_suppressions=0"; }
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:dlerror\nleak:dl-exception\nleak:_dl_exception"; }

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  constexpr std::string_view kSkipped = "--skipped=";
  int skipped_code = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(kSkipped)) skipped_code = std::atoi(argv[i] + kSkipped.size());
  }
  testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  if (const char* path = std::getenv("GPUTOPO_SKIPS")) tests.listeners().Append(new SkipLog(path));
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) return failed;
  if (!GTEST_FLAG_GET(list_tests) && tests.test_to_run_count() == 0) {
    // Without this check, a filter that no longer matches any test would pass forever.
    std::fprintf(stderr, "no test was run\n");
    return 1;
  }
  return tests.skipped_test_count() == tests.test_to_run_count() ? skipped_code : 0;
}
