// Every number appears the same in every format: the model is walked, and each value looked up in all of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "gputopo/report.h"
#include "report/csv_text.h"
#include "report/markup.h"
#include "report/one_cache.h"
#include "report/units.h"
#include "report/value_text.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using report::ValueGroup;
using test::saved_report;

// Words with one blank between: what wraps in one format does not in another.
std::string words(const std::string& text) {
  std::istringstream stream(text);
  std::string result;
  for (std::string word; stream >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

std::string without_backslashes(std::string text) {
  std::erase(text, '\\');
  return text;
}

// Everything that one report is rendered to, made once.
struct Formats {
  explicit Formats(const Topology& topology)
      : json(nlohmann::json::parse(to_json(topology))),
        csv(to_csv(topology)),
        terminal(words(to_terminal(topology, {4000, false, false}))),
        markdown(words(without_backslashes(to_markdown(topology)))),
        html(to_html(topology)) {}
  nlohmann::json json;
  std::string csv;
  std::string terminal;
  std::string markdown;
  std::string html;
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const nlohmann::json& json_value(const Formats& formats, const ValueGroup& group, const std::string& id) {
  if (group.id == "gpu") return formats.json.at("device").at(id);
  if (group.id == "compute") return formats.json.at("compute").at(id);
  return formats.json.at("memory").at(group.id).at(id);
}

// The number of the model, and each text of it that must be in the formats for people.
void expect_everywhere(const Formats& formats, const ValueGroup& group, const std::string& id,
                       const Attribute& attribute) {
  SCOPED_TRACE(group.id + "." + id);
  EXPECT_EQ(json_value(formats, group, id).at("value").get<double>(), attribute.number());
  // All digits, for programs.
  EXPECT_TRUE(holds(formats.csv, report::csv_line(group.path, id, attribute) + "\r\n"));
  EXPECT_TRUE(holds(formats.html,
                    fmt::format("data-csv=\"{}\"", report::escaped(report::csv_line(group.path, id, attribute)))));
  // Rounded, with the same text everywhere: the value, its interval, each detail.
  const std::string value = words(report::value_text(attribute));
  const std::string interval = words(report::interval_text(attribute));
  const std::string name = report::readable(id);
  const std::string whole = value + (interval.empty() ? "" : " " + interval);
  EXPECT_TRUE(holds(formats.terminal, fmt::format("{}: {}", name, whole))) << whole;
  EXPECT_TRUE(holds(formats.markdown, fmt::format("| {} | {}", name, value))) << value;
  EXPECT_TRUE(interval.empty() || holds(formats.markdown, fmt::format("| {} |", interval))) << interval;
  EXPECT_TRUE(holds(formats.html, fmt::format(">{}", report::escaped(value)))) << value;
  EXPECT_TRUE(interval.empty() || holds(formats.html, report::escaped(interval))) << interval;
  for (const auto& [label, text] : report::named_texts(attribute.details, attribute)) {
    const std::string detail = words(fmt::format("{} {}", label, text));
    EXPECT_TRUE(holds(formats.terminal, detail)) << detail;
    EXPECT_TRUE(holds(formats.markdown, detail)) << detail;
    EXPECT_TRUE(
        holds(formats.html, fmt::format("<dt>{}</dt><dd>{}</dd>", report::escaped(label), report::escaped(text))))
        << detail;
  }
}

class Numbers : public ::testing::TestWithParam<const char*> {};

TEST_P(Numbers, AreTheSameInEveryFormat) {
  const Topology topology = saved_report(GetParam());
  const Formats formats(topology);
  std::size_t seen = 0;
  for (const ValueGroup& group : report::value_groups(topology)) {
    for (const auto& [id, attribute] : *group.attributes) {
      if (!attribute.number()) continue;
      expect_everywhere(formats, group, id, attribute);
      ++seen;
    }
  }
  constexpr std::size_t kLeast = 60;
  EXPECT_GE(seen, kLeast) << "of the saved reports, so that a walk over nothing is no success";
}

// The tables for a look have the same numbers, in fewer words.
TEST_P(Numbers, OfTheTableAreThoseOfTheValues) {
  const Topology topology = saved_report(GetParam());
  const std::string terminal = words(to_terminal(topology, {4000, false, false}));
  const std::string tree = words(to_tree(topology, {200, false, false}));
  const std::string svg = to_svg(topology);
  for (const MemoryElement& element : topology.memory) {
    const Attribute* size = find(element.attributes, AttributeId::kSize);
    if (size == nullptr || !size->number() || !holds(svg, element.title)) continue;
    const std::string text = report::value_text(*size);
    // Of caches that are one the box in the tree says the size of the first.
    const bool is_one_of_several = !report::partners_of(topology, element).empty();
    EXPECT_TRUE(is_one_of_several || holds(tree, text)) << element.id << " " << text;
    EXPECT_TRUE(holds(svg, text)) << element.id << " " << text;
    EXPECT_TRUE(holds(terminal, text)) << element.id << " " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Reports, Numbers, ::testing::Values("h200", "mi300x", "gt200"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace gputopo
