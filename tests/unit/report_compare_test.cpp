#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/compare/compare.h"
#include "report/compare/spread.h"
#include "support/sample_topology.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::sample_topology;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Attribute& of(Topology& topology, std::size_t element, std::string_view attribute) {
  return get_or_add(topology.memory[element].attributes, attribute);
}

// The sample with one value and its interval multiplied by `factor`.
Topology scaled(std::size_t element, std::string_view attribute, double factor) {
  Topology topology = sample_topology();
  Attribute& value = of(topology, element, attribute);
  value.value = *value.number() * factor;
  if (value.low) value.low = *value.low * factor;
  if (value.high) value.high = *value.high * factor;
  return topology;
}

std::vector<std::string> violations(const Topology& report, const std::vector<std::string>& tolerances = {}) {
  std::vector<std::string> texts;
  for (const auto& violation : check(report, sample_topology(), parse_tolerances(tolerances)).violations) {
    texts.push_back(violation.element + "." + violation.attribute);
  }
  return texts;
}

TEST(Compare, AReportIsLikeItself) {
  const Topology topology = sample_topology();
  EXPECT_THAT(report::compare(topology, topology).differences, IsEmpty());
}

TEST(Compare, IntervalsThatMeetAreAlike) {
  const Topology topology = sample_topology();
  EXPECT_THAT(report::compare(topology, scaled(2, "latency", 1.1)).differences, IsEmpty());  // 240-280 and 264-308
  const auto differences = report::compare(topology, scaled(2, "latency", 1.5)).differences;
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(report::relative_text(differences[0]), "+50%");
}

TEST(Compare, TheCatalogueSaysWhichWayIsBetter) {
  const Topology topology = sample_topology();
  const auto change = [&](std::string_view attribute, double factor) {
    return report::change_text(report::compare(topology, scaled(2, attribute, factor)).differences.at(0));
  };
  EXPECT_EQ(change("latency", 1.5), "+50%, worse");
  EXPECT_EQ(change("latency", 0.5), "-50%, better");
  EXPECT_EQ(change("read_bandwidth", 1.5), "+50%, better");
  EXPECT_EQ(change("read_bandwidth", 0.5), "-50%, worse");
  EXPECT_EQ(change("size", 2), "+100%");
}

TEST(Diff, SumsUpInASentence) {
  const std::vector<NamedReport> reports = {{"/x/a.json", sample_topology()}, {"/x/b.json", scaled(2, "latency", 1.5)}};
  EXPECT_THAT(diff_to_terminal(reports, {200, false, false}),
              HasSubstr("1 of 19 common values differ, 0 better, 1 worse, worst: L2 cache latency (+50%)"));
  EXPECT_THAT(diff_to_html(reports), HasSubstr(">a and b</h2>"));
}

TEST(Diff, ManyReportsHaveATableWithTheirSpread) {
  const std::vector<NamedReport> reports = {{"/x/a.json", sample_topology()},
                                            {"/x/b.json", scaled(2, "latency", 1.5)},
                                            {"/x/c.json", scaled(2, "latency", 2)}};
  const std::vector<report::SpreadRow> rows =
      report::spread_of(reports, {report::compare(reports[0].topology, reports[1].topology),
                                  report::compare(reports[0].topology, reports[2].topology)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].attribute, "latency");
  EXPECT_DOUBLE_EQ(rows[0].spread, 1);
  EXPECT_THAT(diff_to_terminal(reports, {}), HasSubstr("L2 cache latency    100%  260 cycles  390 cycles  520 cycles"));
  EXPECT_THAT(diff_to_html(reports), HasSubstr("All 3 reports"));
}

TEST(Diff, ShortNamesAreUnique) {
  EXPECT_THAT(report::short_names({{"/x/a.json", {}}, {"b", {}}, {"/y/.json", {}}}), ElementsAre("a", "b", ".json"));
  EXPECT_THAT(report::short_names({{"x/a.json", {}}, {"y/a.json", {}}}), ElementsAre("x/a.json", "y/a.json"));
}

TEST(Compare, TheLargestDifferenceComesFirstByElement) {
  Topology second = scaled(2, "write_bandwidth", 0.5);
  of(second, 0, "latency") = of(second, 0, "latency");
  of(second, 2, "latency").value = 1000.0;
  of(second, 2, "latency").low = of(second, 2, "latency").high = 1000.0;
  of(second, 0, "line_size").value = std::int64_t{64};
  of(second, 0, "line_size").low = of(second, 0, "line_size").high = 64;
  const Topology first = sample_topology();
  std::vector<std::string> order;
  for (const auto& difference : report::compare(first, second).differences) {
    order.push_back(difference.group + "." + difference.attribute);
  }
  EXPECT_THAT(order, ElementsAre("l2.latency", "l2.write_bandwidth", "l1.line_size"));
}

TEST(Compare, SaysWhatMisleads) {
  Topology second = sample_topology();
  second.simulated = false;
  second.name = "NVIDIA H100";
  const Topology first = sample_topology();
  const auto notes = report::compare(first, second).all_notes();
  EXPECT_THAT(notes, testing::Contains(HasSubstr("SIMULATED")));
  EXPECT_THAT(notes, testing::Contains(HasSubstr("NVIDIA H100")));
}

TEST(Compare, WhatOneReportLeftOutIsNotCompared) {
  Topology second = sample_topology();
  of(second, 0, "size") = unavailable(Reason::kNotSelected, "left out");
  const Topology first = sample_topology();
  EXPECT_THAT(report::compare(first, second).differences, IsEmpty());
}

TEST(Check, PassesWithinTheTolerance) {
  EXPECT_THAT(violations(sample_topology()), IsEmpty());
  EXPECT_THAT(violations(scaled(0, "latency", 1.04)), IsEmpty());
}

TEST(Check, NamesWhatIsWorse) {
  EXPECT_THAT(violations(scaled(0, "latency", 1.2)), ElementsAre("l1.latency"));
  EXPECT_THAT(violations(scaled(0, "latency", 1.2), {"LATENCY=25%"}), IsEmpty());
  EXPECT_THAT(violations(scaled(0, "latency", 1.2), {"latency=25%"}), IsEmpty());
  EXPECT_THAT(violations(scaled(2, "write_bandwidth", 0.8)), ElementsAre("l2.write_bandwidth"));
}

TEST(QuickCheck, AsksForWhatTheBaselineMeasured) {
  Topology baseline = sample_topology();
  baseline.memory.clear();
  for (const char* id : {"l1", "texture", "l2", "device", "of_a_later_version"})
    baseline.memory.push_back({id, "", {}});
  for (MemoryElement& element : baseline.memory) {
    for (const char* name : {"size", "latency", "read_bandwidth", "write_bandwidth", "ways"}) {
      Attribute& attribute = get_or_add(element.attributes, name);
      attribute.value = std::int64_t{1};
      attribute.source = Source::kMeasured;
    }
  }
  get_or_add(baseline.memory[2].attributes, "read_bandwidth") = unavailable(Reason::kInconclusive, "");
  EXPECT_THAT(quick_check_cells(baseline),
              testing::UnorderedElementsAre("l1.latency", "l1.read_bandwidth", "texture.latency", "l2.size",
                                            "l2.latency", "l2.write_bandwidth", "device.latency",
                                            "device.read_bandwidth", "device.write_bandwidth"));
  baseline.memory.clear();
  EXPECT_THROW((void)quick_check_cells(baseline), FormatError);
}

TEST(Check, BetterIsNoFault) {
  EXPECT_THAT(violations(scaled(0, "latency", 0.5)), IsEmpty());
  EXPECT_THAT(violations(scaled(2, "write_bandwidth", 1.5)), IsEmpty());
}

// The catalog says which direction is better and what class an attribute has. For names that it lacks, the unit does.
TEST(Check, AnAttributeOfALaterVersionIsJudgedByItsUnit) {
  const auto with = [](const std::string& name, double value, const std::string& unit) {
    Topology topology = sample_topology();
    Attribute attribute = api_value(value, unit);
    get_or_add(topology.memory[0].attributes, name) = attribute;
    return topology;
  };
  const auto violates = [&](const std::string& name, const std::string& unit, double first, double second) {
    return !check(with(name, second, unit), with(name, first, unit), default_tolerances()).violations.empty();
  };
  for (const auto& [name, unit] : {std::pair("latency_of_dreams", "cycles"), std::pair("loaded_latency", "cycles")}) {
    EXPECT_TRUE(violates(name, unit, 100, 110)) << name;
    EXPECT_FALSE(violates(name, unit, 100, 104)) << name;
    EXPECT_FALSE(violates(name, unit, 100, 50)) << name;
  }
  for (const auto& [name, unit] : {std::pair("dream_bandwidth", "B/s"), std::pair("read_bandwidth", "B/s"),
                                   std::pair("atomic_throughput", "ops/clk/SM")}) {
    EXPECT_TRUE(violates(name, unit, 100, 90)) << name;
    EXPECT_FALSE(violates(name, unit, 100, 96)) << name;
    EXPECT_FALSE(violates(name, unit, 100, 200)) << name;
  }
  // A different capacity or count is a fault either way; counts have no tolerance.
  for (const auto& [name, unit] : {std::pair("dream_size", "B"), std::pair("reach", "B")}) {
    EXPECT_TRUE(violates(name, unit, 100, 110)) << name;
    EXPECT_TRUE(violates(name, unit, 100, 90)) << name;
    EXPECT_FALSE(violates(name, unit, 100, 104)) << name;
  }
  EXPECT_TRUE(violates("dreams", "", 100, 101));
  EXPECT_TRUE(violates("ways", "", 100, 101));
}

TEST(Check, ATolerancePathCountsForOneValueOnly) {
  const Topology report = scaled(2, "latency", 1.5);
  const std::string element = report.memory[2].id;
  EXPECT_EQ(violations(report).size(), 1u);
  EXPECT_THAT(violations(report, {element + ".latency=60%"}), IsEmpty());
  EXPECT_EQ(violations(report, {report.memory[0].id + ".latency=60%"}).size(), 1u);
  EXPECT_EQ(violations(report, {"latency=60%", element + ".latency=1%"}).size(), 1u)
      << "the path precedes the attribute";
  for (const char* wrong : {"dream.latency=1%", "l2.dream=1%", "l2.=1%", ".latency=1%"}) {
    EXPECT_THROW(static_cast<void>(parse_tolerances({wrong})), UsageError) << wrong;
  }
  for (const char* right : {"device.pcie_width=0%", "gpu3.l2.latency=1%", "link.gpu0-gpu1.copy_bandwidth=1%"}) {
    EXPECT_NO_THROW(static_cast<void>(parse_tolerances({right}))) << right;
  }
}

TEST(Check, RatesAndClocksHaveTheToleranceOfBandwidths) {
  const auto report_with = [](const std::string& name, const std::string& unit, double value) {
    Topology topology = sample_topology();
    get_or_add(topology.memory[0].attributes, name) = api_value(value, unit);
    return topology;
  };
  for (const auto& [name, unit] : {std::pair("f32", "FLOP/s"), std::pair("sm_clock", "MHz")}) {
    const auto outcome = [&](double value) {
      return check(report_with(name, unit, value), report_with(name, unit, 100), default_tolerances()).outcome();
    };
    EXPECT_EQ(outcome(98), Outcome::kGood) << name;
    EXPECT_EQ(outcome(90), Outcome::kBad) << name;
  }
}

TEST(Check, AMissingResultIsNeitherGoodNorBad) {
  for (const Reason reason : {Reason::kNotSupported, Reason::kInconclusive, Reason::kTimedOut, Reason::kInterrupted,
                              Reason::kDeviceError, Reason::kDependency, Reason::kDisturbed}) {
    Topology report = sample_topology();
    of(report, 0, "size") = unavailable(reason, "x");
    const CheckResult result = check(report, sample_topology(), default_tolerances());
    EXPECT_THAT(result.violations, IsEmpty());
    ASSERT_EQ(result.not_judged.size(), 1u) << to_string(reason);
    EXPECT_EQ(result.not_judged[0].element + "." + result.not_judged[0].attribute, "l1.size");
    EXPECT_EQ(result.outcome(), Outcome::kNotJudged);
  }
  Topology report = sample_topology();
  std::erase_if(report.memory[0].attributes, [](const auto& named) { return named.first == "size"; });
  EXPECT_EQ(check(report, sample_topology(), default_tolerances()).outcome(), Outcome::kNotJudged);
  report.memory.erase(report.memory.begin());
  EXPECT_EQ(check(report, sample_topology(), default_tolerances()).outcome(), Outcome::kNotJudged);
}

TEST(Check, WhatTheGpuLacksIsBad) {
  for (const Reason reason : {Reason::kNotPresent, Reason::kNotApplicable}) {
    Topology report = sample_topology();
    of(report, 0, "size") = unavailable(reason, "the GPU has none");
    EXPECT_THAT(violations(report), ElementsAre("l1.size"));
  }
}

// A violation is bad, whatever else is unknown.
TEST(Check, BadOutweighsNotJudged) {
  Topology report = scaled(0, "latency", 1.2);
  EXPECT_EQ(check(sample_topology(), sample_topology(), default_tolerances()).outcome(), Outcome::kGood);
  of(report, 0, "size") = unavailable(Reason::kTimedOut, "x");
  EXPECT_EQ(check(report, sample_topology(), default_tolerances()).outcome(), Outcome::kBad);
}

TEST(Check, AnotherDeviceOrASimulatedOneIsNoBaseline) {
  Topology report = scaled(0, "latency", 2);
  report.name = "NVIDIA H100";
  EXPECT_EQ(check(report, sample_topology(), default_tolerances()).outcome(), Outcome::kNotJudged);
  report = sample_topology();
  report.simulated = false;
  EXPECT_EQ(check(report, sample_topology(), default_tolerances()).outcome(), Outcome::kNotJudged);
}

TEST(Check, TolerancesAreParsedOrRefused) {
  EXPECT_DOUBLE_EQ(parse_tolerances({"BANDWIDTH=3%"}).at("BANDWIDTH"), 0.03);
  for (const char* wrong :
       {"LATENCY", "LATENCY=5", "LATENCY=%", "LATENCY=-1%", "WEIGHT=5%", "LATENCY=x%", "LATENCY=nan%"}) {
    EXPECT_THROW((void)parse_tolerances({wrong}), UsageError) << wrong;
  }
}

// promtool's rules for the text format: HELP and TYPE precede the samples of a metric, which are consecutive; names and
// labels use their alphabets; base units; no duplicate series; a number ends each line, and a newline ends the text.
void expect_prometheus(const std::string& text) {
  ASSERT_FALSE(text.empty());
  EXPECT_EQ(text.back(), '\n');
  std::istringstream lines(text);
  std::string current;
  bool has_type = false;
  std::vector<std::string> seen;
  std::vector<std::string> series;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# HELP ", 0) == 0) {
      current = line.substr(7, line.find(' ', 7) - 7);
      has_type = false;
      EXPECT_THAT(seen, testing::Not(testing::Contains(current)));
      EXPECT_THAT(line, testing::MatchesRegex("# HELP gputopo_[a-z0-9_]+ [A-Z0-9].*\\."));
      EXPECT_THAT(
          current,
          testing::Not(testing::MatchesRegex(".*_(total|count|sum|bucket|milliseconds|ns|kilobytes|mhz|megahertz)")));
      seen.push_back(current);
    } else if (line.rfind("# TYPE ", 0) == 0) {
      EXPECT_EQ(line, "# TYPE " + current + " gauge");
      has_type = true;
    } else if (line.rfind("# ", 0) == 0) {
      EXPECT_THAT(line, testing::MatchesRegex("# (note|violation|not judged): .*"));
    } else {
      EXPECT_TRUE(has_type) << line;
      EXPECT_THAT(line, testing::MatchesRegex(
                            "[a-zA-Z_:][a-zA-Z0-9_:]*(\\{([a-z_]+=\"([^\"\\\\]|\\\\.)*\",?)*\\})? [0-9.e+-]+"));
      EXPECT_THAT(line, testing::AnyOf(StartsWith(current + "{"), StartsWith(current + " ")));
      const std::string name = line.substr(0, line.rfind(' '));
      EXPECT_THAT(series, testing::Not(testing::Contains(name)));
      series.push_back(name);
    }
  }
  EXPECT_THAT(seen, testing::Contains("gputopo_check_ok"));
}

TEST(Check, PrometheusTextIsWellFormed) {
  Topology report = scaled(0, "latency", 2);
  report.pci_address = "a \"b\" \\ c\nd";
  const CheckResult result = check(report, sample_topology(), default_tolerances());
  const std::string text = check_to_prometheus(result, report);
  expect_prometheus(text);
  EXPECT_THAT(text, HasSubstr("# violation: l1 latency"));
  EXPECT_THAT(text, HasSubstr("\ngputopo_latency_cycles{"));
  for (const char* name : {"h200", "mi300x", "gt200"}) {
    const Topology saved = test::saved_report(name);
    expect_prometheus(check_to_prometheus(check(saved, saved, default_tolerances()), saved));
  }
}

// Every format says it, but it is no reason to fail.
TEST(Check, SaysWhatMayMislead) {
  const Topology baseline = sample_topology();
  const CheckResult result = check(sample_topology(), baseline, default_tolerances());
  EXPECT_THAT(result.violations, IsEmpty());
  for (const auto& render : {check_to_text, check_to_json, check_to_prometheus}) {
    const std::string text = render(result, sample_topology());
    EXPECT_THAT(text, HasSubstr("SIMULATED"));
  }
  EXPECT_THAT(check_to_prometheus(result, sample_topology()), HasSubstr("gputopo_check_notes{"));
  const std::vector<NamedReport> reports = {{"a.json", baseline}, {"b.json", sample_topology()}};
  for (const std::string& text : {diff_to_terminal(reports, {200}), diff_to_json(reports), diff_to_html(reports)}) {
    EXPECT_THAT(text, HasSubstr("SIMULATED"));
  }
}

TEST(Check, SaysThatTheDriverIsAnotherAndCountsItForNothing) {
  Topology baseline = sample_topology();
  get_or_add(baseline.device, "driver_version") = api_value(std::string("550.1"), "");
  Topology report = baseline;
  const auto metrics = [](const std::string& text) { return text.substr(text.find("# HELP")); };
  const std::string before = check_to_prometheus(check(report, baseline, default_tolerances()), report);
  get_or_add(report.device, "driver_version") = api_value(std::string("570.2"), "");
  const CheckResult result = check(report, baseline, default_tolerances());
  EXPECT_THAT(result.violations, IsEmpty());
  const std::string note = "driver version: 550.1 in the baseline, 570.2 in the report";
  for (const auto& render : {check_to_text, check_to_json, check_to_prometheus}) {
    EXPECT_THAT(render(result, report), HasSubstr(note));
  }
  EXPECT_EQ(metrics(check_to_prometheus(result, report)), metrics(before));
}

TEST(Check, WhatCannotBeReadIsNotOk) {
  const std::string text = check_failure_to_prometheus("cannot read\n'r.json'");
  expect_prometheus(text);
  EXPECT_THAT(text, HasSubstr("\ngputopo_check_ok 0\n"));
}

// Differences come first, and the table links to them.
TEST(Diff, ThePageBeginsWithWhatDiffers) {
  const Topology h200 = test::saved_report("h200");
  Topology slower = h200;
  for (MemoryElement& element : slower.memory) {
    if (element.id != "device") continue;
    Attribute& latency = get_or_add(element.attributes, "latency");
    latency.value = 2 * *latency.number();
    latency.low = latency.high = latency.number();
  }
  const std::string page = diff_to_html({{"a.json", h200}, {"b.json", slower}});
  const std::size_t pairs = page.find("id=\"h-pairs\"");
  const std::size_t first = page.find("<h3>", pairs);
  ASSERT_NE(first, std::string::npos);
  EXPECT_THAT(page.substr(first, 200), HasSubstr(": latency <span class=\"flag\">differs</span></h3>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#pair-0\">latency</a>"));
}

}  // namespace
}  // namespace gputopo
