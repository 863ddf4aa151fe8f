// Published values beside those of a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "gputopo/catalogue.h"
#include "gputopo/report.h"
#include "report/compare/published.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using report::PublishedComparison;
using test::saved_report;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PublishedComparison beside(const Topology& topology, const std::string& group, const std::string& attribute) {
  for (const PublishedComparison& one : report::compare_with_published(topology)) {
    if (one.group == group && one.attribute == attribute) return one;
  }
  return {};
}

TEST(Published, AgreesDiffersOrNobodySaid) {
  Topology topology = saved_report("h200");
  const PublishedComparison count = beside(topology, "compute", "sm_count");
  EXPECT_TRUE(count.agrees());
  topology.compute.front().second.value = std::int64_t{120};
  const PublishedComparison other = beside(topology, "compute", "sm_count");
  ASSERT_FALSE(other.values.empty());
  EXPECT_FALSE(other.agrees());
  EXPECT_THAT(report::published_text(other, other.values.front()), HasSubstr("differs by +10%: 132"));
  EXPECT_THAT(beside(topology, "l2", "ways").values, IsEmpty());
  const std::string text = report::to_published(topology, {});
  EXPECT_THAT(text, HasSubstr("No published value: "));
  EXPECT_THAT(text, HasSubstr("L2 cache ways"));
  EXPECT_THAT(text, HasSubstr("[1] NVIDIA "));
}

TEST(Published, ThePageSumsUpAndListsWhatIsNew) {
  Topology topology = saved_report("h200");
  const std::string page = to_html(topology);
  const std::size_t begin = page.find("<h2 id=\"h-published\">Published values</h2>");
  ASSERT_NE(begin, std::string::npos);
  const std::string section = page.substr(begin, page.find("</section>", begin) - begin);
  EXPECT_THAT(section, HasSubstr("Values without a published value known to gputopo: "));
  EXPECT_THAT(section, HasSubstr("href=\"#evidence-l2-ways\""));
  EXPECT_THAT(section, Not(HasSubstr("href=\"#evidence-l2-read_bandwidth\"")));
  topology.name = "A GPU of nobody";
  EXPECT_THAT(to_html(topology), Not(HasSubstr("h-published")));
}

TEST(Published, TheNearestStandsFirst) {
  const PublishedComparison bandwidth = beside(saved_report("h200"), "l2", "read_bandwidth");
  ASSERT_GE(bandwidth.values.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(bandwidth.values, {},
                                     [](const auto& value) { return std::abs(value.relative.value_or(1e9)); }));
}

TEST(Published, IsOfTheGpuOfThisNameAlone) {
  Topology topology = saved_report("h200");
  topology.name = "NVIDIA T400";  // not a T4
  EXPECT_THAT(report::compare_with_published(topology), IsEmpty());
  EXPECT_THAT(report::to_published(topology, {}),
              HasSubstr("gputopo knows no published values for a GPU of this name"));
  topology.name = "NVIDIA H100 80GB HBM3";
  EXPECT_FALSE(report::compare_with_published(topology).empty());
  topology.name = "";
  EXPECT_THAT(report::compare_with_published(topology), IsEmpty());
}

// The file itself: names of the catalog, finite numbers, and a source and its kind for each value.
TEST(Published, EveryValueHasASourceAndANameThatReportsUse) {
  const nlohmann::json file = nlohmann::json::parse(report::kPublishedJson);
  const std::set<std::string> kinds = {"vendor doc", "peer reviewed", "preprint", "article", "tool measured"};
  for (const auto& source : file.at("sources")) {
    EXPECT_TRUE(kinds.contains(source.at("kind"))) << source;
    EXPECT_GE(source.at("source").get<std::string>().size(), 10U) << source;
  }
  EXPECT_GE(file.at("values").size(), 1000U);
  for (const auto& row : file.at("values")) {
    const std::string element = row.at(1);
    EXPECT_TRUE(file.at("devices").contains(row.at(0).get<std::string>())) << row;
    EXPECT_TRUE(element == "gpu" || element == "compute" || find_element(element) != nullptr) << row;
    EXPECT_NE(find_attribute(row.at(2).get<std::string>()), nullptr) << row;
    EXPECT_GT(row.at(3).get<double>(), 0) << row;
    EXPECT_LT(row.at(5).get<std::size_t>(), file.at("sources").size()) << row;
  }
}

TEST(Published, TextOfADeviceIsShownAndNotObeyed) {
  Topology topology = saved_report("h200");
  topology.name = "H200 \x1b[31m";
  topology.memory.front().title = "L1 \x1b]0;";
  EXPECT_THAT(report::to_published(topology, {}), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace gputopo
