// Saved reports through the C interface: values, formats, and all kinds of wrong calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "library/library.h"

namespace library_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LibraryReport : public ::testing::Test {
 protected:
  Report report_ = load();
  gputopo_value value_ = GPUTOPO_VALUE_INIT;
  void TearDown() override { gputopo_value_free(&value_); }
};

TEST(LibraryVersion, IsThatOfTheHeader) {
  EXPECT_EQ(gputopo_api_version(), static_cast<uint32_t>(GPUTOPO_API_VERSION));
  int major = 0;
  int minor = 0;
  int patch = 0;
  ASSERT_EQ(std::sscanf(gputopo_version(), "%d.%d.%d", &major, &minor, &patch), 3);
  EXPECT_EQ(GPUTOPO_API_VERSION, major << 16 | minor << 8 | patch);
}

TEST(LibraryVersion, EveryNumberHasAName) {
  for (int status = GPUTOPO_OK; status <= GPUTOPO_ERROR_INTERNAL; ++status) {
    EXPECT_STRNE(gputopo_status_name(status), "unknown") << status;
  }
  for (int reason = GPUTOPO_REASON_NONE; reason <= GPUTOPO_REASON_NOT_IN_REPORT; ++reason) {
    EXPECT_STRNE(gputopo_reason_name(reason), "unknown") << reason;
  }
  EXPECT_STREQ(gputopo_source_name(GPUTOPO_SOURCE_INFERRED), "inferred");
  for (const int no : {-1, 99}) {
    EXPECT_STREQ(gputopo_status_name(no), "unknown");
    EXPECT_STREQ(gputopo_reason_name(no), "unknown");
    EXPECT_STREQ(gputopo_source_name(no), "unknown");
  }
}

TEST_F(LibraryReport, GivesNumbersWithTheirInterval) {
  double number = 0;
  double low = 0;
  double high = 0;
  ASSERT_EQ(gputopo_number(report_.get(), "l2.latency", &number, &low, &high), GPUTOPO_OK) << gputopo_last_error();
  EXPECT_NEAR(number, 281.19, 0.01);
  EXPECT_LT(low, number);
  EXPECT_GT(high, number);
  ASSERT_EQ(gputopo_number(report_.get(), "compute.sm_count", &number, &low, &high), GPUTOPO_OK);
  EXPECT_EQ(number, 132);
  EXPECT_TRUE(std::isnan(low) && std::isnan(high));
  EXPECT_EQ(gputopo_number(report_.get(), "l2.size", &number, nullptr, nullptr), GPUTOPO_OK);
}

TEST_F(LibraryReport, GivesAllThatIsKnownOfAValue) {
  ASSERT_EQ(gputopo_get(report_.get(), "l2.latency", &value_), GPUTOPO_OK);
  EXPECT_EQ(value_.type, GPUTOPO_TYPE_NUMBER);
  EXPECT_EQ(value_.source, GPUTOPO_SOURCE_MEASURED);
  EXPECT_EQ(value_.reason, GPUTOPO_REASON_NONE);
  EXPECT_STREQ(value_.unit, "cycles");
  EXPECT_STREQ(value_.text, "281.19");
  EXPECT_STREQ(value_.detail, "");
  EXPECT_STRNE(value_.method, "");
  // The same struct can receive one value after the other.
  ASSERT_EQ(gputopo_get(report_.get(), "device.name", &value_), GPUTOPO_OK);
  EXPECT_EQ(value_.type, GPUTOPO_TYPE_TEXT);
  EXPECT_STREQ(value_.text, "NVIDIA H200");
  EXPECT_TRUE(std::isnan(value_.number));
  ASSERT_EQ(gputopo_get(report_.get(), "device.simulated", &value_), GPUTOPO_OK);
  EXPECT_EQ(value_.type, GPUTOPO_TYPE_BOOLEAN);
  EXPECT_EQ(value_.number, 0);
  ASSERT_EQ(gputopo_get(report_.get(), "l1.shared_with", &value_), GPUTOPO_OK);
  ASSERT_EQ(value_.type, GPUTOPO_TYPE_TEXTS);
  ASSERT_EQ(value_.count, 2u);
  EXPECT_STREQ(value_.texts[0], "texture");
  EXPECT_STREQ(value_.texts[1], "readonly");
}

TEST_F(LibraryReport, GivesGroupsOfSms) {
  ASSERT_EQ(gputopo_get(report_.get(), "l2.near_sms", &value_), GPUTOPO_OK) << gputopo_last_error();
  ASSERT_EQ(value_.type, GPUTOPO_TYPE_GROUPS);
  ASSERT_EQ(value_.group_count, 2u);
  EXPECT_EQ(value_.group_ends[1], value_.count);
  EXPECT_EQ(value_.count, 132u);
}

TEST_F(LibraryReport, SaysWhyThereIsNoValue) {
  double number = 7;
  EXPECT_EQ(gputopo_number(report_.get(), "l3.size", &number, nullptr, nullptr), GPUTOPO_UNAVAILABLE);
  EXPECT_STREQ(gputopo_last_error(), "the report of NVIDIA H200 has no value for l3.size");
  EXPECT_EQ(number, 7) << "a failure changes nothing";
  EXPECT_EQ(gputopo_get(report_.get(), "l3.size", &value_), GPUTOPO_UNAVAILABLE);
  EXPECT_EQ(value_.reason, GPUTOPO_REASON_NOT_IN_REPORT);
  EXPECT_EQ(value_.type, GPUTOPO_TYPE_NONE);
  EXPECT_STREQ(value_.text, "");
  EXPECT_EQ(gputopo_get(report_.get(), "shared.miss_penalty", &value_), GPUTOPO_UNAVAILABLE);
  EXPECT_EQ(value_.reason, GPUTOPO_REASON_NOT_APPLICABLE);
  EXPECT_THAT(gputopo_last_error(), StartsWith("shared.miss_penalty is unavailable: "));
}

TEST_F(LibraryReport, NamesTheNearestOfAnUnknownPath) {
  double number = 0;
  EXPECT_EQ(gputopo_number(report_.get(), "l2.latncy", &number, nullptr, nullptr), GPUTOPO_ERROR_NAME);
  EXPECT_STREQ(gputopo_last_error(),
               "no value is called 'l2.latncy'; the closest names are l2.latency, l2.latency_patterns, l1.latency");
  for (const char* path : {"", ".", "l2", "l2.", ".size", "\xff", "\n"}) {
    EXPECT_EQ(gputopo_get(report_.get(), path, &value_), GPUTOPO_ERROR_NAME) << path;
    EXPECT_THAT(gputopo_last_error(), ::testing::Not(HasSubstr("\n")));
  }
  const std::string long_path(100000, 'x');
  EXPECT_EQ(gputopo_get(report_.get(), long_path.c_str(), &value_), GPUTOPO_ERROR_NAME);
  EXPECT_LT(std::strlen(gputopo_last_error()), 500u);
}

TEST_F(LibraryReport, IsNoNumber) {
  double number = 0;
  EXPECT_EQ(gputopo_number(report_.get(), "device.name", &number, nullptr, nullptr), GPUTOPO_ERROR_TYPE);
  EXPECT_THAT(gputopo_last_error(), StartsWith("device.name is not a number"));
}

TEST_F(LibraryReport, RendersEveryFormat) {
  for (const char* format : {"json", "html", "markdown", "svg", "csv", "mt4g-json", "mt4g-csv", "hwloc-xml",
                             "hwloc-annotate", "accel-sim", "roofline-csv", "xla", "latex", "table", "tree"}) {
    char* text = nullptr;
    std::size_t length = 0;
    ASSERT_EQ(gputopo_render(report_.get(), format, &text, &length), GPUTOPO_OK) << gputopo_last_error();
    EXPECT_EQ(std::strlen(text), length) << format;
    EXPECT_GT(length, 100u) << format;
    gputopo_string_free(text);
  }
  char* text = nullptr;
  EXPECT_EQ(gputopo_render(report_.get(), "jsn", &text, nullptr), GPUTOPO_ERROR_NAME);
  EXPECT_THAT(gputopo_last_error(), StartsWith("unknown format 'jsn'; did you mean json? the formats are "));
  EXPECT_EQ(text, nullptr);
}

TEST_F(LibraryReport, ReadsWhatItRenders) {
  char* text = nullptr;
  std::size_t length = 0;
  ASSERT_EQ(gputopo_render(report_.get(), "json", &text, &length), GPUTOPO_OK);
  gputopo_report* again = nullptr;
  ASSERT_EQ(gputopo_parse(text, length, &again), GPUTOPO_OK);
  char* second = nullptr;
  ASSERT_EQ(gputopo_render(again, "json", &second, nullptr), GPUTOPO_OK);
  EXPECT_STREQ(text, second);
  gputopo_string_free(text);
  gputopo_string_free(second);
  int32_t complete = -1;
  EXPECT_EQ(gputopo_complete(again, &complete), GPUTOPO_OK);
  EXPECT_EQ(complete, 1);
  gputopo_report_free(again);
}

TEST(LibraryBadInput, ReportsThatAreNone) {
  gputopo_report* report = nullptr;
  EXPECT_EQ(gputopo_load("/no/such/file", &report), GPUTOPO_ERROR_FILE);
  EXPECT_THAT(gputopo_last_error(), StartsWith("cannot read '/no/such/file'"));
  EXPECT_EQ(gputopo_load(GPUTOPO_SOURCE_DIR "/README.md", &report), GPUTOPO_ERROR_FORMAT);
  EXPECT_THAT(gputopo_last_error(), HasSubstr("README.md': "));
  for (const std::string text : {"", "{}", "[]", "nul", "{\"schema_version\": 999}"}) {
    EXPECT_EQ(gputopo_parse(text.data(), text.size(), &report), GPUTOPO_ERROR_FORMAT) << text;
    EXPECT_STRNE(gputopo_last_error(), "");
  }
  EXPECT_EQ(report, nullptr);
}

TEST(LibraryBadInput, NullIsAnErrorOfTheArgument) {
  const Report report = load();
  gputopo_report* made = nullptr;
  gputopo_value value = GPUTOPO_VALUE_INIT;
  double number = 0;
  char* text = nullptr;
  int32_t complete = 0;
  const auto expect_null = [](int status, const char* message) {
    EXPECT_EQ(status, GPUTOPO_ERROR_ARGUMENT);
    EXPECT_STREQ(gputopo_last_error(), message);
  };
  expect_null(gputopo_options_init(nullptr, sizeof(gputopo_options)), "gputopo_options_init: options is NULL");
  expect_null(gputopo_discover("sim:h200", nullptr, nullptr), "gputopo_discover: report is NULL");
  expect_null(gputopo_list(nullptr, nullptr), "gputopo_list: devices is NULL");
  expect_null(gputopo_load(nullptr, &made), "gputopo_load: path is NULL");
  expect_null(gputopo_load(kReport.c_str(), nullptr), "gputopo_load: report is NULL");
  expect_null(gputopo_parse(nullptr, 0, &made), "gputopo_parse: json is NULL");
  expect_null(gputopo_parse("{}", 2, nullptr), "gputopo_parse: report is NULL");
  expect_null(gputopo_complete(nullptr, &complete), "gputopo_complete: report is NULL");
  expect_null(gputopo_complete(report.get(), nullptr), "gputopo_complete: complete is NULL");
  expect_null(gputopo_render(nullptr, "json", &text, nullptr), "gputopo_render: report is NULL");
  expect_null(gputopo_render(report.get(), nullptr, &text, nullptr), "gputopo_render: format is NULL");
  expect_null(gputopo_render(report.get(), "json", nullptr, nullptr), "gputopo_render: text is NULL");
  expect_null(gputopo_get(nullptr, "l2.size", &value), "gputopo_get: report is NULL");
  expect_null(gputopo_get(report.get(), nullptr, &value), "gputopo_get: path is NULL");
  expect_null(gputopo_get(report.get(), "l2.size", nullptr), "gputopo_get: value is NULL");
  expect_null(gputopo_number(nullptr, "l2.size", &number, nullptr, nullptr), "gputopo_number: report is NULL");
  expect_null(gputopo_number(report.get(), nullptr, &number, nullptr, nullptr), "gputopo_number: path is NULL");
  expect_null(gputopo_number(report.get(), "l2.size", nullptr, nullptr, nullptr), "gputopo_number: number is NULL");
  gputopo_report_free(nullptr);
  gputopo_devices_free(nullptr);
  gputopo_string_free(nullptr);
  gputopo_value_free(nullptr);
}

TEST(LibraryBadInput, WrongHandlesAreFoundOut) {
  gputopo_report* freed = load().release();
  gputopo_report_free(freed);
  gputopo_report_free(freed);
  // A later report may reuse the freed memory, but is a different report.
  const Report other = load();
  int on_the_stack = 0;
  double number = 0;
  gputopo_value value = GPUTOPO_VALUE_INIT;
  char* text = nullptr;
  int32_t complete = 0;
  for (auto* wrong : {freed, reinterpret_cast<gputopo_report*>(&on_the_stack), reinterpret_cast<gputopo_report*>(1)}) {
    EXPECT_EQ(gputopo_number(wrong, "l2.size", &number, nullptr, nullptr), GPUTOPO_ERROR_HANDLE);
    EXPECT_STREQ(gputopo_last_error(),
                 "this is not a report: it was freed, or never was one; load a report or discover a device");
    EXPECT_EQ(gputopo_get(wrong, "l2.size", &value), GPUTOPO_ERROR_HANDLE);
    EXPECT_EQ(gputopo_render(wrong, "json", &text, nullptr), GPUTOPO_ERROR_HANDLE);
    EXPECT_EQ(gputopo_complete(wrong, &complete), GPUTOPO_ERROR_HANDLE);
    gputopo_report_free(wrong);
  }
  EXPECT_EQ(gputopo_number(other.get(), "l2.size", &number, nullptr, nullptr), GPUTOPO_OK);
}

TEST(LibraryBadInput, SizesOfStructs) {
  const Report report = load();
  gputopo_value value = GPUTOPO_VALUE_INIT;
  value.size = 0;
  EXPECT_EQ(gputopo_get(report.get(), "l2.size", &value), GPUTOPO_ERROR_ARGUMENT);
  gputopo_value_free(&value);
  // A struct of a later version: the library must not write members that it does not know.
  struct Later {
    gputopo_value value = GPUTOPO_VALUE_INIT;
    int more = 42;
  } later;
  later.value.size = sizeof later;
  EXPECT_EQ(gputopo_get(report.get(), "l2.size", &later.value), GPUTOPO_OK);
  EXPECT_EQ(later.value.size, sizeof later);
  gputopo_value_free(&later.value);
  EXPECT_EQ(later.more, 42);
  gputopo_options options;
  EXPECT_EQ(gputopo_options_init(&options, 1), GPUTOPO_ERROR_ARGUMENT);
  ASSERT_EQ(gputopo_options_init(&options, sizeof options), GPUTOPO_OK);
  options.size = 3;
  gputopo_report* made = nullptr;
  EXPECT_EQ(gputopo_discover(kQuickDevice, &options, &made), GPUTOPO_ERROR_ARGUMENT);
  EXPECT_THAT(gputopo_last_error(), StartsWith("options.size is wrong"));
}

// The text belongs to the thread and stays valid until the thread's next failure.
TEST(LibraryBadInput, TextsOfErrorsStandUntilTheNext) {
  gputopo_report* report = nullptr;
  EXPECT_EQ(gputopo_load("/no/such/file", &report), GPUTOPO_ERROR_FILE);
  const Report good = load();
  EXPECT_THAT(gputopo_last_error(), StartsWith("cannot read"));
  const std::string long_name = "/" + std::string(10000, 'x') + "\n";
  EXPECT_EQ(gputopo_load(long_name.c_str(), &report), GPUTOPO_ERROR_FILE);
  EXPECT_LT(std::strlen(gputopo_last_error()), 2048u);
}

}  // namespace
}  // namespace library_test
