// Latency over footprint, from the sweeps of several caches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gputopo/report.h"
#include "report/compare/compared_curves.h"
#include "report/drawing/bandwidth_curve.h"
#include "report/drawing/curve.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::saved_report;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const report::Chart& curve) {
  std::vector<std::string> names;
  for (const report::Series& series : curve.series) names.push_back(series.label);
  return names;
}

// The mean latency of line `line` at the smallest footprint of at least `footprint` bytes.
double latency_at(const report::Chart& curve, double line, double footprint) {
  const SampleTable& table = curve.samples;
  for (std::size_t r = 0; r < table.row_count(); ++r) {
    if (table.data[1][r] == line && table.data[0][r] >= footprint) return table.data[2][r];
  }
  return 0;
}

MemoryElement& element(Topology& topology, const std::string& id) {
  return *std::ranges::find(topology.memory, id, &MemoryElement::id);
}

TEST(Curve, GoesThroughEveryLevelWithoutTheTimer) {
  const Topology topology = saved_report("h200");
  const std::optional<report::Chart> curve = report::latency_curve(topology);
  ASSERT_TRUE(curve);
  EXPECT_THAT(lines_of(*curve), ElementsAre("global loads", "texture loads", "read-only loads", "constant loads",
                                            "device memory plus TLB misses"));
  EXPECT_NEAR(latency_at(*curve, 0, 1024), *topology.find_attribute("l1", "latency")->number(), 1);
  EXPECT_NEAR(latency_at(*curve, 0, 8 << 20), *topology.find_attribute("l2", "latency")->number(), 5);
  EXPECT_NEAR(latency_at(*curve, 4, 1ULL << 30), *topology.find_attribute("device", "latency")->number(), 20);
  EXPECT_GT(latency_at(*curve, 4, 9e10), latency_at(*curve, 4, 1e9) + 30) << "beyond the second TLB's reach";
}

TEST(Curve, MarksCapacitiesWithTheirEdgesLevelsAndReaches) {
  const std::optional<report::Chart> curve = report::latency_curve(saved_report("h200"));
  ASSERT_TRUE(curve);
  std::vector<std::string> labels;
  for (const report::ChartMark& mark : curve->marks) labels.push_back(mark.label);
  for (const char* label :
       {"L1 data cache 240.5 KiB", "L2 cache 60 MiB", "L2 cache, near 281.2 cycles", "L2 cache, far 452.7 cycles",
        "Device memory 683.7 cycles", "First-level TLB reaches 256 MiB"}) {
    EXPECT_THAT(labels, Contains(label));
  }
  EXPECT_THAT(labels, Not(Contains(HasSubstr("Texture")))) << "is L1 by another name";
  const auto l1 = std::ranges::find(curve->marks, "L1 data cache 240.5 KiB", &report::ChartMark::label);
  EXPECT_LT(l1->low, l1->value);
  EXPECT_GT(l1->high, l1->value);
}

// Each latency of a footprint has the weight of its loads.
TEST(Curve, IsTheMeanOfTheLoads) {
  Topology topology = saved_report("mi300x");
  topology.memory.erase(topology.memory.begin() + 1, topology.memory.end());
  SampleTable& sweep = element(topology, "vl1").attributes.front().second.samples.front();
  sweep.timer_cycles = 10;
  sweep.data = {{1024, 2048, 2048}, {110, 110, 310}, {100, 30, 10}};
  const std::optional<report::Chart> curve = report::latency_curve(topology);
  ASSERT_TRUE(curve);
  EXPECT_THAT(curve->samples.data[2], ElementsAre(100, 150));
}

TEST(Curve, AReportWithoutSweepsHasNoneAndSaysSo) {
  Topology topology = saved_report("h200");
  for (MemoryElement& one : topology.memory) {
    for (auto& [id, attribute] : one.attributes) attribute.samples.clear();
  }
  EXPECT_FALSE(report::latency_curve(topology));
  EXPECT_THAT(to_plot(topology, {}), HasSubstr("No sweep over footprints was measured."));
  EXPECT_THAT(to_curve_svg(topology), HasSubstr("no samples to draw"));
  EXPECT_THAT(to_html(topology), Not(HasSubstr("h-curve")));
}

TEST(Curve, SaysWhatMustNotBeOverlooked) {
  Topology topology = saved_report("mi300x");
  topology.complete = false;
  topology.warnings = {"a \x1b[31mneighbour"};
  for (const std::string& text : {to_plot(topology, {}), to_curve_svg(topology)}) {
    EXPECT_THAT(text, HasSubstr("SIMULATED AMD Instinct MI300X: latency over footprint, INCOMPLETE"));
    EXPECT_THAT(text, HasSubstr("Warning: a "));
    EXPECT_THAT(text, Not(HasSubstr("\x1b"))) << "what a terminal would obey";
  }
}

// Streams of one SM and of all 132 over three footprints, as `--full` measures them.
Topology with_bandwidths() {
  Topology topology = saved_report("h200");
  Attribute& bandwidth = get_or_add(element(topology, "device").attributes, AttributeId::kSmReadBandwidth);
  bandwidth.value = 2.4e11;
  bandwidth.unit = "B/s";
  bandwidth.source = Source::kMeasured;
  SampleTable table{.name = "device.sm_read_bandwidth.by_footprint", .plot = Plot::kLine};
  table.columns = {{"footprint_bytes", ColumnRole::kAxis, "footprint", "B"},
                   {"sms", ColumnRole::kSeries, "sms", ""},
                   {"bytes_per_second", ColumnRole::kValue, "bandwidth", "B/s"}};
  table.data = {{65536, 1 << 20, 1 << 28, 1 << 25, 1 << 28, 1 << 29},
                {1, 1, 1, 132, 132, 132},
                {2.5e11, 2.4e11, 2.4e11, 9e12, 4.5e12, INFINITY}};
  bandwidth.samples = {table};
  return topology;
}

TEST(BandwidthCurve, HasALineForOneSmAndOneForAll) {
  const std::optional<report::Chart> curve = report::bandwidth_curve(with_bandwidths());
  ASSERT_TRUE(curve);
  EXPECT_THAT(lines_of(*curve), ElementsAre("one SM", "all 132 SMs"));
  EXPECT_EQ(curve->samples.row_count(), 5u) << "what is no number is left out";
  std::vector<std::string> labels;
  for (const report::ChartMark& mark : curve->marks) labels.push_back(mark.label);
  EXPECT_THAT(labels, ElementsAre("L1 data cache 240.5 KiB", "L2 cache 60 MiB"));
  EXPECT_FALSE(report::bandwidth_curve(saved_report("h200")));
}

TEST(BandwidthCurve, HasLinesOfColdPassesBesideThem) {
  Topology topology = with_bandwidths();
  std::vector<SampleTable>& samples =
      get_or_add(element(topology, "device").attributes, AttributeId::kSmReadBandwidth).samples;
  SampleTable cold = samples.front();
  cold.name = "device.sm_read_bandwidth.by_cold_footprint";
  cold.columns[0].name = "cold_footprint_bytes";
  for (double& rate : cold.data[2]) rate /= 2;
  samples.push_back(cold);
  const std::optional<report::Chart> curve = report::bandwidth_curve(topology);
  ASSERT_TRUE(curve);
  EXPECT_THAT(lines_of(*curve), ElementsAre("one SM", "all 132 SMs", "one SM, cold", "all 132 SMs, cold"));
  EXPECT_EQ(curve->samples.data[2][5], 1.25e11);
}

TEST(BandwidthCurve, StandsBesideTheLatencies) {
  const Topology topology = with_bandwidths();
  EXPECT_THAT(to_html(topology), HasSubstr(">Latency and bandwidth over footprint</h2>"));
  EXPECT_THAT(to_html(saved_report("h200")), HasSubstr(">Latency over footprint</h2>"));
  EXPECT_THAT(to_curve_svg(topology), HasSubstr(": bandwidth over footprint</text>"));
  EXPECT_THAT(to_markdown(topology), HasSubstr(": bandwidth over footprint"));
  const std::string plots = to_plot(topology, {});
  EXPECT_THAT(plots, HasSubstr("GB/s: a one SM; b all 132 SMs"));
  // A screen has room for one plot.
  EXPECT_THAT(to_plot(topology, {.width = 80, .height = 24}), Not(HasSubstr("GB/s")));
}

// ---- Several reports ----

TEST(ComparedCurves, HaveALineForEachReportWithoutItsOwnTimer) {
  const Topology first = saved_report("h200");
  Topology second = first;
  // Another timer, whose extra cost is in all timed latencies: the same GPU.
  constexpr double kLonger = 25;
  for (MemoryElement& one : second.memory) {
    for (auto& [id, attribute] : one.attributes) {
      for (SampleTable& table : attribute.samples) {
        if (table.timer_cycles == 0) continue;
        table.timer_cycles += kLonger;
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
          if (!table.columns[c].quantity.starts_with("raw ")) continue;
          for (double& cycles : table.data[c]) cycles += kLonger;
        }
      }
    }
  }
  const std::vector<report::Chart> curves = report::compared_curves({&first, &second}, {"a", "b"});
  ASSERT_FALSE(curves.empty());
  EXPECT_EQ(curves.front().title, "Latency of all levels: global loads");
  EXPECT_THAT(lines_of(curves.front()), ElementsAre("a", "b"));
  for (const double footprint : {1024.0, 8.0 * (1 << 20)}) {
    EXPECT_GT(latency_at(curves.front(), 0, footprint), 0);
    EXPECT_NEAR(latency_at(curves.front(), 1, footprint), latency_at(curves.front(), 0, footprint), 0.1);
  }
  std::vector<std::string> labels;
  for (const report::ChartMark& mark : curves.front().marks) labels.push_back(mark.label);
  EXPECT_THAT(labels, Contains("a: L1 data cache 240.5 KiB"));
  EXPECT_THAT(labels, Contains("b: L1 data cache 240.5 KiB"));
}

TEST(ComparedCurves, OfGpusOfTwoVendorsAreOfWhatBothHave) {
  const Topology nvidia = saved_report("h200");
  const Topology amd = saved_report("mi300x");
  std::vector<std::string> titles;
  for (const report::Chart& curve : report::compared_curves({&nvidia, &amd}, {"a", "b"})) {
    titles.push_back(curve.title);
    EXPECT_THAT(lines_of(curve), ElementsAre("a", "b"));
  }
  EXPECT_THAT(titles, Contains("Latency of all levels: global loads"));
  EXPECT_THAT(titles, Not(Contains(HasSubstr("texture"))));
}

TEST(ComparedCurves, OfManyAreAsManyLinesAsThereAreColours) {
  const Topology topology = with_bandwidths();
  const std::vector<const Topology*> reports(10, &topology);
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  const std::vector<report::Chart> curves = report::compared_curves(reports, names);
  for (const report::Chart& curve : curves) {
    EXPECT_EQ(curve.series.size(), 8u) << curve.title;
    EXPECT_EQ(curve.series_left_out, 2u) << curve.title;
    EXPECT_THAT(curve.marks, testing::IsEmpty());
  }
  EXPECT_EQ(curves.back().title, "Bandwidth of all levels: the whole chip");
  const std::string page = diff_to_html({{"a.json", topology}, {"b.json", topology}});
  EXPECT_THAT(page, HasSubstr(">Sweeps over footprints</h2>"));
  EXPECT_THAT(
      page,
      HasSubstr("Bandwidth of all levels: one SM or CU: bandwidth over footprint, with one series for each of a, b."));
}

}  // namespace
}  // namespace gputopo
