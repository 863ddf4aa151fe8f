// Formats that are drawn: what they must hold for any report, however strange.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>

#include "gputopo/report.h"
#include "report/chart.h"
#include "report/html_page.h"
#include "report/markup.h"
#include "report/plot.h"
#include "report/thin.h"
#include "support/command.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kEvil = "<script>alert(1)</script>\"'&--></style> \xff\x01 |`*";

Topology evil_topology() {
  Topology topology = test::sample_topology();
  topology.name = kEvil;
  topology.architecture = kEvil;
  topology.warnings = {kEvil};
  topology.memory[0].title = kEvil;
  topology.memory[0].attributes[0].second.method = kEvil;
  topology.memory[0].attributes[0].second.samples[0].columns[0] = kEvil + "_bytes";
  topology.memory[0].attributes[3].second.detail = kEvil;
  return topology;
}

SampleTable map_of(int sms, int slices) {
  SampleTable map{"l2.map", {"sm", "slice", "latency_cycles"}, {{}, {}, {}}};
  for (int sm = 0; sm < sms; ++sm) {
    for (int slice = 0; slice < slices; ++slice) {
      map.data[0].push_back(sm);
      map.data[1].push_back(slice);
      map.data[2].push_back(200.125 + (sm * 7 + slice * 3) % 61);
    }
  }
  return map;
}

// 300 SMs in pairs near 16 partitions, 10,000 samples in each of 72 plots and a map of SMs by slices.
Topology large_topology() {
  Topology topology = test::sample_topology();
  get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{300}, "");
  for (int e = 0; e < 24; ++e) {
    MemoryElement element{"cache_" + std::to_string(e), "Cache " + std::to_string(e), {}};
    for (const char* id : {"size", "latency", "read_bandwidth"}) {
      Attribute attribute = api_value(1000.0 * (e + 1), "B");
      attribute.source = Source::kMeasured;
      SampleTable table{element.id + "." + id + ".sweep", {"footprint_bytes", "latency_cycles", "loads"}, {{}, {}, {}}};
      for (int r = 0; r < 10000; ++r) {
        table.data[0].push_back(512 * std::pow(1.1, r / 100));
        table.data[1].push_back(30 + r % 100 * 2.5);
        table.data[2].push_back(r % 17);
      }
      attribute.samples = {table};
      element.attributes.emplace_back(id, attribute);
    }
    topology.memory.push_back(std::move(element));
  }
  Attribute partitions = api_value(std::int64_t{16}, "");
  partitions.samples = {map_of(300, 96)};
  std::vector<std::string> near(16);
  std::vector<std::string> pairs;
  for (int sm = 0; sm < 300; sm += 2) {
    std::string& group = near[static_cast<std::size_t>(sm / 2 % 16)];
    group += (group.empty() ? "" : "+") + std::to_string(sm) + "+" + std::to_string(sm + 1);
    pairs.push_back(std::to_string(sm) + "+" + std::to_string(sm + 1));
  }
  get_or_add(topology.memory[2].attributes, "near_sms") = api_value(near, "");
  get_or_add(topology.memory[1].attributes, "shared_between") = api_value(pairs, "");
  get_or_add(topology.memory[2].attributes, "partitions") = partitions;
  return topology;
}

std::vector<Topology> strange_topologies() {
  Topology nothing;
  nothing.generator = "gputopo 0.1.0";
  Topology absent = test::sample_topology();
  for (MemoryElement& element : absent.memory) {
    for (auto& [id, attribute] : element.attributes) attribute = unavailable(Reason::kDeviceError, "the device failed");
  }
  Topology partial = test::sample_topology();
  SampleTable& table = partial.memory[0].attributes[0].second.samples[0];
  table.data = {{NAN, INFINITY, 0}, {NAN, -1, 0}};
  partial.memory[1].attributes[0].second.samples = {
      {"empty", {"a_bytes", "b"}, {{}, {}}}, {"one", {"x"}, {{1}}}, {"none", {}, {}}};
  return {nothing, absent, partial, evil_topology(), large_topology()};
}

bool is_xml(const std::string& text) {
  const test::TemporaryFolder folder;
  write_file(folder.file("a.xml"), text);
  const test::CommandResult result = test::run_command("xmllint --noout " + folder.file("a.xml"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.exit_code == 0;
}

TEST(Formats, RenderWhateverAReportHolds) {
  for (const Topology& topology : strange_topologies()) {
    EXPECT_FALSE(to_terminal(topology, {}).empty());
    EXPECT_FALSE(to_tree(topology, {}).empty());
    EXPECT_FALSE(to_csv(topology).empty());
    EXPECT_FALSE(to_svg(topology).empty());
    EXPECT_FALSE(to_markdown(topology).empty());
    EXPECT_FALSE(to_html(topology).empty());
    const std::string json = to_json(topology);
    EXPECT_EQ(to_json(read_json(json)), json);
  }
}

TEST(Formats, SvgIsWellFormed) {
  if (test::run_command("command -v xmllint").exit_code != 0) GTEST_SKIP() << "xmllint is not installed";
  for (const Topology& topology : strange_topologies()) {
    EXPECT_TRUE(is_xml(to_svg(topology)));
    for (const MemoryElement& element : topology.memory) {
      if (element.id == "cache_1") break;  // the others of the large report are the same
      for (const auto& [id, attribute] : element.attributes) {
        for (const report::Chart& chart : report::charts_of(element.title, id, attribute)) {
          EXPECT_TRUE(is_xml(report::plot_svg(chart, attribute)));
        }
      }
    }
  }
}

TEST(Formats, NothingFromADeviceIsMarkup) {
  const Topology topology = evil_topology();
  EXPECT_THAT(to_html(topology), Not(HasSubstr("<script>alert")));
  EXPECT_THAT(to_svg(topology), Not(HasSubstr("<script>")));
  EXPECT_THAT(to_markdown(topology), Not(HasSubstr("<script>")));
  EXPECT_EQ(report::escaped("a<b>\"'&\x01\xff\xc3\xa9"), "a&lt;b&gt;&quot;&#39;&amp;\uFFFD\uFFFD\u00e9");
}

// Numbers of a list that the details name have the list's unit.
TEST(Formats, NamedNumbersOfAListHaveItsUnit) {
  Topology topology = test::sample_topology();
  Attribute patterns = inferred_value(std::vector<double>{38.5, 285}, "cycles", "sums");
  patterns.details = {{"l1_hit", 38.5}, {"l2_hit", 285.0}, {"other", 3.0}};
  get_or_add(topology.memory[2].attributes, "latency_patterns") = patterns;
  const std::string page = to_html(topology);
  EXPECT_THAT(page, HasSubstr("<dt>l1 hit</dt><dd>38.5 cycles</dd>"));
  EXPECT_THAT(page, HasSubstr("<dt>other</dt><dd>3</dd>"));
}

TEST(Formats, SayWhatIsSimulated) {
  Topology topology = test::sample_topology();
  for (auto* render : {to_svg, to_markdown, to_html}) EXPECT_THAT(render(topology), HasSubstr("SIMULATED"));
  EXPECT_THAT(to_csv(topology), HasSubstr("report,simulated,true"));
  topology.simulated = false;
  for (auto* render : {to_svg, to_markdown}) EXPECT_THAT(render(topology), Not(HasSubstr("SIMULATED")));
}

TEST(Formats, SayWhatIsIncomplete) {
  Topology topology = test::sample_topology();
  topology.complete = false;
  for (auto* render : {to_svg, to_markdown, to_html}) EXPECT_THAT(render(topology), HasSubstr("INCOMPLETE"));
  topology.complete = true;
  for (auto* render : {to_svg, to_markdown}) EXPECT_THAT(render(topology), Not(HasSubstr("INCOMPLETE")));
}

// The method of a value that was measured beside it is not that of the value.
TEST(Formats, AValueOfTheInterfaceHasNoMethod) {
  Topology topology = test::sample_topology();
  get_or_add(topology.memory[2].attributes, "size").method = "clear_memory_loads";
  get_or_add(topology.memory[0].attributes, "latency").method = "littles_law";
  for (auto* render : {to_svg, to_markdown}) {
    EXPECT_THAT(render(topology), Not(HasSubstr("clear memory loads")));
  }
  EXPECT_THAT(to_markdown(topology), HasSubstr("Little's law"));
}

TEST(Formats, CaptionsSayWhatIsPlotted) {
  Attribute latency = api_value(40.0, "cycles");
  latency.details = {{"timer_cycles", 30.0}};
  latency.samples = {{"l1.latency.histogram", {"raw_latency_cycles", "loads"}, {{60, 70, 80}, {1, 9, 1}}}};
  const std::vector<report::Chart> charts = report::charts_of("L1: latency", "latency", latency);
  const std::string text = report::figure(3, charts.at(0), latency);
  EXPECT_THAT(text,
              HasSubstr("how often each raw latency came. 3 rows, raw latency 60 cycles to 80 cycles, loads 1 to 9"));
  EXPECT_THAT(text, HasSubstr("raw = latency + 30 cycles of the timer"));
  EXPECT_THAT(text, HasSubstr("role=\"application\" aria-roledescription=\"plot\" aria-label=\"L1: latency\""));
}

// A line between two SMs would say that there is something between.
TEST(Formats, SmsArePoints) {
  Attribute attribute = api_value(270.0, "cycles");
  attribute.samples = {{"sms", {"sm", "latency_cycles"}, {{0, 1, 2}, {270, 280, 290}}}};
  EXPECT_TRUE(report::charts_of("", "latency", attribute).at(0).points_only);
  attribute.samples[0].columns[0] = "blocks_per_sm";
  EXPECT_TRUE(report::charts_of("", "latency", attribute).at(0).x.label == "blocks per sm");
  EXPECT_FALSE(report::charts_of("", "latency", attribute).at(0).points_only);
}

double children_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Of the processor rather than of the clock: other tests run beside this one.
TEST(Formats, AreQuickAndSmall) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers take time and memory of their own";
#endif
  const test::TemporaryFolder folder;
  write_file(folder.file("large.json"), to_json(large_topology()));
  struct Case {
    std::string report;
    double most_seconds;
  };
  // A report is promised to take under 0.3 s; the large one is larger than any GPU's.
  for (const auto& [report, most_seconds] :
       {Case{GPUTOPO_SOURCE_DIR "/tests/reports/h200.json", 0.3}, Case{folder.file("large.json"), 1.0}}) {
    for (const char* format : {"html", "markdown", "svg", "csv", "json"}) {
      const std::string out = folder.file(std::string("out.") + format);
      const double before = children_cpu_seconds();
      const test::CommandResult result =
          test::run_command(GPUTOPO_BINARY " show " + report + " --" + format + " " + out);
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_LT(children_cpu_seconds() - before, most_seconds) << report << " as " << format;
      // The page is promised to be under 3 MiB; Markdown has a picture of each of 74 plots.
      const bool is_json = std::string(format) == "json";
      EXPECT_LT(read_file(out).size(), (std::string(format) == "markdown" ? 6u : is_json ? 4u : 3u) << 20) << format;
    }
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, 200 << 10) << "KiB";
}

TEST(Thin, LeavesShortTablesAlone) {
  const SampleTable table{"a", {"x_bytes", "y"}, {{1, 2, 3}, {0.5, 1e-320, 1e300}}};
  EXPECT_EQ(report::thinned(table), table);
}

TEST(Thin, KeepsMapsWhole) {
  SampleTable map{"a", {"sm", "slice", "latency_cycles"}, {{}, {}, {}}};
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 50; ++k) {
      map.data[0].push_back(i);
      map.data[1].push_back(k);
      map.data[2].push_back(i * k);
    }
  }
  EXPECT_TRUE(report::is_map(map));
  EXPECT_EQ(report::thinned(map).row_count(), 5000u);
  map.data[0].back() = 0;  // a hole, and a cell twice
  EXPECT_FALSE(report::is_map(map));
  EXPECT_LE(report::thinned(map).row_count(), report::kMostRows);
}

// Curves give way, maps stay.
TEST(Thin, ToABudgetOfAllTables) {
  const Topology large = large_topology();
  const Topology thin = report::thinned_to(large, 200000);
  std::size_t numbers = 0;
  for (const MemoryElement& element : thin.memory) {
    for (const auto& [id, attribute] : element.attributes) {
      for (const SampleTable& table : attribute.samples) {
        numbers += table.row_count() * table.columns.size();
        if (table.name == "l2.map") {
          EXPECT_EQ(table.row_count(), 300u * 96u);
        } else if (table.measured_rows != 0) {
          EXPECT_EQ(table.measured_rows, 10000u);
        }
      }
    }
  }
  EXPECT_LE(numbers, 210000u);
  EXPECT_GE(numbers, 100000u);
  EXPECT_EQ(report::thinned_to(test::sample_topology(), 200000).memory, test::sample_topology().memory);
}

TEST(Thin, AMapOfWhichLessIsKeptIsAMap) {
  const SampleTable thin = report::thinned(map_of(300, 192));
  EXPECT_TRUE(report::is_map(thin));
  EXPECT_LE(thin.row_count(), report::kMostMapCells);
  EXPECT_GE(thin.row_count(), report::kMostMapCells / 2);
  EXPECT_EQ(thin.measured_rows, 300u * 192u);
  EXPECT_EQ(report::thinned(thin), thin);
}

TEST(Thin, APageOfManyMapsStaysBelowThreeMebibytes) {
  Topology topology = test::sample_topology();
  for (int m = 0; m < 10; ++m) {
    Attribute attribute = api_value(1.0, "");
    attribute.samples = {map_of(256, 128)};
    MemoryElement element{"cache_" + std::to_string(m), "Cache", {}};
    element.attributes.emplace_back("near_sms", attribute);
    topology.memory.push_back(element);
  }
  const Topology thin = report::thinned_to(topology, report::kMostNumbersOfPage);
  for (const MemoryElement& element : thin.memory) {
    const Attribute* attribute = find(element.attributes, "near_sms");
    if (attribute == nullptr || attribute->samples.empty()) continue;
    EXPECT_TRUE(report::is_map(attribute->samples[0]));
    EXPECT_GE(attribute->samples[0].row_count(), 1000u);
  }
  EXPECT_LT(to_html(topology).size(), 3u << 20);
  EXPECT_LT(diff_to_html({{"a", topology}, {"b", topology}}).size(), 3u << 20);
}

report::ChartKind kind_of(const SampleTable& table) {
  Attribute attribute = api_value(1.0, "");
  attribute.samples = {table};
  return report::charts_of("", "value", attribute).at(0).kind;
}

TEST(Chart, IsChosenByTheColumns) {
  EXPECT_EQ(kind_of({"a", {"x_bytes", "latency_cycles", "loads"}, {{1, 1}, {2, 3}, {4, 5}}}),
            report::ChartKind::kDensity);
  EXPECT_EQ(kind_of({"a", {"latency_cycles", "loads"}, {{1, 2}, {2, 3}}}), report::ChartKind::kBars);
  EXPECT_EQ(kind_of({"a", {"stride", "latency_cycles"}, {{1, 2}, {2, 3}}}), report::ChartKind::kLine);
  // A grid of a few rows is a line for each; a larger one a map.
  EXPECT_EQ(kind_of({"a", {"sm", "slice", "latency_cycles"}, {{0, 0, 1, 1}, {0, 1, 0, 1}, {4, 5, 6, 7}}}),
            report::ChartKind::kLine);
  SampleTable map{"a", {"sm", "slice", "latency_cycles"}, {{}, {}, {}}};
  for (int i = 0; i < 200; ++i) {
    map.data[0].push_back(i / 10);
    map.data[1].push_back(i % 10);
    map.data[2].push_back(i);
  }
  EXPECT_EQ(kind_of(map), report::ChartKind::kMap);
}

TEST(Chart, SeriesAreColumnsOfOneUnitOrGroupsOfRows) {
  Attribute attribute = api_value(1.0, "cycles");
  attribute.samples = {
      {"a", {"bandwidth_bytes_per_second", "latency_p50_cycles", "latency_p99_cycles"}, {{1, 2}, {3, 4}, {5, 6}}},
      {"b",
       {"blocks", "in_flight", "bandwidth_bytes_per_second"},
       {{1, 2, 3, 1, 2}, {1, 1, 1, 2, 2}, {3, 4, 5, 6, 7}}}};
  const std::vector<report::Chart> charts = report::charts_of("", "value", attribute);
  EXPECT_EQ(charts.at(0).series.at(1).label, "latency p99");
  EXPECT_EQ(charts.at(0).y.label, "latency");
  EXPECT_THAT(charts.at(1).series, SizeIs(2));
  EXPECT_EQ(charts.at(1).series.at(1).label, "in flight 2");
}

std::vector<std::string> labels_of(const report::Chart& chart) {
  std::vector<std::string> labels;
  for (const report::ChartMark& mark : chart.marks) labels.push_back(mark.label);
  return labels;
}

TEST(Chart, LevelsAreMarksOfTheirTable) {
  Attribute latency = api_value(40.0, "cycles");
  latency.details = {
      {"p50_cycles", 41.0}, {"timer_cycles", 30.0}, {"levels_cycles", std::vector<double>{38.0, 200, 500}}};
  latency.samples = {{"l1.latency.histogram", {"raw_latency_cycles", "loads"}, {{60, 70, 80}, {1, 9, 1}}},
                     {"l1.latency.levels", {"raw_latency_cycles", "loads"}, {{60, 70, 230, 530}, {1, 9, 3, 2}}}};
  const std::vector<report::Chart> charts = report::charts_of("", "latency", latency);
  EXPECT_THAT(labels_of(charts.at(0)), testing::ElementsAre("latency", "p50"));
  EXPECT_EQ(charts[0].marks[0].value, 70);  // the timer's cost is in the samples
  EXPECT_THAT(labels_of(charts.at(1)), testing::ElementsAre("latency", "level 1", "level 2", "level 3"));
}

TEST(Chart, TheKneeIsAMark) {
  Attribute latency = api_value(843.0, "cycles");
  latency.details = {{"warps_in_flight", std::int64_t{32}}, {"unloaded_cycles", 300.0}, {"knee_warps", 10.3}};
  latency.samples = {{"latency", {"warps_in_flight", "latency_cycles"}, {{1, 8, 32}, {300, 320, 843}}}};
  const report::Chart chart = report::charts_of("", "loaded latency", latency).at(0);
  EXPECT_THAT(labels_of(chart), testing::ElementsAre("loaded latency", "unloaded", "knee"));
  EXPECT_FALSE(chart.marks[2].across);
}

// Slopes and other figures in the unit of an axis that have no place on it.
TEST(Chart, AMarkFarFromAllSamplesIsNone) {
  Attribute cost = api_value(2.0, "cycles");
  cost.details = {{"conflict_free_cycles", 23.1}, {"broadcast_cycles", 23.1}};
  cost.samples = {{"strides", {"stride_bytes", "load_cycles", "store_cycles"}, {{0, 4}, {23, 85}, {5, 64}}}};
  const report::Chart chart = report::charts_of("", "conflict cost", cost).at(0);
  EXPECT_THAT(labels_of(chart), testing::ElementsAre("conflict free, broadcast"));
  EXPECT_THAT(chart.series, SizeIs(2));
  // A peak that theory allows lies a little above.
  Attribute bandwidth = api_value(4.7e12, "B/s");
  bandwidth.details = {{"theoretical_bytes_per_second", 4.8e12}};
  bandwidth.samples = {{"repeats", {"repeat", "bytes_per_second"}, {{1, 2}, {4.69e12, 4.7e12}}}};
  EXPECT_THAT(labels_of(report::charts_of("", "read bandwidth", bandwidth).at(0)),
              testing::ElementsAre("read bandwidth", "theoretical"));
}

TEST(Chart, PairsOfSmsAreAMapWithHoles) {
  EXPECT_EQ(kind_of({"pairs", {"victim_sm", "evictor_sm", "evicted_part"}, {{0, 2}, {1, 3}, {1, 0.9}}}),
            report::ChartKind::kMap);
  EXPECT_EQ(kind_of({"sms", {"sm", "partition", "latency_cycles"}, {{0, 1}, {0, 1}, {270, 280}}}),
            report::ChartKind::kLine);
}

TEST(Chart, SaysHowManySeriesItLeavesOut) {
  SampleTable table{"a", {"x", "group", "y_cycles"}, {{}, {}, {}}};
  for (int i = 0; i < 24; ++i) {
    table.data[0].push_back(i % 2);
    table.data[1].push_back(i / 2);
    table.data[2].push_back(i);
  }
  table.data[0].push_back(0);  // no full grid
  table.data[1].push_back(0);
  table.data[2].push_back(1);
  Attribute attribute = api_value(1.0, "");
  attribute.samples = {table};
  const report::Chart chart = report::charts_of("", "value", attribute).at(0);
  EXPECT_THAT(chart.series, SizeIs(8));
  EXPECT_EQ(chart.series_left_out, 4u);
  // Where each x comes once, the other columns went along with it.
  attribute.samples = {{"tlb", {"reach_bytes", "stride_bytes", "latency_cycles"}, {{}, {}, {}}}};
  for (int i = 1; i < 20; ++i) {
    for (auto& column : attribute.samples[0].data) column.push_back(i);
  }
  EXPECT_THAT(report::charts_of("", "value", attribute).at(0).series, SizeIs(1));
}

TEST(Chart, MarksTheValueAndBothEdges) {
  const Topology topology = test::sample_topology();
  Attribute size = *topology.find_attribute("l1", "size");
  size.samples[0].data[0] = {1024, 1 << 20};
  const report::Chart chart = report::charts_of("L1", "size", size).at(0);
  std::vector<std::string> labels;
  for (const report::ChartMark& mark : chart.marks) labels.push_back(mark.label);
  EXPECT_THAT(labels, testing::ElementsAre("size", "first miss", "all miss"));
  EXPECT_EQ(chart.marks[0].low, 192512);
  // Lists of the details are a chart of their own.
  EXPECT_EQ(report::charts_of("L1", "size", size).at(1).x.column, "carve_outs_bytes");
}

}  // namespace
}  // namespace gputopo
