// Every number is the same in every format: the test walks the model and looks up each value in all formats.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "gputopo/export.h"
#include "gputopo/report.h"
#include "report/drawing/markup.h"
#include "report/html/parts.h"
#include "report/words/csv_text.h"
#include "report/words/one_cache.h"
#include "report/words/units.h"
#include "report/words/value_text.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using report::ValueGroup;
using test::saved_report;
using ::testing::HasSubstr;

// Words separated by one blank, because formats wrap lines differently.
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

// The text from a heading to the next of `headings`.
std::string below(const std::string& text, const std::string& heading, const std::vector<std::string>& headings) {
  const std::size_t begin = text.find(heading);
  if (begin == std::string::npos) return "";
  std::size_t end = text.size();
  for (const std::string& other : headings) end = std::min(end, text.find(other, begin + heading.size()));
  return text.substr(begin, end - begin);
}

// The text of one group, so that a number of another group is not found instead.
struct Part {
  std::string terminal;
  std::string markdown;
};

// All formats of one report, rendered once.
struct Formats {
  explicit Formats(const Topology& topology)
      : json(nlohmann::json::parse(to_json(topology))),
        csv(to_csv(topology)),
        html(to_html(topology)),
        prometheus(check_to_prometheus({}, topology)),
        latex(to_latex(topology)),
        svg(to_svg(topology)) {
    const std::string terminal = words(to_terminal(topology, {4000, false, false}));
    const std::string markdown = words(without_backslashes(to_markdown(topology)));
    std::vector<std::string> terminal_headings = {" Tuning advice", " Unavailable:"};
    std::vector<std::string> markdown_headings;
    const auto heading_of = [](const ValueGroup& group) {
      return " " + (group.title.starts_with(group.id) ? group.title : group.id + ": " + group.title) + " ";
    };
    const std::vector<ValueGroup> groups = report::value_groups(topology);
    for (const ValueGroup& group : groups) {
      terminal_headings.push_back(heading_of(group));
      markdown_headings.push_back(fmt::format(" ## {} |", group.title));
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      parts[groups[g].id] = {below(terminal, heading_of(groups[g]), terminal_headings),
                             below(markdown, markdown_headings[g], markdown_headings)};
    }
  }
  nlohmann::json json;
  std::string csv;
  std::string html;
  std::string prometheus;
  std::string latex;
  std::string svg;
  std::map<std::string, Part> parts;  // by the id of the group
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The text from `begin`, which occurs once, to `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  return at == std::string::npos ? "" : text.substr(at, text.find(end, at) - at);
}

const nlohmann::json* json_value(const Formats& formats, const ValueGroup& group, const std::string& id) {
  const nlohmann::json* place = &formats.json.at(group.id == "gpu" ? "device" : "compute");
  if (group.id == "gpu" || group.id == "compute") return place->contains(id) ? &place->at(id) : nullptr;
  if (!place->contains(group.id)) place = &formats.json.at("memory");
  return place->contains(group.id) && place->at(group.id).contains(id) ? &place->at(group.id).at(id) : nullptr;
}

// Whether Prometheus has the value in base units: a metric with the attribute's name and its element's labels.
bool prometheus_has(const std::string& text, const ValueGroup& group, const std::string& id,
                    const Attribute& attribute) {
  const std::map<std::string, std::pair<std::string, double>> units = {
      {"B", {"_bytes", 1}}, {"B/s", {"_bytes_per_second", 1}}, {"ns", {"_seconds", 1e-9}}, {"MHz", {"_hertz", 1e6}}};
  const bool is_operation = group.id.starts_with("instructions.");
  std::string name = "gputopo_" + id;
  std::string label = fmt::format(",element=\"{}\"}} ", group.id);
  if (group.id == "gpu" || group.id == "compute") {
    const std::size_t count = id.find("_count");
    name = fmt::format("gputopo_{}_{}", group.id == "gpu" ? "device" : group.id,
                       count == std::string::npos ? id : id.substr(0, count) + "s");
    label = "} ";
  } else if (is_operation) {
    name = "gputopo_instruction_" + id;
    label = fmt::format(",operation=\"{}\"}} ", group.id.substr(std::string("instructions.").size()));
  }
  const auto unit = units.find(attribute.unit);
  if (unit != units.end()) name += unit->second.first;
  const double factor = unit == units.end() ? 1 : unit->second.second;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find(label);
    if (!line.starts_with(name) || end == std::string::npos) continue;
    // With other units, the name ends with the unit itself.
    if (unit != units.end() && line[name.size()] != '{') continue;
    const double value = std::stod(line.substr(end + label.size()));
    if (std::abs(value - *attribute.number() * factor) <= 1e-12 * std::abs(value)) return true;
  }
  return false;
}

// The columns of the table for papers; the first is the memory.
const std::map<std::string, int>& latex_columns() {
  static const std::map<std::string, int> kColumns = {{"size", 1},    {"line_size", 2},      {"fetch_granularity", 3},
                                                      {"latency", 4}, {"read_bandwidth", 5}, {"write_bandwidth", 6}};
  return kColumns;
}

// The number in a cell of that table, in base units.
std::optional<double> latex_number(const std::string& row, const std::string& id) {
  const std::map<std::string, double> binary = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
  std::istringstream cells(row);
  std::string cell;
  for (int i = 0; i <= latex_columns().at(id); ++i) std::getline(cells, cell, '&');
  std::erase(cell, '$');
  std::istringstream parts(cell);
  double value = 0;
  std::string unit;
  if (!(parts >> value)) return std::nullopt;
  parts >> unit;
  if (binary.contains(unit)) value *= binary.at(unit);
  return id.ends_with("bandwidth") ? value * 1e9 : value;
}

// The formats that show only some of the values and lack this one.
std::vector<std::string> lacking_in_part(const Formats& formats, const MemoryElement& element, const std::string& id,
                                         const Attribute& attribute) {
  std::vector<std::string> missing;
  const std::string row = between(formats.latex, fmt::format("    {} & ", element.title), "\\\\");
  if (!row.empty() && latex_columns().contains(id)) {
    const double number = latex_number(row, id).value_or(-1);
    constexpr double kRounding = 6e-4;  // four digits
    if (std::abs(number - *attribute.number()) > kRounding * *attribute.number()) missing.push_back("LaTeX of " + id);
  }
  // The text shown when pointing at a part has a line for each value, below the name of the memory.
  const std::string box = between(formats.svg, fmt::format("data-elements=\"{}\"", element.id), "</title>");
  const std::string line =
      fmt::format("\n{}: {}", report::readable(id), report::escaped(report::brief_value_text(attribute)));
  if (!box.empty() && !holds(box, line)) missing.push_back("SVG of " + id);
  return missing;
}

// The formats that lack the number of the model, or one of its required texts.
std::vector<std::string> lacking(const Formats& formats, const ValueGroup& group, const std::string& id,
                                 const Attribute& attribute) {
  std::vector<std::string> missing;
  const auto need = [&](const char* format, const std::string& text, const std::string& part) {
    if (!holds(text, part)) missing.push_back(fmt::format("{} of {}.{}: {}", format, group.id, id, part));
  };
  const nlohmann::json* json = json_value(formats, group, id);
  if (json == nullptr || json->at("value").get<double>() != attribute.number()) missing.push_back("JSON of " + id);
  // All digits, for programs.
  const std::string line = report::csv_line(group.path, id, attribute);
  need("CSV", formats.csv, line + "\r\n");
  need("HTML", formats.html, fmt::format("data-csv=\"{}\"", report::escaped(line)));
  if (!prometheus_has(formats.prometheus, group, id, attribute)) missing.push_back("Prometheus of " + id);
  // Rounded, with the same text everywhere: the value, its interval, each detail.
  const std::string value = words(report::value_text(attribute));
  const std::string interval = words(report::interval_text(attribute));
  const std::string name = report::readable(id);
  const Part& part = formats.parts.at(group.id);
  need("terminal", part.terminal, fmt::format("{}: {}{}{}", name, value, interval.empty() ? "" : " ", interval));
  need("Markdown", part.markdown, fmt::format("| {} | {}", name, value));
  if (!interval.empty())
    need("Markdown", between(part.markdown, fmt::format("| {} | {}", name, value), "| |"), interval);
  const std::string row = between(formats.html, fmt::format("data-path=\"{}.{}\"", group.path, id), "</tr>");
  const std::string evidence =
      between(formats.html, fmt::format("id=\"{}\"", report::evidence_anchor(group.id, id)), "class=\"charts\"");
  for (const std::string& place : {row, evidence}) {
    need("HTML", place, ">" + report::escaped(value));
    need("HTML", place, report::escaped(interval));
  }
  for (const auto& [label, text] : report::named_texts(attribute.details, attribute)) {
    const std::string detail = words(fmt::format("{} {}", label, text));
    need("terminal", part.terminal, detail);
    need("Markdown", part.markdown, detail);
    need("HTML", evidence, fmt::format("<dt>{}</dt><dd>{}</dd>", report::escaped(label), report::escaped(text)));
  }
  return missing;
}

class Numbers : public ::testing::TestWithParam<const char*> {};

TEST_P(Numbers, AreTheSameInEveryFormat) {
  const Topology topology = saved_report(GetParam());
  const Formats formats(topology);
  std::size_t seen = 0;
  for (const ValueGroup& group : report::value_groups(topology)) {
    for (const auto& [id, attribute] : *group.attributes) {
      if (!attribute.number()) continue;
      EXPECT_THAT(lacking(formats, group, id, attribute), testing::IsEmpty());
      ++seen;
    }
  }
  constexpr std::size_t kLeast = 60;
  EXPECT_GE(seen, kLeast) << "of the saved reports, so that a walk over nothing is no success";
}

// Shows that the walk above can fail: with another number in the model, every format lacks it.
TEST_P(Numbers, AreMissedWhereTheyAreOthers) {
  const Topology topology = saved_report(GetParam());
  const Formats formats(topology);
  for (const ValueGroup& group : report::value_groups(topology)) {
    for (const auto& [id, attribute] : *group.attributes) {
      if (!attribute.number()) continue;
      Attribute other = attribute;
      other.value = *attribute.number() * 1.37 + 1;
      std::string all;
      for (const std::string& missing : lacking(formats, group, id, other)) all += missing + "\n";
      for (const char* format : {"JSON", "CSV", "terminal", "Markdown", "HTML", "Prometheus"}) {
        EXPECT_THAT(all, HasSubstr(format)) << group.id << "." << id;
      }
    }
  }
}

// LaTeX and the drawing show only some of the numbers, but the same ones.
TEST_P(Numbers, OfPapersAndDrawingsAreTheSame) {
  const Topology topology = saved_report(GetParam());
  const Formats formats(topology);
  std::map<std::string, int> missed;  // changed numbers that are missing, by format
  for (const MemoryElement& element : topology.memory) {
    for (const auto& [id, attribute] : element.attributes) {
      if (!attribute.number()) continue;
      EXPECT_THAT(lacking_in_part(formats, element, id, attribute), testing::IsEmpty()) << element.id;
      Attribute other = attribute;
      other.value = *attribute.number() * 1.37 + 1;
      for (const std::string& missing : lacking_in_part(formats, element, id, other)) {
        ++missed[missing.substr(0, missing.find(' '))];
      }
    }
  }
  constexpr int kLeast = 20;  // the walk must find something
  EXPECT_GE(missed["LaTeX"], kLeast);
  EXPECT_GE(missed["SVG"], kLeast);
}

// The short tables have the same numbers in fewer words.
TEST_P(Numbers, OfTheTableAreThoseOfTheValues) {
  const Topology topology = saved_report(GetParam());
  const std::string terminal = words(to_terminal(topology, {4000, false, false}));
  const std::string tree = words(to_tree(topology, {200, false, false}));
  const std::string svg = to_svg(topology);
  int drawn = 0;
  for (const MemoryElement& element : topology.memory) {
    const Attribute* size = find(element.attributes, AttributeId::kSize);
    if (size == nullptr || !size->number() || !holds(svg, element.title)) continue;
    ++drawn;
    const std::string text = report::value_text(*size);
    // If several elements are one cache, the box in the tree shows the size of the first.
    const bool is_one_of_several = !report::partners_of(topology, element).empty();
    EXPECT_TRUE(is_one_of_several || holds(tree, text)) << element.id << " " << text;
    EXPECT_TRUE(holds(svg, text)) << element.id << " " << text;
    EXPECT_TRUE(holds(terminal, text)) << element.id << " " << text;
  }
  constexpr int kLeast = 5;  // the walk must find something
  EXPECT_GE(drawn, kLeast);
}

INSTANTIATE_TEST_SUITE_P(Reports, Numbers, ::testing::Values("h200", "mi300x", "gt200"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace gputopo
