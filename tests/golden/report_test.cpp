// Compares reports with files in expected/: the handmade sample, and the saved reports in tests/reports of a recorded
// H200 and of a simulated MI300X and GT200. GPUTOPO_UPDATE_GOLDEN=1 rewrites the files.
#include "gputopo/report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "report/drawing/chart.h"
#include "report/drawing/plot.h"
#include "report/html/page.h"
#include "report/json/thin.h"
#include "support/command.h"
#include "support/golden.h"
#include "support/sample_topology.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::expect_golden;

// Removes the script and the style, which are the same in all pages and change with every release of the chart
// library, and the JSON report, which has its own files.
std::string without_bundle(std::string page) {
  constexpr std::string_view kData = "<script type=\"application/json\" id=\"report-0\">";
  const std::size_t begin = page.find(kData);
  EXPECT_NE(begin, std::string::npos);
  if (begin != std::string::npos) {
    const std::size_t from = begin + kData.size();
    page.replace(from, page.find("</script>", from) - from, "...");
  }
  for (const std::string_view part : {report::kPageScript, report::kPageStyle, report::kPageScriptHash}) {
    page = test::without_part(std::move(page), part);
  }
  return page;
}

// Removes the content of images in Markdown; other tests check it.
std::string without_images(const std::string& markdown) {
  std::string result;
  constexpr std::string_view kBegin = "base64,";
  std::size_t at = 0;
  for (std::size_t found; (found = markdown.find(kBegin, at)) != std::string::npos;) {
    const std::size_t end = markdown.find(')', found);
    result += markdown.substr(at, found - at) + "...";
    at = end;
  }
  return result + markdown.substr(at);
}

TEST(GoldenReport, Json) { expect_golden(to_json(test::sample_topology()), "sample.json"); }

TEST(GoldenReport, NarrowTerminal) {
  expect_golden(to_terminal(test::sample_topology(), {60, false, false}), "sample_60.txt");
}

TEST(GoldenReport, WideTerminal) {
  expect_golden(to_terminal(test::sample_topology(), {140, false, false}), "sample_140.txt");
}

TEST(GoldenReport, ColourAndUnicode) {
  expect_golden(to_terminal(test::sample_topology(), {100, true, true}), "sample_colour.txt");
  expect_golden(to_tree(test::sample_topology(), {100, true, true}), "sample_tree_colour.txt");
  expect_golden(to_plot(test::saved_report("h200"), {100, true, true}), "h200_plot_colour.txt");
}

class GoldenFormats : public ::testing::TestWithParam<std::string> {
 protected:
  static Topology load() {
    if (GetParam() == "sample") return test::sample_topology();
    return test::saved_report(GetParam());
  }
};

TEST_P(GoldenFormats, Terminal) { expect_golden(to_terminal(load(), {}), GetParam() + ".txt"); }
TEST_P(GoldenFormats, Tree) { expect_golden(to_tree(load(), {}), GetParam() + "_tree.txt"); }
TEST_P(GoldenFormats, Plot) { expect_golden(to_plot(load(), {}), GetParam() + "_plot.txt"); }
TEST_P(GoldenFormats, Csv) { expect_golden(to_csv(load()), GetParam() + ".csv"); }
TEST_P(GoldenFormats, Svg) { expect_golden(to_svg(load()), GetParam() + ".svg"); }
TEST_P(GoldenFormats, Markdown) { expect_golden(without_images(to_markdown(load())), GetParam() + ".md"); }
TEST_P(GoldenFormats, Html) { expect_golden(without_bundle(to_html(load())), GetParam() + ".html"); }

INSTANTIATE_TEST_SUITE_P(Reports, GoldenFormats, ::testing::Values("sample", "h200", "gt200", "mi300x"),
                         [](const auto& name) { return name.param; });

// The sample with higher latency, another driver, and an incomplete discovery.
Topology other_sample() {
  Topology topology = test::sample_topology();
  topology.complete = false;
  get_or_add(topology.device, "driver_version") = api_value(std::string("570.2"), "");
  Attribute& latency = get_or_add(topology.memory[2].attributes, "latency");
  latency.value = 400.0;
  latency.low = 390;
  latency.high = 410;
  get_or_add(topology.memory[0].attributes, "line_size") = unavailable(Reason::kTimedOut, "the budget of 60 s ran out");
  get_or_add(topology.memory[0].attributes, "size").samples[0].data[1] = {34.25, 90};
  return topology;
}

TEST(GoldenReport, Diff) {
  Topology first = test::sample_topology();
  get_or_add(first.device, "driver_version") = api_value(std::string("550.1"), "");
  const std::vector<NamedReport> reports = {{"a.json", first}, {"b.json", other_sample()}};
  expect_golden(diff_to_terminal(reports, {}), "diff.txt");
  expect_golden(diff_to_json(reports), "diff.json");
  std::string page = without_bundle(diff_to_html(reports));
  const std::size_t at = page.find("id=\"report-1\">");
  ASSERT_NE(at, std::string::npos);
  page.erase(at, page.find("</script>", at) - at);
  expect_golden(page, "diff.html");
}

TEST(GoldenReport, Check) {
  Topology baseline = test::sample_topology();
  get_or_add(baseline.device, "driver_version") = api_value(std::string("550.1"), "");
  const Topology topology = other_sample();
  const CheckResult result = check(topology, baseline, default_tolerances());
  expect_golden(check_to_text(result, topology), "check.txt");
  expect_golden(check_to_json(result, topology), "check.json");
  expect_golden(check_to_prometheus(result, topology), "check.prom");
  expect_golden(check_failure_to_prometheus("cannot read 'r.json'"), "check_failure.prom");
}

TEST(GoldenReport, Curve) { expect_golden(to_curve_svg(test::saved_report("h200")), "h200_curve.svg"); }

// One plot of each kind, as in Markdown.
TEST(GoldenReport, Plots) {
  const Topology topology = test::saved_report("h200");
  std::set<Plot> seen;
  for (const MemoryElement& element : topology.memory) {
    for (const auto& [id, whole] : element.attributes) {
      const Attribute attribute = report::downsampled(whole, 100);
      for (const report::Chart& chart : report::charts_of(element.title + ": " + id, id, attribute)) {
        constexpr std::size_t kMaxCells = 2000;
        if (chart.samples.row_count() > kMaxCells) continue;
        if (!seen.insert(chart.plot).second) continue;
        expect_golden(report::plot_svg(chart).text(), fmt::format("plot_{}.svg", to_string(chart.plot)));
      }
    }
  }
  EXPECT_EQ(seen.size(), 5u);
}

TEST(GoldenReport, Coverage) { expect_golden(coverage_table(), "coverage.txt"); }

TEST(GoldenReport, Help) {
  for (const char* command : {"", "discover", "show", "diff", "check", "get"}) {
    const std::string suffix = *command == '\0' ? "" : std::string("_") + command;
    expect_golden(test::run_command(std::string(GPUTOPO_BINARY) + " " + command + " --help").out,
                  "help" + suffix + ".txt");
  }
  expect_golden(test::run_command(GPUTOPO_BINARY " man").out, "gputopo.1");
}

}  // namespace
}  // namespace gputopo
