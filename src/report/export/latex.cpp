// A table for a paper and a bibliography entry in one file. LaTeX stops reading at \endinput, before the entry. BibTeX
// ignores everything outside of entries.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "file/sanitize.h"
#include "gputopo/export.h"
#include "report/words/device_facts.h"
#include "report/words/hierarchy.h"
#include "report/words/units.h"
#include "report/words/values.h"

namespace gputopo {
namespace {

// Escapes text for LaTeX and for a BibTeX entry. BibTeX counts even escaped braces, and takes every @ outside of an
// entry for the start of one.
std::string latex(std::string_view text) {
  std::string result;
  for (const char c : sanitized_line(text)) {
    switch (c) {
      case '\\':
        result += "\\textbackslash{}";
        break;
      case '{':
        result += "\\textbraceleft{}";
        break;
      case '}':
        result += "\\textbraceright{}";
        break;
      case '~':
        result += "\\textasciitilde{}";
        break;
      case '^':
        result += "\\textasciicircum{}";
        break;
      case '<':
        result += "\\textless{}";
        break;
      case '>':
        result += "\\textgreater{}";
        break;
      case '"':
        result += "{\\char34}";
        break;
      case '@':
        result += "{\\char64}";
        break;
      case '$':
      case '&':
      case '#':
      case '%':
      case '_':
        result += '\\';
        [[fallthrough]];
      default:
        result += c;
    }
  }
  return result;
}

// A comment is one line without @, which BibTeX would read.
std::string comment(std::string_view text) {
  std::string line = sanitized_line(text);
  std::ranges::replace(line, '@', ' ');
  return fmt::format("% {}\n", line);
}

// "nvidia-h200": letters and digits, for a label.
std::string label_of(std::string_view name) {
  std::string label;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (letter < 0x80 && std::isalnum(letter) != 0) {
      label += static_cast<char>(std::tolower(letter));
    } else if (!label.empty() && label.back() != '-') {
      label += '-';
    }
  }
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "gpu" : label;
}

// "$31.2 \pm 0.41$": the value and the larger half of its 95% interval.
std::string with_interval(const Attribute& attribute, double scale) {
  constexpr int kDigits = 4;
  const double value = attribute.number().value_or(0) / scale;
  std::string text = report::significant(value, kDigits);
  if (!attribute.low || !attribute.high) return text;
  const double half = std::max(value - *attribute.low / scale, *attribute.high / scale - value);
  if (!(half > 0)) return text;
  return fmt::format("${} \\pm {}$", text, report::significant(half, 2));
}

std::string cell(const MemoryElement& element, AttributeId id) {
  constexpr double kGiga = 1e9;
  const Attribute* attribute = find(element.attributes, id);
  if (attribute == nullptr || !attribute->available() || !attribute->number()) return "--";
  if (id == AttributeId::kSize) return latex(report::human_bytes(*attribute->number()));
  if (attribute->unit == "B") return report::significant(*attribute->number(), 6);
  return with_interval(*attribute, attribute->unit == "B/s" ? kGiga : 1);
}

constexpr AttributeId kColumns[] = {AttributeId::kSize,    AttributeId::kLineSize,      AttributeId::kFetchGranularity,
                                    AttributeId::kLatency, AttributeId::kReadBandwidth, AttributeId::kWriteBandwidth};

std::string table(const Topology& topology) {
  std::string caption =
      fmt::format("Memory hierarchy of {}, measured by {}, with half-widths of the 95\\% confidence intervals.",
                  latex(topology.name), latex(topology.generator));
  if (topology.simulated) caption += " \\textbf{SIMULATED}: values of a simulated GPU.";
  if (!topology.complete) caption += " \\textbf{INCOMPLETE}: the discovery ended early.";
  std::string text = fmt::format(
      "\\begin{{table}}\n  \\caption{{{}}}\n  \\label{{tab:gputopo-{}}}\n  \\begin{{tabular}}{{lrrrrrr}}\n    \\hline\n"
      "    & size & line & fetch & latency & read & write \\\\\n    & & B & B & cycles & GB/s & GB/s \\\\\n    "
      "\\hline\n",
      caption, label_of(topology.name));
  for (const MemoryElement& element : topology.memory) {
    if (!report::holds_data(element)) continue;
    text += "    " + latex(element.title);
    for (const AttributeId id : kColumns) text += " & " + cell(element, id);
    text += " \\\\\n";
  }
  return text + "    \\hline\n  \\end{tabular}\n\\end{table}\n";
}

// "580.159.04 (CUDA 13.0)", if the report has it.
std::string driver_of(const Topology& topology) {
  const Attribute* driver = find(topology.device, AttributeId::kDriverVersion);
  if (driver == nullptr || !driver->available()) return "";
  return fmt::format(", driver {}", latex(report::value_text(*driver)));
}

std::string entry(const Topology& topology) {
  constexpr std::size_t kYearDigits = 4;
  const std::string year = topology.timestamp.substr(0, kYearDigits);
  const bool has_year =
      year.size() == kYearDigits && std::ranges::all_of(year, [](unsigned char c) { return std::isdigit(c) != 0; });
  return fmt::format(
      "@misc{{gputopo-{},\n  title = {{{{gputopo}} report of {}{}}},\n  author = {{{{gputopo}}}},\n{}"
      "  note = {{{}, measured {}{}{}}},\n}}\n",
      label_of(topology.name), topology.simulated ? "a SIMULATED " : "", latex(topology.name),
      has_year ? fmt::format("  year = {{{}}},\n", year) : "", latex(topology.generator), latex(report::when(topology)),
      driver_of(topology), topology.complete ? "" : ", INCOMPLETE");
}

}  // namespace

std::string to_latex(const Topology& topology) {
  std::string text = comment(report::origin(topology));
  for (const std::string& notice : report::notices(topology)) text += comment(notice);
  return text + table(topology) +
         "\\endinput\nLaTeX stops reading here. For BibTeX, copy this file to NAME.bib; BibTeX reads only the entry "
         "below.\n\n" +
         entry(topology);
}

}  // namespace gputopo
