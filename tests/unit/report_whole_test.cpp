// Formats for readers lose no number, and every reference has a target.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "gputopo/report.h"
#include "report/words/csv_text.h"
#include "report/words/hierarchy.h"
#include "report/words/value_text.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;

class Whole : public ::testing::TestWithParam<std::string> {
 protected:
  static Topology load() {
    if (GetParam() == "sample") return test::sample_topology();
    return read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/" + GetParam() + ".json"));
  }
};
INSTANTIATE_TEST_SUITE_P(Reports, Whole, ::testing::Values("sample", "h200", "mi300x", "gt200"),
                         [](const auto& name) { return name.param; });

// Joins wrapped lines and drops Markdown's backslashes.
std::string unwrapped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') continue;
    const char own = c == '\n' ? ' ' : c;
    if (own != ' ' || result.empty() || result.back() != ' ') result += own;
  }
  return result;
}

// The texts that a reader must find: the value, its interval, each of its details and conditions.
std::vector<std::string> phrases_of(const Attribute& attribute) {
  std::vector<std::string> phrases = {report::whole_value_text(attribute), report::interval_text(attribute)};
  for (const NamedValues* named : {&attribute.details, &attribute.conditions}) {
    for (const auto& [label, text] : report::named_texts(*named, attribute)) phrases.push_back(label + " " + text);
  }
  return phrases;
}

TEST_P(Whole, TextAndMarkdownHaveEveryNumber) {
  const Topology topology = load();
  const std::string text = unwrapped(to_terminal(topology, {}));
  const std::string markdown = unwrapped(to_markdown(topology));
  for (const report::ValueGroup& group : report::value_groups(topology)) {
    for (const auto& [id, attribute] : *group.attributes) {
      if (!attribute.available()) continue;
      for (const std::string& phrase : phrases_of(attribute)) {
        // Not with gmock, which prints the whole report for a missing phrase.
        EXPECT_NE(text.find(unwrapped(phrase)), std::string::npos) << group.id << " " << id << ": " << phrase;
        EXPECT_NE(markdown.find(unwrapped(phrase)), std::string::npos) << group.id << " " << id << ": " << phrase;
      }
    }
  }
}

TEST_P(Whole, TextHasEveryReasonToItsEnd) {
  const Topology topology = load();
  const std::string text = unwrapped(to_terminal(topology, {}));
  int reasons = 0;
  for (const report::ValueGroup& group : report::value_groups(topology)) {
    for (const auto& [id, attribute] : *group.attributes) {
      if (attribute.available() || report::needs_no_reason(attribute)) continue;
      ++reasons;
      EXPECT_NE(text.find(unwrapped(report::why_absent(attribute))), std::string::npos) << group.id << " " << id;
    }
  }
  EXPECT_GE(reasons, 1);
}

TEST_P(Whole, CsvHasEveryDetailAndCondition) {
  const Topology topology = load();
  const std::string csv = to_csv(topology);
  for (const MemoryElement& element : topology.memory) {
    const std::string lead = element.id == "device" ? "memory.device" : element.id;
    for (const auto& [id, attribute] : element.attributes) {
      for (const NamedValues* named : {&attribute.details, &attribute.conditions}) {
        for (const auto& [name, value] : *named) {
          const std::string row =
              fmt::format("\n{},{}.{},{},,,", lead, id, name, report::csv_field(report::plain_value(value)));
          EXPECT_NE(csv.find(row), std::string::npos) << row;
        }
      }
    }
  }
}

TEST_P(Whole, ASmallTerminalExplainsWhatItsCellsReferTo) {
  for (const int height : {24, 40}) {
    const std::string text = to_terminal(load(), {.width = 80, .height = height});
    const std::regex reference(R"(\[\d+\])");
    for (auto match = std::sregex_iterator(text.begin(), text.end(), reference); match != std::sregex_iterator();
         ++match) {
      EXPECT_THAT(text, HasSubstr("\n" + match->str() + " "));
    }
    // The text says what it omits and which option shows it.
    const std::string whole = to_terminal(load(), {.width = 80});
    EXPECT_TRUE(text.find("--long") != std::string::npos || text.find(" more note") == std::string::npos);
    EXPECT_EQ(whole.find("did not fit"), std::string::npos);
  }
}

// The ten questions of docs/questions.md, as far as these GPUs have answers, with room for the shell's prompt.
TEST_P(Whole, TheFirstScreenFitsAndAnswers) {
  Topology topology = load();
  topology.warnings.clear();
  const std::string text = to_terminal(topology, {.width = 80, .height = 24});
  EXPECT_LT(std::ranges::count(text, '\n'), 24) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_EQ(text.find("\nTLB reach: ") == std::string::npos, GetParam() == "sample") << "which has no TLBs";
  EXPECT_EQ(text.find("B/clk") == std::string::npos, GetParam() == "sample") << "of long names";
  EXPECT_EQ(text.find("~: 95% interval") == std::string::npos, text.find("\n~: ") == std::string::npos) << text;
}

TEST(WholeReport, TheFirstScreenOfAnH200) {
  const Topology topology = read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  const std::string text = to_terminal(topology, {.width = 80, .height = 24});
  for (const char* part : {"2 parts", "TLB reach: tlb_l1 256 MiB", "tlb_l2 64 GiB",
                           "~: constant_l1 size (1984 to 2112 B)", "281/453", "127.8", "128/32", "228 KiB a", "98%"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

// Often wanted, but once missing in every text: one SM's part of L2, the far side, both edges of a size.
TEST(WholeReport, HasWhatTheTableCannotHold) {
  const Topology topology = read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  const std::string csv = to_csv(topology);
  for (const char* row :
       {"\nl2,size.measured_bytes,61216646,,,B,detail", "\nl2,latency.far_cycles,452.68,,,cycles,detail",
        "\nl1,size.first_miss_bytes,224128,,,B,detail", "\nl1,size.all_miss_bytes,370720,,,B,detail",
        "\nl2,latency.sm_clock_mhz,1980,,,MHz,condition"}) {
    EXPECT_NE(csv.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace gputopo
