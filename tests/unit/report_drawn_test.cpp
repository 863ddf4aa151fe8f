// Drawings as viewers show them that are no browsers: librsvg stands for those that know no custom properties.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gputopo/report.h"
#include "report/chart.h"
#include "report/plot.h"
#include "report/thin.h"
#include "support/command.h"
#include "support/png.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::saved_report;
using ::testing::HasSubstr;
using ::testing::Not;

// A plot of each kind that a report has.
std::vector<std::string> plots_of(const Topology& topology) {
  std::vector<std::string> plots;
  std::set<Plot> seen;
  for (const MemoryElement& element : topology.memory) {
    for (const auto& [id, whole] : element.attributes) {
      const Attribute attribute = report::thinned(whole, 500);
      for (const report::Chart& chart : report::charts_of(element.title, id, attribute)) {
        if (seen.insert(chart.plot).second) plots.push_back(report::plot_svg(chart, attribute));
      }
    }
  }
  return plots;
}

std::map<std::uint32_t, std::size_t> rendered(const std::string& svg) {
  const test::TemporaryFolder folder;
  write_file(folder.file("a.svg"), svg);
  const test::CommandResult result =
      test::run_command(fmt::format("rsvg-convert {} -o {}", folder.file("a.svg"), folder.file("a.png")));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return test::pixels_by_colour(read_file(folder.file("a.png")));
}

// The light colours; see kPalette.
constexpr std::uint32_t kPage = 0xffffff;
constexpr std::uint32_t kBox = 0xf3f5f8;
constexpr std::uint32_t kNear = 0xd8e8fb;
constexpr std::uint32_t kFar = 0xfbe9cf;
constexpr std::uint32_t kMemory = 0xdff0df;
constexpr std::uint32_t kSeries1 = 0x1f6fb8;
constexpr std::uint32_t kBlack = 0;

TEST(Drawn, TheChipHasItsColoursOutsideOfBrowsers) {
  if (test::run_command("command -v rsvg-convert").exit_code != 0) GTEST_SKIP() << "librsvg2-bin is not installed";
  for (const char* name : {"h200", "mi300x", "gt200"}) {
    std::map<std::uint32_t, std::size_t> pixels = rendered(to_svg(saved_report(name)));
    // Boxes are thousands of pixels each.
    for (const std::uint32_t colour : {kPage, kBox, kNear, kFar, kMemory}) {
      EXPECT_GT(pixels[colour], 2000U) << name << fmt::format(" #{:06x}", colour);
    }
    EXPECT_EQ(pixels[kBlack], 0U) << name;
  }
}

TEST(Drawn, PlotsHaveTheirColoursOutsideOfBrowsers) {
  if (test::run_command("command -v rsvg-convert").exit_code != 0) GTEST_SKIP() << "librsvg2-bin is not installed";
  const std::vector<std::string> plots = plots_of(saved_report("h200"));
  EXPECT_EQ(plots.size(), 5U);
  for (const std::string& plot : plots) {
    std::map<std::uint32_t, std::size_t> pixels = rendered(plot);
    EXPECT_GT(pixels[kPage], 2000U) << plot.substr(0, 300);
    EXPECT_GT(pixels[kSeries1], 20U) << plot.substr(0, 300);
    EXPECT_EQ(pixels[kBlack], 0U) << plot.substr(0, 300);
  }
}

TEST(Drawn, NoColourOfADocumentIsACustomProperty) {
  std::vector<std::string> documents = plots_of(saved_report("h200"));
  for (const char* name : {"h200", "mi300x", "gt200"}) documents.push_back(to_svg(saved_report(name)));
  for (const std::string& document : documents) {
    EXPECT_THAT(document, Not(HasSubstr("var(")));
    EXPECT_THAT(document, HasSubstr("@media (prefers-color-scheme:dark)"));
  }
}

}  // namespace
}  // namespace gputopo
