// Every text of a report comes from a file, a driver or a machine. No program that shows the report may obey one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>

#include "file/sanitize.h"
#include "file/shown.h"
#include "gputopo/report.h"
#include "report/compare/prometheus_text.h"
#include "report/words/csv_text.h"
#include "support/prometheus_check.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Texts that the readers of the formats obey: a terminal, a spreadsheet, Prometheus, HTML, SVG, Markdown.
const std::string kHostile =
    "=cmd|'/C calc'!A1 \x1b]0;title\x07\x1b[31m\rover\u202egnp\u2069 \u0085\u009b31m \n\nFORGED line\r\n"
    "gputopo_forged 1\n# forged </script><script>alert(1)</script><img src=x onerror=alert(1)> "
    "\"quoted\\ 'x' &amp; | a | `code` [link](javascript:x) ]]> \x7f -->";

void make_hostile(std::string& text) { text += kHostile; }

void make_hostile(AttributeMap& attributes) {
  for (auto& [id, attribute] : attributes) {
    make_hostile(attribute.detail);
    make_hostile(attribute.method);
    attribute.flags.push_back(kHostile);
    attribute.add_detail(kHostile, kHostile);
    attribute.add_condition("note", kHostile);
    if (auto* text = std::get_if<std::string>(&attribute.value)) *text = kHostile;
    if (auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) texts->push_back(kHostile);
    for (SampleTable& table : attribute.samples) {
      for (Column& column : table.columns) make_hostile(column.quantity);
      table.marks.push_back(kHostile);
    }
  }
  attributes.emplace_back(kHostile, api_value(1.5, kHostile));
  attributes.emplace_back("-1+1", api_value(kHostile, ""));
  attributes.emplace_back("below", api_value(-0.5, ""));
}

Topology hostile_topology() {
  Topology topology = test::sample_topology();
  topology.name = kHostile;
  for (std::string* text : {&topology.generator, &topology.timestamp, &topology.architecture, &topology.pci_address}) {
    make_hostile(*text);
  }
  make_hostile(topology.device);
  make_hostile(topology.compute);
  for (MemoryElement& element : topology.memory) {
    make_hostile(element.title);
    make_hostile(element.attributes);
  }
  MemoryElement stranger{.id = kHostile, .title = kHostile, .attributes = {}};
  make_hostile(stranger.attributes);
  topology.memory.push_back(stranger);
  topology.warnings.push_back(kHostile);
  return topology;
}

// Expects only visible characters and line ends, and no line that a text of the report has begun.
void expect_harmless(const std::string& text) {
  EXPECT_EQ(sanitized_text(text), text);
  EXPECT_THAT(text, Not(HasSubstr("\nFORGED")));
  EXPECT_THAT(text, Not(HasSubstr("\ngputopo_forged")));
}

NamedReport other_of(Topology topology) {
  for (MemoryElement& element : topology.memory) {
    for (auto& [id, attribute] : element.attributes) {
      if (attribute.number()) attribute.value = *attribute.number() * 2 + 1;
      if (std::holds_alternative<std::string>(attribute.value)) attribute.value = kHostile + "other";
    }
  }
  return {kHostile, std::move(topology)};
}

TEST(HostileReport, OnATerminal) {
  const Topology topology = hostile_topology();
  expect_harmless(to_terminal(topology, {.width = 100, .height = 1000}));
  expect_harmless(to_tree(topology, {.width = 100}));
  expect_harmless(diff_to_terminal({{kHostile, topology}, other_of(topology)}, {}));
  const Topology other = other_of(topology).topology;
  expect_harmless(check_to_text(check(other, topology, default_tolerances()), other));
  EXPECT_THAT(to_terminal(topology, {}), HasSubstr("\\x1b]0;title\\x07"));
  EXPECT_THAT(to_terminal(topology, {}), HasSubstr("\\u202e"));
}

TEST(HostileReport, AsMarkdown) {
  const std::string text = to_markdown(hostile_topology());
  expect_harmless(text);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_THAT(text, Not(HasSubstr("\n# forged")));
  EXPECT_THAT(text, HasSubstr("\\`code\\` \\[link\\]"));
  EXPECT_THAT(text, HasSubstr("\\| a \\|"));
}

// The cells of a CSV file (RFC 4180).
std::vector<std::string> cells_of(const std::string& csv) {
  std::vector<std::string> cells = {""};
  bool is_quoted = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (c == '"' && is_quoted && i + 1 < csv.size() && csv[i + 1] == '"') {
      cells.back() += csv[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (c == ',' || c == '\n')) {
      cells.emplace_back();
    } else if (is_quoted || c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

TEST(HostileReport, AsCsv) {
  const std::vector<std::string> cells = cells_of(to_csv(hostile_topology()));
  for (const std::string& cell : cells) {
    if (cell.empty() || std::string_view("=+-@\t\r").find(cell.front()) == std::string_view::npos) continue;
    double number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    EXPECT_TRUE(error == std::errc{} && end == cell.data() + cell.size()) << cell;
  }
  EXPECT_THAT(cells, ::testing::Contains("'" + sanitized_text(kHostile)));
  for (const char* command : {"\x1b", "\x07", "\u009b", "\u202e"}) {
    EXPECT_THAT(to_csv(hostile_topology()), Not(HasSubstr(command)));
  }
  EXPECT_THAT(cells, ::testing::Contains("-0.5"));
  EXPECT_THAT(cells, ::testing::Contains("'-1+1"));
}

TEST(HostileReport, ForPrometheus) {
  const Topology topology = hostile_topology();
  const Topology other = other_of(topology).topology;
  const std::string text = check_to_prometheus(check(other, topology, default_tolerances()), other);
  EXPECT_EQ(test::prometheus_problem(text), std::nullopt);
  EXPECT_EQ(test::prometheus_problem(check_failure_to_prometheus(kHostile)), std::nullopt);
  EXPECT_THAT(text, Not(HasSubstr("\ngputopo_forged")));
}

TEST(HostileReport, AsDrawingAndAsPage) {
  const Topology topology = hostile_topology();
  for (const std::string& text :
       {to_svg(topology), to_html(topology), diff_to_html({{kHostile, topology}, other_of(topology)})}) {
    EXPECT_THAT(text, Not(HasSubstr("<img")));
    EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\x07")));
  }
  EXPECT_THAT(to_svg(topology), Not(HasSubstr("\u202e")));
}

// ---- the parts ----

TEST(VisibleText, ShowsWhatWouldBeObeyed) {
  EXPECT_EQ(sanitized_line("a\x1b[0m\x07\r\x7f"), "a\\x1b[0m\\x07\\x0d\\x7f");
  EXPECT_EQ(sanitized_line("\u009b \u202e \u2066 \u200f \u2028 \ufeff"),
            "\\u009b \\u202e \\u2066 \\u200f \\u2028 \\ufeff");
  EXPECT_EQ(sanitized_line("\xff \xc3 \xed\xa0\x80"), "\\xff \\xc3 \\xed\\xa0\\x80");
  EXPECT_EQ(sanitized_line("one\ntwo\r\nthree\tfour"), "one two three four");
  EXPECT_EQ(sanitized_text("one\ntwo\tthree\x1b"), "one\ntwo\tthree\\x1b");
  EXPECT_EQ(sanitized_line("µ 日本 🙂"), "µ 日本 🙂");
  EXPECT_EQ(sanitized_line(std::string_view("\0x", 2)), "\\x00x");
}

TEST(VisibleText, AMessageIsCutBetweenCharacters) {
  const std::string long_text = std::string(79, 'a') + "µ";
  EXPECT_EQ(shown(long_text), std::string(79, 'a') + "...");
  EXPECT_EQ(shown("\x1b]0;"), "\\x1b]0;");
}

TEST(CsvField, NumbersStayNumbersAndFormulasDoNot) {
  for (const char* number : {"-0.5", "+", "-1e-9", "-1 -2", "-inf", "-12"}) {
    const std::string expected = std::string(number) == "+" ? "'+" : number;
    EXPECT_EQ(report::csv_field(number), expected);
  }
  for (const char* formula : {"=1+1", "@SUM(A1)", "+1+1", "-1+1", "-", "\tx", "--1"}) {
    EXPECT_EQ(report::csv_field(formula), std::string("'") + formula);
  }
  EXPECT_EQ(report::csv_field("\r=1"), "\\x0d=1");
  EXPECT_EQ(report::csv_field("\n=1"), "\"\n=1\"");
  EXPECT_EQ(report::csv_field("\x1b]0;a,b"), "\"\\x1b]0;a,b\"");
  EXPECT_EQ(report::csv_field("a=1"), "a=1");
}

TEST(PrometheusNames, KeepApartWhatWouldHaveOneName) {
  report::PrometheusNames names;
  EXPECT_EQ(names.name("latency", "cycles", "_cycles"), "latency_cycles");
  EXPECT_EQ(names.name("latency", "cycles", "_cycles"), "latency_cycles");
  std::set<std::string> all = {"latency_cycles"};
  EXPECT_TRUE(all.insert(names.name("latency_cycles", "", "")).second);
  EXPECT_TRUE(all.insert(names.name("Latency", "cycles", "_cycles")).second);
  EXPECT_TRUE(all.insert(names.name("check_ok", "", "")).second);
  EXPECT_TRUE(all.insert(names.name("a-b", "", "")).second);
  EXPECT_TRUE(all.insert(names.name("a_b", "", "")).second);
  EXPECT_TRUE(all.insert(names.name("a b", "", "")).second);
  EXPECT_TRUE(all.insert(names.name("ä", "", "")).second);
  EXPECT_FALSE(all.contains("check_ok"));
  EXPECT_TRUE(all.contains("a_b"));
  for (const std::string& name : all) EXPECT_EQ(report::prometheus_name(name), name);
}

TEST(PrometheusLabels, EscapeWhatEndsThem) {
  EXPECT_EQ(report::prometheus_label("a\"b\\c\nd\xff"), "a\\\"b\\\\c\\nd\\\\xff");
  EXPECT_EQ(report::prometheus_label("\x1b[31m\xC2\x9B\xE2\x80\xAE\xC2\xB5"), "\\\\x1b[31m\\\\u009b\\\\u202e\xC2\xB5");
  EXPECT_EQ(report::prometheus_help("a\nb\\c"), "a b\\\\c");
}

}  // namespace
}  // namespace gputopo
