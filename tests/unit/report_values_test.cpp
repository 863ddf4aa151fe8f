// The text of values: far parts, bounds, intervals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "gputopo/report.h"
#include "report/drawing/chip.h"
#include "report/terminal/coverage.h"
#include "report/words/one_cache.h"
#include "report/words/units.h"
#include "report/words/value_text.h"
#include "support/sample_topology.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::saved_report;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Attribute measured_value(double value, std::string unit, double low, double high) {
  Attribute attribute;
  attribute.value = value;
  attribute.unit = std::move(unit);
  attribute.low = low;
  attribute.high = high;
  attribute.source = Source::kMeasured;
  return attribute;
}

TEST(Values, TheFarPartStandsBesideTheNearOne) {
  const Topology topology = saved_report("h200");
  EXPECT_THAT(to_terminal(topology, {.width = 80, .height = 40}), HasSubstr(" 281/453 "));
  EXPECT_THAT(to_terminal(topology, {.width = 80, .height = 40}), HasSubstr("near/far"));
  EXPECT_THAT(to_html(topology), HasSubstr(">281.2, far 452.7<"));
  EXPECT_THAT(to_markdown(topology), HasSubstr("| 281.2, far 452.7 | 142, far 229 |"));
  for (const std::string& drawn : {to_svg(topology), to_tree(topology, {})}) {
    EXPECT_THAT(drawn, HasSubstr("281.2 cycles near, 452.7 far"));
  }
}

// The value of memory covers all lines, regardless of their distance.
TEST(Values, AMeanOfBothPartsIsNoNearPart) {
  const Topology topology = saved_report("h200");
  const Attribute* latency = topology.find_attribute("device", "latency");
  ASSERT_NE(latency->find_detail("far_cycles"), nullptr);
  EXPECT_EQ(report::latency_text(*latency), "683.7 cycles");
}

TEST(Values, ACountThatMayBeMoreIsABound) {
  EXPECT_EQ(report::value_text(measured_value(193, "", 193, 414)), "at least 193");
  EXPECT_EQ(report::value_text(measured_value(193, "", 190, 414)), "193");
  EXPECT_EQ(report::value_text(measured_value(16, "", 16, 17)), "16");
  EXPECT_EQ(report::value_text(measured_value(2048, "B", 2048, 8192)), "2 KiB");
  Topology topology = test::sample_topology();
  get_or_add(topology.memory[2].attributes, "slices") = measured_value(193, "", 193, 414);
  for (const std::string& text : {to_terminal(topology, {.width = 100, .height = 100}), to_terminal(topology, {}),
                                  to_markdown(topology), to_html(topology)}) {
    EXPECT_THAT(text, HasSubstr("at least 193"));
  }
}

// -4% and +39% are not the same.
TEST(Values, WhatIsMarkedAsWideHasItsInterval) {
  Topology topology = test::sample_topology();
  get_or_add(topology.memory[1].attributes, "size") = measured_value(128512, "B", 122860, 178944);
  const std::string text = to_terminal(topology, {.width = 100, .height = 100});
  EXPECT_THAT(text, HasSubstr("125.5 KiB~"));
  EXPECT_THAT(text, HasSubstr("size (120 to 174.8 KiB)"));
  get_or_add(topology.memory[1].attributes, "size") = measured_value(128512, "B", 128000, 129000);
  EXPECT_THAT(to_terminal(topology, {.width = 100, .height = 100}), Not(HasSubstr("size (")));
}

// The instruction cache says that constants share it; the constant cache says nothing.
TEST(Values, RowsOfOneCacheHaveOneLetterWhicheverSaysSo) {
  const Topology topology = saved_report("h200");
  std::istringstream lines(to_terminal(topology, {.width = 80, .height = 40}));
  std::map<std::string, std::string> letters;
  for (std::string line; std::getline(lines, line);)
    letters.try_emplace(line.substr(0, line.find(' ')), line.substr(line.rfind(' ') + 1));
  EXPECT_EQ(letters["l1"], letters["texture"]);
  EXPECT_EQ(letters["constant_l15"], letters["icache_l2"]);
  EXPECT_EQ(letters["constant_l15"].size(), 1U);
  EXPECT_NE(letters["l1"], letters["constant_l15"]);
  EXPECT_EQ(letters["constant_l1"], "-");
  EXPECT_EQ(letters["cluster"], "n/a");
  EXPECT_THAT(report::partners_of(topology, *topology.find_memory("constant_l15")), ElementsAre("icache_l2"));
  EXPECT_THAT(report::partners_of(topology, *topology.find_memory("icache_l2")), ElementsAre("constant_l15"));
}

// Otherwise four of ten rows would be values that the element cannot have.
TEST(Values, CsvHasEveryReasonButThatThereCannotBeOne) {
  Topology topology = test::sample_topology();
  topology.memory.resize(1);
  topology.memory[0].attributes = {{"size", unavailable(Reason::kDisturbed, "")},
                                   {"ways", unavailable(Reason::kNotApplicable, "")}};
  const std::string csv = to_csv(topology);
  EXPECT_THAT(csv, HasSubstr(",size,,,,,unavailable:disturbed\r\n"));
  EXPECT_THAT(csv, Not(HasSubstr("not_applicable")));
}

TEST(Values, WhatIsInferredIsNotExact) {
  Attribute attribute = measured_value(8, "", 8, 8);
  EXPECT_EQ(report::interval_text(attribute), "(exact)");
  attribute.source = Source::kInferred;
  EXPECT_EQ(report::interval_text(attribute), "");
}

// The same rounding as in JavaScript: web/test/browser.mjs.
TEST(Values, HalvesAreRoundedUp) {
  EXPECT_EQ(report::significant(284.45, 4), "284.5");
  EXPECT_EQ(report::significant(1.005, 3), "1.01");
  EXPECT_EQ(report::significant(-284.45, 4), "-284.5");
  EXPECT_EQ(report::significant(284.44, 4), "284.4");
  EXPECT_EQ(report::significant(0.1 + 0.2, 4), "0.3");
}

TEST(Values, BothClocksAreNamed) {
  const std::string text = to_terminal(saved_report("h200"), {.width = 200});
  EXPECT_THAT(text, HasSubstr("at most 1980 MHz, 1980 MHz while measuring"));
}

TEST(Values, WordsAreThoseOfPeople) {
  EXPECT_EQ(report::readable("near_sms"), "near SMs");
  EXPECT_EQ(report::readable("miss_penalty"), "miss penalty");
  EXPECT_EQ(report::readable("loads_past_l1_after_stores"), "loads past L1 after stores");
  EXPECT_EQ(report::readable("a__b_"), "a  b ");
  const auto reason = [](const char* detail) { return report::why_absent(unavailable(Reason::kNotPresent, detail)); };
  EXPECT_EQ(reason("over 97182023680 B of memory"), "not present: over 90.51 GiB of memory");
  EXPECT_EQ(reason("at most 65536 B"), "not present: at most 64 KiB");
  EXPECT_EQ(reason("128 B, 4096 Bytes, 65536 B/s, x1"), "not present: 128 B, 4096 Bytes, 65536 B/s, x1");
}

TEST(Values, CoverageFitsATerminal) {
  std::istringstream lines(report::coverage_table(80));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_GE(count, 50);
}

}  // namespace
}  // namespace gputopo
