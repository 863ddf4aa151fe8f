#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "gputopo/catalogue.h"
#include "gputopo/report.h"
#include "report/words/text_table.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string at_width(int width) { return to_terminal(test::sample_topology(), {width, false, false}); }

TEST(Terminal, FitsTheWidth) {
  for (const int width : {60, 80, 100, 132, 200}) {
    std::istringstream lines(at_width(width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(static_cast<int>(line.size()), width) << line;
  }
}

TEST(Terminal, LosesNoColumnWhereItIsNarrow) {
  for (const char* word : {"192 KiB", "34.25", "17.3", "41 TB/s", "60 MiB", "900 GB/s"}) {
    EXPECT_THAT(at_width(60), HasSubstr(word));
    EXPECT_THAT(at_width(200), HasSubstr(word));
  }
}

TEST(Terminal, GivesEachReasonOnceWithWhatItExplains) {
  EXPECT_THAT(at_width(200), HasSubstr("timed out: the budget of 60 s ran out (l1 write bandwidth, miss penalty)"));
  EXPECT_THAT(at_width(200), HasSubstr("inconclusive: the samples form no clear level (constant_l1 latency)"));
  EXPECT_THAT(at_width(200), HasSubstr("not supported: not reported by the system (device driver version)"));
}

TEST(Terminal, SaysWhatMattersAroundTheTable) {
  const std::string text = at_width(120);
  EXPECT_THAT(text, HasSubstr("SIMULATED"));
  EXPECT_THAT(text, HasSubstr("Warning: the SM clock fell"));
  EXPECT_THAT(text, HasSubstr("INCOMPLETE"));
  EXPECT_THAT(text, HasSubstr("! l1 read bandwidth: over theoretical peak"));
  const std::string roomy = to_terminal(test::sample_topology(), {.width = 120, .height = 100});
  EXPECT_THAT(roomy, HasSubstr("260, far 474 ~"));
  EXPECT_THAT(roomy, HasSubstr("~: l1 read bandwidth (35 to 42 TB/s), l2 latency (240 to 280 cycles)\n"));
  EXPECT_THAT(roomy, HasSubstr("l2: measured size 60 MiB, write bandwidth"));
}

// See docs/questions.md. The tests of the command check what the simulated GPUs show there.
TEST(Terminal, AnswersWhatIsAskedFirst) {
  Topology topology = test::sample_topology();
  topology.complete = true;
  topology.warnings.clear();
  Attribute reach = api_value(268435456.0, "B");
  reach.low = 268435456.0;
  reach.high = 285212672.0;
  topology.memory.push_back({"tlb_l1", "First-level TLB", {{"reach", reach}}});
  topology.memory.push_back({"tlb_l2", "Second-level TLB", {{"reach", unavailable(Reason::kInconclusive, "no step")}}});
  get_or_add(topology.memory[2].attributes, AttributeId::kAmount) = unavailable(Reason::kNotApplicable, "one of all");
  const std::string text = to_terminal(topology, {80, false, false, 24});
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 24) << text;
  EXPECT_THAT(text, HasSubstr("TLB reach: tlb_l1 256 MiB (256 to 272 MiB)\n"));
  EXPECT_THAT(text, HasSubstr("l2 latency (240 to 280 cycles)"));
  EXPECT_THAT(text, HasSubstr("2 parts"));
  topology.memory[3].attributes[0].second = unavailable(Reason::kNotSupported, "too many entries");
  EXPECT_THAT(to_terminal(topology, {80, false, false, 24}),
              HasSubstr("TLB reach: none found; 'gputopo get tlb_l1.reach' says why\n"));
}

// These are dropped, in this order: empty lines, the line below the headings, the full text of each reason.
TEST(Terminal, GivesUpWhatHelpsTheEyeFirst) {
  Topology topology = test::sample_topology();
  topology.complete = true;
  topology.warnings.clear();
  std::string detail = "arrays hold at most 64 KiB, and all of that fits into what is there";
  get_or_add(topology.memory[1].attributes, AttributeId::kLatency) = unavailable(Reason::kNotSupported, detail);
  const auto at_height = [&](int height) { return to_terminal(topology, {80, false, false, height}); };
  EXPECT_THAT(at_height(24), HasSubstr("\n\nUnavailable:\n"));
  EXPECT_THAT(at_height(24), HasSubstr("------- "));
  EXPECT_THAT(at_height(16), Not(HasSubstr("\n\nUnavailable:\n")));
  const std::string small = at_height(12);
  EXPECT_THAT(small, Not(HasSubstr("------- ")));
  EXPECT_THAT(small, HasSubstr(" .. (constant_l1 latency)\n"));
  EXPECT_THAT(small, HasSubstr("\n[1] not supported: arrays hold"));
}

// The table and the warnings stay on any screen.
TEST(Terminal, FitsTheScreenAsFarAsItCan) {
  Topology topology = test::sample_topology();
  for (int i = 0; i < 60; ++i) {
    MemoryElement element{"tlb_" + std::to_string(i), "TLB", {{"reach", api_value(4096.0, "B")}}};
    topology.memory.push_back(element);
  }
  const auto lines = [&](int height) {
    const std::string text = to_terminal(topology, {80, false, false, height});
    EXPECT_THAT(text, HasSubstr("192 KiB"));
    EXPECT_THAT(text, HasSubstr("Warning: the SM clock fell"));
    EXPECT_THAT(text, HasSubstr("INCOMPLETE"));
    EXPECT_THAT(text, HasSubstr("did not fit"));
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_LT(lines(40), 40);
  EXPECT_LT(lines(30), 30);
  EXPECT_THAT(to_terminal(topology, {80, false, false, 200}), HasSubstr("tlb_59"));
}

TEST(Terminal, AnElementOfWhichNothingIsKnownIsOneNote) {
  Topology topology = test::sample_topology();
  for (auto& [id, attribute] : topology.memory[1].attributes) attribute = unavailable(Reason::kNotPresent, "no level");
  const std::string text = at_width(80);
  EXPECT_THAT(text, HasSubstr("constant_l1 "));
  EXPECT_THAT(to_terminal(topology, {}), HasSubstr("not present: no level (constant_l1)"));
}

TEST(Terminal, EveryFormatSaysTheWarnings) {
  Topology topology = test::sample_topology();
  topology.warnings = {"the clock fell"};
  for (const std::string& text : {to_terminal(topology, {200}), to_tree(topology, {200}), to_markdown(topology),
                                  to_html(topology), to_svg(topology), to_csv(topology)}) {
    EXPECT_THAT(text, HasSubstr("the clock fell"));
  }
}

TEST(Terminal, BoxesFitNarrowTerminals) {
  for (const char* name : {"h200", "mi300x", "gt200"}) {
    const Topology topology = read_json(read_file(std::string(GPUTOPO_SOURCE_DIR "/tests/reports/") + name + ".json"));
    for (const int width : {40, 48, 60, 80}) {
      std::istringstream lines(to_tree(topology, {width, false, false}));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << name << ": " << line;
      }
    }
  }
}

TEST(Terminal, ReasonsTakeTwoLinesAtMost) {
  Topology topology = test::sample_topology();
  std::string detail;
  for (int i = 0; i < 40; ++i) detail += "the words of a driver ";
  get_or_add(topology.memory[0].attributes, "miss_penalty") = unavailable(Reason::kDeviceError, detail);
  const std::string text = to_terminal(topology, {80, false, false, 100});
  const std::size_t at = text.find("device error: the words");
  ASSERT_NE(at, std::string::npos);
  const std::size_t end = text.find("(l1 miss penalty)", at);
  ASSERT_NE(end, std::string::npos);
  EXPECT_LE(
      std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'),
      1);
}

TEST(Terminal, AShortenedReasonKeepsWhatToDo) {
  Topology topology = test::sample_topology();
  std::string detail;
  for (int i = 0; i < 40; ++i) detail += "the words of a driver ";
  get_or_add(topology.memory[0].attributes, "miss_penalty") =
      unavailable(Reason::kDeviceError, detail + "end; install another driver");
  const std::string text = to_terminal(topology, {80, false, false, 100});
  const std::size_t at = text.find("device error: the words");
  ASSERT_NE(at, std::string::npos);
  std::string note = text.substr(at, text.find("(l1 miss penalty)", at) - at);
  EXPECT_LE(std::count(note.begin(), note.end(), '\n'), 1);
  note.erase(std::unique(note.begin(), note.end(), [](char a, char b) { return std::isspace(a) && std::isspace(b); }),
             note.end());
  std::replace(note.begin(), note.end(), '\n', ' ');
  EXPECT_THAT(note, HasSubstr(" ..; install another driver"));
}

TEST(Terminal, SpeaksOfTlbsOnlyWhereThereAreSome) {
  Topology topology = test::sample_topology();
  Attribute& latency = get_or_add(topology.memory[2].attributes, "latency");
  latency.add_detail("tlb_cold_cycles", 900.0);
  const auto has_phrase = [&] {
    return to_terminal(topology, {120, false, false, 100}).find("when the TLB misses") != std::string::npos;
  };
  EXPECT_TRUE(has_phrase());
  MemoryElement tlb{"tlb_l1", "First-level TLB", {}};
  tlb.attributes.emplace_back("reach", unavailable(Reason::kNotPresent, "no level shows"));
  topology.memory.push_back(tlb);
  EXPECT_FALSE(has_phrase());
}

// A cache that several SMs share is not part of one SM.
TEST(Terminal, BoxesOfSharedCachesStandOutsideOfTheSm) {
  const std::string text = to_tree(read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json")), {});
  const std::size_t sm = text.find("132 x SM, each with");
  ASSERT_NE(sm, std::string::npos);
  EXPECT_LT(text.find("one per 2 SMs"), sm);
  EXPECT_LT(text.find("one per 16 to 18 SMs"), sm);
  EXPECT_GT(text.find("Shared memory:"), sm);
  // One cache for constants and code, drawn once.
  EXPECT_THAT(text, HasSubstr("Constant L1.5 cache = L2 instruction cache"));
}

TEST(Terminal, DoesNotCallARealDeviceSimulated) {
  Topology topology = test::sample_topology();
  topology.simulated = false;
  topology.complete = true;
  const std::string text = to_terminal(topology, {});
  EXPECT_THAT(text, Not(HasSubstr("SIMULATED")));
  EXPECT_THAT(text, Not(HasSubstr("INCOMPLETE")));
}

TEST(Terminal, LeavesOutElementsThatNobodyAskedFor) {
  Topology topology = test::sample_topology();
  topology.memory[2].attributes = {{"size", unavailable(Reason::kNotSelected, "left out")},
                                   {"amount", unavailable(Reason::kNotApplicable, "")}};
  EXPECT_THAT(to_terminal(topology, {}), Not(HasSubstr("L2 cache")));
}

TEST(Terminal, ColoursOnlyWhenAsked) {
  EXPECT_THAT(at_width(100), Not(HasSubstr("\033")));
  EXPECT_THAT(to_terminal(test::sample_topology(), {100, true, true}), HasSubstr("\033[1m"));
}

TEST(TextTable, CountsCodePointsNotBytes) { EXPECT_EQ(report::display_width("\u2500\u2500x"), 3U); }

TEST(TextTable, WrapsUnderItsLead) {
  EXPECT_EQ(report::wrap("[1] ", "one two three four five six", 24), "[1] one two three four\n    five six\n");
}

TEST(CoverageTable, HasEveryElementAndAttribute) {
  const std::string text = coverage_table();
  for (const ElementInfo& element : element_catalogue()) EXPECT_THAT(text, HasSubstr(std::string(element.name)));
  for (const std::string& name : element_attribute_names()) EXPECT_THAT(text, HasSubstr("\n" + name + " "));
  for (const Vendor vendor : kAllVendors) EXPECT_THAT(text, HasSubstr(std::string(to_string(vendor)) + " "));
  EXPECT_THAT(text, HasSubstr("api+measured"));
}

}  // namespace
}  // namespace gputopo
