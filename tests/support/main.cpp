// Runs the tests of an executable. With --skipped=CODE it ends with that code where none failed and some were skipped,
// so that whoever started it can say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  constexpr std::string_view kSkipped = "--skipped=";
  int skipped_code = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(kSkipped)) skipped_code = std::atoi(argv[i] + kSkipped.size());
  }
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) return failed;
  return testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? skipped_code : 0;
}
