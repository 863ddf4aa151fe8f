// gputopo.hpp, which the examples use in C++17.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "gputopo/gputopo.hpp"
#include "library/library.h"

namespace library_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The status of the error that `action` throws, or GPUTOPO_OK if it throws none.
template <typename Action>
int status_of(const Action& action) {
  try {
    action();
  } catch (const gputopo::Error& error) {
    EXPECT_STRNE(error.what(), "");
    return error.status();
  }
  return GPUTOPO_OK;
}

gputopo::Options quick_options() {
  gputopo::Options options;
  options.elements = {"texture.latency"};
  return options;
}

TEST(LibraryCpp, ReadsValues) {
  const gputopo::Report report = gputopo::Report::load(kReport);
  const gputopo::Value latency = report["l2.latency"];
  EXPECT_NEAR(latency.number, 281.19, 0.01);
  EXPECT_LT(latency.low.value(), latency.number);
  EXPECT_EQ(latency.unit, "cycles");
  EXPECT_EQ(latency.source, GPUTOPO_SOURCE_MEASURED);
  EXPECT_FALSE(report["l2.size"].low.has_value());
  EXPECT_THAT(report["l1.shared_with"].texts, ElementsAre("texture", "readonly"));
  const auto groups = report["l2.near_sms"].groups;
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].size() + groups[1].size(), 132u);
  EXPECT_TRUE(report.complete());
}

TEST(LibraryCpp, ThrowsWhatIsWrong) {
  const gputopo::Report report = gputopo::Report::load(kReport);
  try {
    static_cast<void>(report["shared.miss_penalty"]);
    FAIL() << "it is not applicable";
  } catch (const gputopo::Unavailable& missing) {
    EXPECT_EQ(missing.reason(), GPUTOPO_REASON_NOT_APPLICABLE);
    EXPECT_EQ(missing.status(), GPUTOPO_UNAVAILABLE);
  }
  EXPECT_FALSE(report.find("shared.miss_penalty").has_value());
  EXPECT_EQ(status_of([&] { static_cast<void>(report.find("l2.latncy")); }), GPUTOPO_ERROR_NAME);
  EXPECT_EQ(status_of([] { static_cast<void>(gputopo::Report::load("/no/such/file")); }), GPUTOPO_ERROR_FILE);
  EXPECT_EQ(status_of([] { static_cast<void>(gputopo::Report::parse({})); }), GPUTOPO_ERROR_FORMAT);
  EXPECT_EQ(status_of([&] { static_cast<void>(report.render("nonsense")); }), GPUTOPO_ERROR_NAME);
  EXPECT_EQ(status_of([] { static_cast<void>(gputopo::discover("nonsense")); }), GPUTOPO_ERROR_NAME);
}

TEST(LibraryCpp, CopiesShareAReport) {
  std::optional<gputopo::Report> first = gputopo::Report::load(kReport);
  const gputopo::Report second = *first;
  first.reset();
  EXPECT_EQ(gputopo::Report::parse(second.render("json")).render("csv"), second.render("csv"));
}

TEST(LibraryCpp, CallsBack) {
  std::vector<std::string> steps;
  std::vector<std::string> lines;
  gputopo::Options options = quick_options();
  options.progress = [&](const gputopo_progress& progress) { steps.emplace_back(progress.step); };
  options.log = [&](gputopo_log_level, std::string_view line) { lines.emplace_back(line); };
  EXPECT_GT(gputopo::discover(kQuickDevice, options)["texture.latency"].number, 100);
  EXPECT_THAT(steps, Contains("texture.latency"));
  EXPECT_FALSE(lines.empty());
  options.cancelled = [] { return true; };
  EXPECT_EQ(status_of([&] { static_cast<void>(gputopo::discover(kQuickDevice, options)); }), GPUTOPO_ERROR_CANCELLED);
}

TEST(LibraryCpp, WhatCallbacksThrowComesOut) {
  gputopo::Options options = quick_options();
  options.progress = [](const gputopo_progress&) { throw std::domain_error("of the caller"); };
  EXPECT_THROW(static_cast<void>(gputopo::discover(kQuickDevice, options)), std::domain_error);
  options.progress = nullptr;
  options.cancelled = []() -> bool { throw std::domain_error("of the caller"); };
  EXPECT_THROW(static_cast<void>(gputopo::discover(kQuickDevice, options)), std::domain_error);
}

TEST(LibraryCpp, ListsDevices) {
  std::string problem = "unset";
  std::vector<std::string> specs;
  for (const gputopo::Device& device : gputopo::list(&problem)) specs.push_back(device.spec);
  EXPECT_THAT(specs, Contains("sim:h200"));
  EXPECT_NE(problem, "unset");
}

}  // namespace
}  // namespace library_test
