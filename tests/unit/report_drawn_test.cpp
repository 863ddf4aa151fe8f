// Drawings in viewers that are no browsers and support no custom properties.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "gputopo/report.h"
#include "report/drawing/chart.h"
#include "report/drawing/plot.h"
#include "report/json/thin.h"
#include "support/command.h"
#include "support/png.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::saved_report;
using ::testing::HasSubstr;
using ::testing::Not;

// One plot of each kind in the report.
std::vector<std::string> plots_of(const Topology& topology) {
  std::vector<std::string> plots;
  std::set<Plot> seen;
  for (const MemoryElement& element : topology.memory) {
    for (const auto& [id, whole] : element.attributes) {
      const Attribute attribute = report::downsampled(whole, 500);
      for (const report::Chart& chart : report::charts_of(element.title, id, attribute)) {
        if (seen.insert(chart.plot).second) plots.push_back(report::plot_svg(chart).text());
      }
    }
  }
  return plots;
}

// A program that converts an SVG into a PNG.
struct Viewer {
  const char* name;
  const char* package;
  const char* is_there;  // command that tells whether it is installed
  const char* command;   // with {} for both files
};

constexpr Viewer kViewers[] = {
    {"librsvg", "librsvg2-bin", "command -v rsvg-convert", "rsvg-convert {} -o {}"},
    // A user's python3 may precede the system's in PATH, but only the system's has Debian's packages.
    {"CairoSVG", "python3-cairosvg", "/usr/bin/python3 -m cairosvg --version", "/usr/bin/python3 -m cairosvg {} -o {}"},
    {"Inkscape", "inkscape", "command -v inkscape", "inkscape {} -o {}"},
};

class Drawn : public ::testing::TestWithParam<Viewer> {
 protected:
  void SetUp() override {
    if (test::run_command(GetParam().is_there).exit_code != 0) {
      GTEST_SKIP() << GetParam().package << " is not installed";
    }
  }

  static std::map<std::uint32_t, std::size_t> rendered(const std::string& svg) {
    const test::TemporaryFolder folder;
    write_file(folder.file("a.svg"), svg);
    // Inkscape keeps settings, for which a test has no home directory.
    const std::string command =
        fmt::format("HOME={} ", folder.path().string()) +
        fmt::format(fmt::runtime(GetParam().command), folder.file("a.svg"), folder.file("a.png"));
    const test::CommandResult result = test::run_command(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return test::pixels_by_colour(read_file(folder.file("a.png")));
  }
};

INSTANTIATE_TEST_SUITE_P(Viewers, Drawn, ::testing::ValuesIn(kViewers),
                         [](const auto& viewer) { return std::string(viewer.param.name); });

// The light colors; see kPalette.
constexpr std::uint32_t kPage = 0xffffff;
constexpr std::uint32_t kBox = 0xf3f5f8;
constexpr std::uint32_t kNear = 0xd8e8fb;
constexpr std::uint32_t kFar = 0xfbe9cf;
constexpr std::uint32_t kMemory = 0xdff0df;
constexpr std::uint32_t kSeries1 = 0x1f6fb8;
constexpr std::uint32_t kBlack = 0;

TEST_P(Drawn, TheChipHasItsColoursOutsideOfBrowsers) {
  for (const char* name : {"h200", "mi300x", "gt200"}) {
    std::map<std::uint32_t, std::size_t> pixels = rendered(to_svg(saved_report(name)));
    // Each box has thousands of pixels.
    for (const std::uint32_t colour : {kPage, kBox, kNear, kFar, kMemory}) {
      EXPECT_GT(pixels[colour], 2000U) << name << fmt::format(" #{:06x}", colour);
    }
    EXPECT_EQ(pixels[kBlack], 0U) << name;
  }
}

TEST_P(Drawn, PlotsHaveTheirColoursOutsideOfBrowsers) {
  const std::vector<std::string> plots = plots_of(saved_report("h200"));
  EXPECT_EQ(plots.size(), 5U);
  for (const std::string& plot : plots) {
    std::map<std::uint32_t, std::size_t> pixels = rendered(plot);
    EXPECT_GT(pixels[kPage], 2000U) << plot.substr(0, 300);
    EXPECT_GT(pixels[kSeries1], 20U) << plot.substr(0, 300);
    EXPECT_EQ(pixels[kBlack], 0U) << plot.substr(0, 300);
  }
}

TEST(DrawnDocument, NoColourOfADocumentIsACustomProperty) {
  std::vector<std::string> documents = plots_of(saved_report("h200"));
  for (const char* name : {"h200", "mi300x", "gt200"}) documents.push_back(to_svg(saved_report(name)));
  for (const std::string& document : documents) {
    EXPECT_THAT(document, Not(HasSubstr("var(")));
    EXPECT_THAT(document, HasSubstr("@media (prefers-color-scheme:dark)"));
  }
}

}  // namespace
}  // namespace gputopo
