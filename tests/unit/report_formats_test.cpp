// Drawn formats: requirements for any report, however strange.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <sstream>

#include "gputopo/report.h"
#include "probe/bench/evidence.h"
#include "report/drawing/chart.h"
#include "report/drawing/markup.h"
#include "report/drawing/plot.h"
#include "report/html/page.h"
#include "report/json/thin.h"
#include "report/words/value_text.h"
#include "support/command.h"
#include "support/sample_topology.h"
#include "support/sanitized.h"

namespace gputopo {
namespace {

using probe::axis;
using probe::load_counts;
using probe::raw_latency_axis;
using probe::series;
using probe::values;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

SampleTable table_of(std::string name, Plot plot, std::vector<Column> columns, std::vector<std::vector<double>> data) {
  SampleTable table = probe::make_table(std::move(name), plot, std::move(columns));
  table.data = std::move(data);
  return table;
}

const std::string kEvilText = "<script>alert(1)</script>\"'&--></style> \xff\x01 |`*";

Topology evil_topology() {
  Topology topology = test::sample_topology();
  topology.name = kEvilText;
  topology.architecture = kEvilText;
  topology.warnings = {kEvilText};
  topology.memory[0].title = kEvilText;
  topology.memory[0].attributes[0].second.method = kEvilText;
  SampleTable& table = topology.memory[0].attributes[0].second.samples[0];
  table.columns[0] = {kEvilText + "_bytes", ColumnRole::kAxis, kEvilText, kEvilText};
  table.columns[1].quantity = kEvilText;
  topology.memory[0].attributes[3].second.detail = kEvilText;
  return topology;
}

SampleTable map_of(int sms, int slices) {
  SampleTable map = probe::make_table(
      "l2.map", Plot::kMap, {axis("sm", "sm"), axis("slice", "slice"), values("latency_cycles", "latency", "cycles")});
  for (int sm = 0; sm < sms; ++sm) {
    for (int slice = 0; slice < slices; ++slice) {
      map.data[0].push_back(sm);
      map.data[1].push_back(slice);
      map.data[2].push_back(200.125 + (sm * 7 + slice * 3) % 61);
    }
  }
  return map;
}

// 300 SMs in pairs near 16 partitions, 10,000 samples in each of 72 plots, and a map of SMs by slices.
Topology large_topology() {
  Topology topology = test::sample_topology();
  get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{300}, "");
  for (int e = 0; e < 24; ++e) {
    MemoryElement element{"cache_" + std::to_string(e), "Cache " + std::to_string(e), {}};
    for (const char* id : {"size", "latency", "read_bandwidth"}) {
      Attribute attribute = api_value(1000.0 * (e + 1), "B");
      attribute.source = Source::kMeasured;
      SampleTable table = probe::make_table(element.id + "." + id + ".sweep", Plot::kDensity,
                                            {probe::footprint_axis(), raw_latency_axis(), load_counts()});
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
  UnitGroups near{std::vector<std::vector<std::uint32_t>>(16)};
  UnitGroups pairs;
  for (std::uint32_t sm = 0; sm < 300; sm += 2) {
    near.groups[sm / 2 % 16].insert(near.groups[sm / 2 % 16].end(), {sm, sm + 1});
    pairs.groups.push_back({sm, sm + 1});
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
  // For each plot, a table that is empty, lacks the columns for it, or has no numbers.
  std::vector<SampleTable>& tables = partial.memory[1].attributes[0].second.samples;
  for (const Plot plot : {Plot::kNone, Plot::kLine, Plot::kPoints, Plot::kBars, Plot::kDensity, Plot::kMap}) {
    const std::string name(to_string(plot));
    tables.push_back(table_of(name + "_empty", plot, {axis("a", "a"), axis("b", "b"), values("c", "c")}, {{}, {}, {}}));
    tables.push_back(table_of(name + "_axis", plot, {axis("x", "x")}, {{1}}));
    tables.push_back(table_of(name + "_values", plot, {values("x", "x"), values("y", "y")}, {{1}, {2}}));
    tables.push_back(table_of(name + "_columns", plot, {}, {}));
    tables.push_back(table_of(name + "_nan", plot, {axis("a", "a"), axis("b", "b"), series("s", "s"), values("c", "c")},
                              {{NAN, 1}, {NAN, 1}, {NAN, 1}, {NAN, INFINITY}}));
  }
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
  int plots = 0;
  for (const Topology& topology : strange_topologies()) {
    EXPECT_TRUE(is_xml(to_svg(topology)));
    for (const MemoryElement& element : topology.memory) {
      if (element.id == "cache_1") break;  // the other elements of the large report are the same
      for (const auto& [id, attribute] : element.attributes) {
        for (const report::Chart& chart : report::charts_of(element.title, id, attribute)) {
          EXPECT_TRUE(is_xml(report::plot_svg(chart).text()));
          ++plots;
        }
      }
    }
  }
  EXPECT_GE(plots, 5);
}

TEST(Formats, NothingFromADeviceIsMarkup) {
  const Topology topology = evil_topology();
  EXPECT_THAT(to_html(topology), Not(HasSubstr("<script>alert")));
  EXPECT_THAT(to_svg(topology), Not(HasSubstr("<script>")));
  EXPECT_THAT(to_markdown(topology), Not(HasSubstr("<script>")));
  EXPECT_EQ(report::escaped("a<b>\"'&\x01\xff\xc3\xa9"), "a&lt;b&gt;&quot;&#39;&amp;\uFFFD\uFFFD\u00e9");
}

// If details name numbers of a list, these have the list's unit.
TEST(Formats, NamedNumbersOfAListHaveItsUnit) {
  Topology topology = test::sample_topology();
  Attribute patterns = inferred_value(std::vector<double>{38.5, 285}, "cycles", "sums");
  patterns.details = {{"l1_hit", 38.5}, {"l2_hit", 285.0}, {"other", 3.0}};
  get_or_add(topology.memory[2].attributes, "latency_patterns") = patterns;
  const std::string page = to_html(topology);
  EXPECT_THAT(page, HasSubstr("<dt>L1 hit</dt><dd>38.5 cycles</dd>"));
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

// The method of a value measured in addition is not the method of the interface's value.
TEST(Formats, AValueOfTheInterfaceHasNoMethod) {
  Topology topology = test::sample_topology();
  get_or_add(topology.memory[2].attributes, "size").method = "clear_memory_loads";
  get_or_add(topology.memory[0].attributes, "latency").method = "littles_law";
  for (auto* render : {to_svg, to_markdown}) {
    EXPECT_THAT(render(topology), Not(HasSubstr("clear memory loads")));
  }
  EXPECT_THAT(to_markdown(topology), HasSubstr("Little's law"));
}

// A value of 31.2 beside a minimum of 31.7: these are from different loads.
TEST(Formats, ALatencySaysThatItsDetailsAreOfOtherLoads) {
  const Topology topology = read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  EXPECT_THAT(to_markdown(topology), HasSubstr("(minimum, percentiles and maximum are from loads timed one by one"));
  EXPECT_THAT(to_html(topology),
              HasSubstr("Note on the details: minimum, percentiles and maximum are from loads timed one by one"));
  EXPECT_EQ(report::details_note(*topology.find_attribute("l2", "latency")), "");  // all from the same loads
}

TEST(Formats, CaptionsSayWhatIsPlotted) {
  Attribute latency = api_value(40.0, "cycles");
  latency.samples = {
      table_of("l1.latency.histogram", Plot::kBars, {raw_latency_axis(), load_counts()}, {{60, 70, 80}, {1, 9, 1}})};
  latency.samples[0].timer_cycles = 30;
  const std::vector<report::Chart> charts = report::charts_of("L1: latency", "latency", latency);
  const std::string text = report::figure(3, charts.at(0)).text();
  EXPECT_THAT(text, HasSubstr("loads at each latency. 3 rows, latency 30 cycles to 50 cycles, loads 1 to 9"));
  EXPECT_THAT(text, HasSubstr("The plot subtracts 30 cycles of timer overhead"));
  EXPECT_THAT(text, HasSubstr("role=\"application\" aria-roledescription=\"plot\" aria-label=\"L1: latency\""));
}

// A line between two SMs would suggest that values exist between them.
TEST(Formats, PointsHaveNoLines) {
  Attribute attribute = api_value(270.0, "cycles");
  attribute.samples = {table_of("sms", Plot::kPoints, {probe::sm_axis(), values("latency_cycles", "latency", "cycles")},
                                {{0, 1, 2}, {270, 280, 290}})};
  const auto has_line = [&] {
    const report::Chart chart = report::charts_of("", "latency", attribute).at(0);
    return report::plot_svg(chart).text().find("stroke-width=\"1.5\"") != std::string::npos;
  };
  EXPECT_FALSE(has_line());
  attribute.samples[0].plot = Plot::kLine;
  EXPECT_TRUE(has_line());
}

std::size_t count_of(std::string_view part, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string plotted(SampleTable table) {
  Attribute attribute = api_value(1.0, "");
  attribute.samples = {std::move(table)};
  return report::plot_svg(report::charts_of("", "value", attribute).at(0)).text();
}

// All of it is evicted, except for noise.
TEST(Formats, NoiseAboutAllOrNothingIsOfOneColour) {
  const std::vector<Column> columns = {axis("victim_sm", "victim"), axis("evictor_sm", "evictor"),
                                       values("part", "part")};
  const auto strengths = [&](const std::vector<double>& parts) {
    return count_of("class=\"dots\"",
                    plotted(table_of("pairs", Plot::kMap, columns, {{0, 0, 1, 1}, {0, 1, 0, 1}, parts})));
  };
  EXPECT_EQ(strengths({0.999, 1.01, 1.02, 1.033}), 1U);
  EXPECT_EQ(strengths({0.01, 1.01, -0.02, 1}), 2U);
}

// A map whose rows are grouped by similarity has numbers that do not ascend or descend.
TEST(Formats, TicksOfAMapGoOneWayOrAreNone) {
  const std::vector<Column> columns = {probe::sm_axis(), axis("line_bytes", "line", "B"),
                                       values("cycles", "latency", "cycles")};
  const auto map = [&](const std::vector<double>& lines) {
    return plotted(table_of("map", Plot::kMap, columns, {{5, 5, 5}, lines, {1, 2, 3}}));
  };
  for (const std::vector<double>& lines : {std::vector<double>{1024, 2048, 3072}, {3072, 2048, 1024}}) {
    EXPECT_THAT(map(lines), HasSubstr(">2 KiB<"));
    EXPECT_THAT(map(lines), HasSubstr(">line<"));
  }
  EXPECT_THAT(map({2048, 1024, 3072}), Not(HasSubstr(">2 KiB<")));
  EXPECT_THAT(map({2048, 1024, 3072}), HasSubstr(">line, grouped by similarity<"));
}

double children_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Measures processor time, because other tests run beside this one.
TEST(Formats, AreQuickAndSmall) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers take time and memory of their own";
  const test::TemporaryFolder folder;
  write_file(folder.file("large.json"), to_json(large_topology()));
  struct Case {
    std::string report;
    double most_seconds;
  };
  // The promise for a report is less than 0.3 s; the large one exceeds any GPU's.
  for (const auto& [report, most_seconds] :
       {Case{GPUTOPO_SOURCE_DIR "/tests/reports/h200.json", 0.3}, Case{folder.file("large.json"), 1.0}}) {
    for (const char* format : {"html", "markdown", "svg", "csv", "json"}) {
      const std::string out = folder.file(std::string("out.") + format);
      const double before = children_cpu_seconds();
      const test::CommandResult result =
          test::run_command(GPUTOPO_BINARY " show " + report + " --" + format + " " + out);
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_LT(children_cpu_seconds() - before, most_seconds) << report << " as " << format;
      // The promise for a page is less than 3 MiB; Markdown has a picture of each of 74 plots.
      const bool is_json = std::string(format) == "json";
      EXPECT_LT(read_file(out).size(), (std::string(format) == "markdown" ? 6u : is_json ? 4u : 3u) << 20) << format;
    }
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  EXPECT_LT(usage.ru_maxrss, 200 << 10) << "KiB";
}

TEST(Thin, LeavesShortTablesAlone) {
  SampleTable table =
      table_of("a", Plot::kLine, {axis("x_bytes", "x", "B"), values("y", "y")}, {{1, 2, 3}, {0.5, 1e-320, 1e300}});
  table.timer_cycles = 30;
  table.marks = {"edge_bytes"};
  EXPECT_EQ(report::downsampled(table), table);
}

TEST(Thin, KeepsWhatTheTableSaysOfItself) {
  SampleTable table = table_of("a", Plot::kLine, {axis("x_bytes", "x", "B"), values("y", "y")}, {{}, {}});
  for (int i = 0; i < 10000; ++i) {
    for (std::vector<double>& column : table.data) column.push_back(i);
  }
  table.timer_cycles = 30;
  table.marks = {"edge_bytes"};
  SampleTable thin = report::downsampled(table);
  EXPECT_LE(thin.row_count(), report::kMaxRows);
  EXPECT_EQ(thin.measured_rows, 10000u);
  thin.data = table.data;
  thin.measured_rows = 0;
  EXPECT_EQ(thin, table);
}

TEST(Thin, KeepsMapsWhole) {
  SampleTable map = map_of(100, 50);
  EXPECT_TRUE(report::is_whole_map(map));
  EXPECT_EQ(report::downsampled(map).row_count(), 5000u);
  map.data[0].back() = 0;  // one cell missing, one twice
  EXPECT_FALSE(report::is_whole_map(map));
  EXPECT_LE(report::downsampled(map).row_count(), report::kMaxRows);
  // A table drawn as lines is no map, whatever its shape.
  SampleTable lines = map_of(100, 50);
  lines.plot = Plot::kLine;
  EXPECT_FALSE(report::is_whole_map(lines));
  EXPECT_LE(report::downsampled(lines).row_count(), report::kMaxRows);
}

// Curves are thinned, maps stay.
TEST(Thin, ToABudgetOfAllTables) {
  const Topology large = large_topology();
  const Topology thin = report::thinned_to(large, 200000);
  std::size_t numbers = 0;
  int maps = 0;
  int curves = 0;
  for (const MemoryElement& element : thin.memory) {
    for (const auto& [id, attribute] : element.attributes) {
      for (const SampleTable& table : attribute.samples) {
        numbers += table.row_count() * table.columns.size();
        if (table.name == "l2.map") {
          ++maps;
          EXPECT_EQ(table.row_count(), 300u * 96u);
        } else if (table.measured_rows != 0) {
          ++curves;
          EXPECT_EQ(table.measured_rows, 10000u);
        }
      }
    }
  }
  EXPECT_EQ(maps, 1);
  EXPECT_EQ(curves, 24 * 3);
  EXPECT_LE(numbers, 210000u);
  EXPECT_GE(numbers, 100000u);
  EXPECT_EQ(report::thinned_to(test::sample_topology(), 200000).memory, test::sample_topology().memory);
}

TEST(Thin, AMapOfWhichLessIsKeptIsAMap) {
  const SampleTable thin = report::downsampled(map_of(300, 192));
  EXPECT_TRUE(report::is_whole_map(thin));
  EXPECT_LE(thin.row_count(), report::kMaxMapCells);
  EXPECT_GE(thin.row_count(), report::kMaxMapCells / 2);
  EXPECT_EQ(thin.measured_rows, 300u * 192u);
  EXPECT_EQ(report::downsampled(thin), thin);
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
  const Topology thin = report::thinned_to(topology, report::kMaxNumbersOfPage);
  int maps = 0;
  for (const MemoryElement& element : thin.memory) {
    const Attribute* attribute = find(element.attributes, "near_sms");
    if (attribute == nullptr || attribute->samples.empty()) continue;
    ++maps;
    EXPECT_TRUE(report::is_whole_map(attribute->samples[0]));
    EXPECT_GE(attribute->samples[0].row_count(), 1000u);
  }
  EXPECT_EQ(maps, 10);
  EXPECT_LT(to_html(topology).size(), 3u << 20);
  EXPECT_LT(diff_to_html({{"a", topology}, {"b", topology}}).size(), 3u << 20);
}

report::Chart chart_of(const SampleTable& table, Attribute attribute = api_value(1.0, "")) {
  attribute.samples = {table};
  const std::vector<report::Chart> charts = report::charts_of("", "value", attribute);
  return charts.empty() ? report::Chart{.plot = Plot::kNone} : charts[0];
}

const Column kLatencyColumn = values("latency_cycles", "latency", "cycles");

TEST(Chart, IsWhatTheTableSays) {
  const std::vector<Column> columns = {axis("x_bytes", "footprint", "B"), axis("y", "slice"), kLatencyColumn};
  for (const Plot plot : {Plot::kLine, Plot::kPoints, Plot::kBars, Plot::kDensity, Plot::kMap}) {
    EXPECT_EQ(chart_of(table_of("a", plot, columns, {{1, 2}, {2, 3}, {4, 5}})).plot, plot);
  }
  EXPECT_EQ(chart_of(table_of("a", Plot::kNone, columns, {{1, 2}, {2, 3}, {4, 5}})).plot, Plot::kNone);
}

TEST(Chart, AxesAreNamedByTheirColumns) {
  const report::Chart density = chart_of(
      table_of("a", Plot::kDensity, {probe::footprint_axis(), raw_latency_axis(), load_counts()}, {{1}, {2}, {4}}));
  EXPECT_EQ(density.x.label, "footprint");
  EXPECT_EQ(density.x.unit, "B");
  EXPECT_EQ(density.y.column, "raw_latency_cycles");
  EXPECT_EQ(density.weight.label, "loads");
  EXPECT_THAT(density.series, testing::IsEmpty());
  // Regardless of the columns' names and order.
  const report::Chart line = chart_of(
      table_of("b", Plot::kLine, {values("loads", "bandwidth", "B/s"), axis("victim_sm", "blocks")}, {{5, 6}, {1, 2}}));
  EXPECT_EQ(line.x.label, "blocks");
  EXPECT_EQ(line.y.label, "bandwidth");
  EXPECT_EQ(line.y.unit, "B/s");
}

// The table lacks the columns that the plot needs.
TEST(Chart, ATableWithoutTheColumnsOfItsPlotHasNone) {
  EXPECT_EQ(chart_of(table_of("a", Plot::kMap, {axis("x", "x"), kLatencyColumn}, {{1, 2}, {3, 4}})).plot, Plot::kNone);
  EXPECT_EQ(chart_of(table_of("a", Plot::kLine, {axis("x", "x"), axis("y", "y")}, {{1}, {3}})).plot, Plot::kNone);
  EXPECT_EQ(chart_of(table_of("a", Plot::kBars, {load_counts()}, {{1}})).plot, Plot::kNone);
  EXPECT_EQ(chart_of(table_of("a", Plot::kLine, {axis("x", "x"), kLatencyColumn}, {{}, {}})).plot, Plot::kNone);
}

TEST(Chart, SeriesAreColumnsOfOneUnitOrGroupsOfRows) {
  const report::Chart columns = chart_of(
      table_of("a", Plot::kLine,
               {axis("bandwidth_bytes_per_second", "bandwidth", "B/s"), values("p50_cycles", "latency p50", "cycles"),
                values("p99_cycles", "latency p99", "cycles"), values("share", "share")},
               {{1, 2}, {3, 4}, {5, 6}, {0, 1}}));
  EXPECT_THAT(columns.series, SizeIs(2));
  EXPECT_EQ(columns.series.at(1).label, "latency p99");
  EXPECT_EQ(columns.y.label, "latency");
  const SampleTable grouped =
      table_of("b", Plot::kLine,
               {axis("blocks", "blocks"), series("in_flight", "in flight"), series("copy_bytes", "copy", "B"),
                values("bytes_per_second", "bandwidth", "B/s")},
               {{1, 2, 3, 1, 2}, {1, 1, 1, 2, 2}, {64, 64, 64, 1024, 1024}, {3, 4, 5, 6, 7}});
  const report::Chart groups = chart_of(grouped);
  EXPECT_THAT(groups.series, SizeIs(2));
  EXPECT_EQ(groups.series.at(1).label, "in flight 2, copy 1 KiB");
  EXPECT_THAT(groups.series.at(1).where,
              testing::ElementsAre(std::pair("in_flight", 2.0), std::pair("copy_bytes", 1024.0)));
}

TEST(Chart, ColumnsAndGroupsOfRowsAreALineEach) {
  const report::Chart chart =
      chart_of(table_of("a", Plot::kLine,
                        {axis("x", "x"), series("stride", "stride"), values("load_cycles", "load", "cycles"),
                         values("store_cycles", "store", "cycles")},
                        {{1, 2, 1, 2}, {4, 4, 8, 8}, {1, 2, 3, 4}, {5, 6, 7, 8}}));
  std::vector<std::string> labels;
  for (const report::Series& one : chart.series) labels.push_back(one.label);
  EXPECT_THAT(labels, testing::ElementsAre("load, stride 4", "load, stride 8", "store, stride 4", "store, stride 8"));
}

// Shapes that were tried twice: a line would go up and down at the same x.
TEST(Chart, SeveralValuesAtOnePlaceArePoints) {
  const std::vector<Column> columns = {axis("blocks", "blocks"), series("threads", "threads"), kLatencyColumn};
  EXPECT_EQ(chart_of(table_of("a", Plot::kLine, columns, {{1, 2, 1, 2}, {8, 8, 16, 16}, {3, 4, 5, 6}})).plot,
            Plot::kLine);
  EXPECT_EQ(chart_of(table_of("a", Plot::kLine, columns, {{1, 2, 1, 2}, {8, 8, 8, 8}, {3, 4, 5, 6}})).plot,
            Plot::kPoints);
}

TEST(Chart, NumbersOfSmsAreNoQuantity) {
  std::vector<double> sms;
  for (int sm = 1; sm < 132; ++sm) sms.push_back(sm);
  const report::Chart chart = chart_of(table_of("sms", Plot::kPoints, {probe::sm_axis(), kLatencyColumn}, {sms, sms}));
  EXPECT_FALSE(chart.x.logarithmic);
  EXPECT_TRUE(chart.y.logarithmic);
}

// The bounds of an interval are no lines.
TEST(Chart, BoundsOfAnIntervalAreNoLines) {
  const report::Chart chart = chart_of(table_of("a", Plot::kLine,
                                                {axis("x", "x"),
                                                 kLatencyColumn,
                                                 {"low_cycles", ColumnRole::kLow, "low", "cycles"},
                                                 {"high_cycles", ColumnRole::kHigh, "high", "cycles"}},
                                                {{1, 2}, {3, 4}, {2, 3}, {4, 5}}));
  EXPECT_THAT(chart.series, SizeIs(1));
}

std::vector<std::string> labels_of(const report::Chart& chart) {
  std::vector<std::string> labels;
  for (const report::ChartMark& mark : chart.marks) labels.push_back(mark.label);
  return labels;
}

TEST(Chart, MarksAreTheDetailsThatTheTableNames) {
  Attribute latency = api_value(40.0, "cycles");
  latency.details = {
      {"p50_cycles", 41.0}, {"p95_cycles", 44.0}, {"levels_cycles", std::vector<double>{38.0, 200, 500}}};
  latency.samples = {
      table_of("l1.latency.histogram", Plot::kBars, {raw_latency_axis(), load_counts()}, {{60, 70, 80}, {1, 9, 1}}),
      table_of("l1.latency.levels", Plot::kBars, {raw_latency_axis(), load_counts()},
               {{60, 70, 230, 530}, {1, 9, 3, 2}})};
  latency.samples[0].marks = {"p50_cycles", "not_there_cycles"};
  latency.samples[1].marks = {"levels_cycles"};
  for (SampleTable& table : latency.samples) table.timer_cycles = 30;
  const std::vector<report::Chart> charts = report::charts_of("", "latency", latency);
  EXPECT_THAT(labels_of(charts.at(0)), testing::ElementsAre("latency", "p50"));
  EXPECT_EQ(charts[0].marks[0].value, 40);
  // The samples include the timer cost, but their plots do not.
  EXPECT_THAT(charts[0].column("raw_latency_cycles"), testing::ElementsAre(30, 40, 50));
  EXPECT_EQ(charts[0].x.label, "latency");
  EXPECT_THAT(labels_of(charts.at(1)), testing::ElementsAre("latency", "level 1", "level 2", "level 3"));
}

// The timer adds to latencies but not to footprints.
TEST(Chart, TheTimerIsTakenOffRawLatenciesAlone) {
  Attribute size = api_value(4096.0, "B");
  size.details = {{"first_miss_bytes", 5000.0}, {"hit_cycles", 40.0}};
  size.samples = {table_of("sweep", Plot::kDensity, {probe::footprint_axis(), raw_latency_axis(), load_counts()},
                           {{1024, 8192}, {60, 300}, {1, 9}})};
  size.samples[0].timer_cycles = 30;
  size.samples[0].marks = {"first_miss_bytes", "hit_cycles"};
  const report::Chart chart = report::charts_of("", "size", size).at(0);
  EXPECT_THAT(labels_of(chart), testing::ElementsAre("size", "first miss", "hit"));
  EXPECT_EQ(chart.marks[0].value, 4096);
  EXPECT_EQ(chart.marks[1].value, 5000);
  EXPECT_EQ(chart.marks[2].value, 40);
  EXPECT_TRUE(chart.marks[2].across);
  EXPECT_THAT(chart.column("footprint_bytes"), testing::ElementsAre(1024, 8192));
  EXPECT_THAT(chart.column("raw_latency_cycles"), testing::ElementsAre(30, 270));
}

// Plots of two reports share their axes: a slower timer must not look like a slower cache.
TEST(Chart, ReportsWithOtherTimersAreAlike) {
  const auto drawn_with = [](double timer_cycles) {
    Attribute latency = api_value(40.0, "cycles");
    latency.samples = {table_of("levels", Plot::kBars, {raw_latency_axis(), load_counts()},
                                {{40 + timer_cycles, 50 + timer_cycles}, {9, 1}})};
    latency.samples[0].timer_cycles = timer_cycles;
    const report::Chart chart = report::charts_of("", "latency", latency).at(0);
    return report::plot_svg(chart).text();
  };
  EXPECT_EQ(drawn_with(30), drawn_with(47));
}

// If a table does not know its timer cost, it shows raw latencies and says so.
TEST(Chart, RawLatenciesOfAnUnknownTimerAreCalledSo) {
  Attribute latency = api_value(40.0, "cycles");
  latency.samples = {table_of("levels", Plot::kBars, {raw_latency_axis(), load_counts()}, {{60, 70}, {9, 1}})};
  const report::Chart chart = report::charts_of("", "latency", latency).at(0);
  EXPECT_EQ(chart.x.label, "raw latency");
  EXPECT_THAT(chart.column("raw_latency_cycles"), testing::ElementsAre(60, 70));
}

const Column kInFlightColumn = axis("warps_in_flight", "in flight", "warps");

TEST(Chart, TheKneeIsAMark) {
  Attribute latency = api_value(843.0, "cycles");
  latency.details = {{"warps_in_flight", std::int64_t{32}}, {"unloaded_cycles", 300.0}, {"knee_warps", 10.3}};
  latency.samples = {
      table_of("latency", Plot::kLine, {kInFlightColumn, kLatencyColumn}, {{1, 8, 32}, {300, 320, 843}})};
  latency.samples[0].marks = {"unloaded_cycles", "knee_warps"};
  const report::Chart chart = report::charts_of("", "loaded latency", latency).at(0);
  EXPECT_THAT(labels_of(chart), testing::ElementsAre("loaded latency", "unloaded", "knee"));
  EXPECT_TRUE(chart.marks[1].across);
  EXPECT_FALSE(chart.marks[2].across);
}

// Slopes and other figures may share the unit of an axis without having a place on it.
TEST(Chart, AMarkFarFromAllSamplesIsNone) {
  Attribute cost = api_value(2.0, "cycles");
  cost.details = {{"conflict_free_cycles", 23.1}, {"broadcast_cycles", 23.1}};
  cost.samples = {table_of("strides", Plot::kLine,
                           {axis("stride_bytes", "stride", "B"), values("load_cycles", "load", "cycles"),
                            values("store_cycles", "store", "cycles")},
                           {{0, 4}, {23, 85}, {5, 64}})};
  cost.samples[0].marks = {"conflict_free_cycles", "broadcast_cycles"};
  const report::Chart chart = report::charts_of("", "conflict cost", cost).at(0);
  EXPECT_THAT(labels_of(chart), testing::ElementsAre("conflict free, broadcast"));
  EXPECT_THAT(chart.series, SizeIs(2));
  // A theoretical peak is slightly above the samples.
  Attribute bandwidth = api_value(4.7e12, "B/s");
  bandwidth.details = {{"theoretical_bytes_per_second", 4.8e12}};
  bandwidth.samples = {table_of("repeats", Plot::kLine,
                                {axis("repeat", "repeat"), values("bytes_per_second", "bandwidth", "B/s")},
                                {{1, 2}, {4.5e12, 4.7e12}})};
  bandwidth.samples[0].marks = {"theoretical_bytes_per_second"};
  EXPECT_THAT(labels_of(report::charts_of("", "read bandwidth", bandwidth).at(0)),
              testing::ElementsAre("read bandwidth", "theoretical"));
}

// Samples that differ little, far below a theoretical peak: the axis shows their differences, and text gives the peak.
TEST(Chart, AMarkThatWouldFlattenTheSamplesIsBeyondThePlot) {
  Attribute bandwidth = api_value(4.7e12, "B/s");
  bandwidth.details = {{"theoretical_bytes_per_second", 5.3e12}};
  bandwidth.samples = {table_of("repeats", Plot::kLine,
                                {axis("repeat", "repeat"), values("bytes_per_second", "bandwidth", "B/s")},
                                {{1, 2, 3}, {4.68e12, 4.71e12, 4.7e12}})};
  bandwidth.samples[0].marks = {"theoretical_bytes_per_second"};
  const report::Chart chart = report::charts_of("", "read bandwidth", bandwidth).at(0);
  EXPECT_THAT(labels_of(chart), testing::ElementsAre("read bandwidth"));
  ASSERT_THAT(chart.beyond, SizeIs(1));
  EXPECT_THAT(report::figure(0, chart).text(), HasSubstr("; theoretical 5.3 TB/s lies beyond the plot"));
  // The line itself covers most of the plot's height.
  const std::string svg = report::plot_svg(chart).text();
  const std::size_t path = svg.find("<path class=\"series series-1\" stroke-width=\"1.5\" d=\"M");
  ASSERT_NE(path, std::string::npos);
  std::istringstream places(svg.substr(svg.find("d=\"M", path) + 4));
  double x = 0;
  double first = 0;
  char line_to = ' ';
  double second = 0;
  places >> x >> first >> line_to >> x >> second;
  EXPECT_GT(first - second, 150) << places.str().substr(0, 80);
}

TEST(Chart, PairsOfSmsAreAMapWithHoles) {
  const std::vector<Column> columns = {axis("victim_sm", "victim sm"), axis("evictor_sm", "evictor sm"),
                                       values("evicted_fraction", "evicted fraction")};
  const SampleTable pairs = table_of("pairs", Plot::kMap, columns, {{0, 2}, {1, 3}, {1, 0.9}});
  EXPECT_EQ(chart_of(pairs).plot, Plot::kMap);
  EXPECT_FALSE(report::is_whole_map(pairs));
}

TEST(Chart, SaysHowManySeriesItLeavesOut) {
  SampleTable table =
      table_of("a", Plot::kLine, {axis("x", "x"), series("group", "group"), kLatencyColumn}, {{}, {}, {}});
  for (int i = 0; i < 24; ++i) {
    table.data[0].push_back(i % 2);
    table.data[1].push_back(i / 2);
    table.data[2].push_back(i);
  }
  const report::Chart chart = chart_of(table);
  EXPECT_THAT(chart.series, SizeIs(8));
  EXPECT_EQ(chart.series_left_out, 4u);
  // If each x occurs once, the other columns are no series of their own.
  table.data = {{}, {}, {}};
  for (int i = 1; i < 20; ++i) {
    for (auto& column : table.data) column.push_back(i);
  }
  EXPECT_THAT(chart_of(table).series, SizeIs(1));
  EXPECT_EQ(chart_of(table).series_left_out, 0u);
}

TEST(Chart, MarksTheValueAndBothEdges) {
  const Topology topology = test::sample_topology();
  Attribute size = *topology.find_attribute("l1", "size");
  size.samples[0].data[0] = {1024, 1 << 20};
  const std::vector<report::Chart> charts = report::charts_of("L1", "size", size);
  EXPECT_THAT(labels_of(charts.at(0)), testing::ElementsAre("size", "first miss", "all miss"));
  EXPECT_EQ(charts[0].marks[0].low, 192512);
  EXPECT_FALSE(charts[0].marks[0].across);
  // If both axes have the value's unit, the value belongs to y, the measured axis.
  EXPECT_EQ(charts.at(1).title, "L1, by carve out");
  EXPECT_THAT(labels_of(charts[1]), testing::ElementsAre("size"));
  EXPECT_TRUE(charts[1].marks[0].across);
}

}  // namespace
}  // namespace gputopo
