// Compares reports with the first one: for terminals, as JSON, and as a page with plots side by side.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "file/sanitize.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/compare/compare.h"
#include "report/compare/spread.h"
#include "report/diff_plots.h"
#include "report/html/page.h"
#include "report/json/value.h"
#include "report/words/device_facts.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo {
namespace {

using report::Change;
using report::Comparison;
using report::Difference;
using report::Markup;
using report::markup;
using report::readable;
using Json = nlohmann::ordered_json;

std::vector<Comparison> compare_all(const std::vector<NamedReport>& reports) {
  if (reports.size() < 2) throw UsageError("diff needs at least two reports");
  std::vector<Comparison> comparisons;
  const std::vector<std::string> names = report::short_names(reports);
  for (std::size_t i = 1; i < reports.size(); ++i) {
    comparisons.push_back(report::compare(reports[0].topology, reports[i].topology, {names[0], names[i]}));
  }
  return comparisons;
}

std::string verdict(const Comparison& comparison) {
  if (comparison.differences.empty())
    return fmt::format("no differences: {} values agree within their intervals", comparison.compared);
  const auto in_both =
      std::count_if(comparison.differences.begin(), comparison.differences.end(), [](const Difference& difference) {
        return difference.first != nullptr && difference.first->available() && difference.second != nullptr &&
               difference.second->available();
      });
  const std::size_t in_one = comparison.differences.size() - static_cast<std::size_t>(in_both);
  std::string text = fmt::format("{} of {} common values differ", in_both, comparison.compared);
  const auto count = [&](Change change) {
    return std::ranges::count(comparison.differences, change, report::change_of);
  };
  const auto better = count(Change::kBetter);
  const auto worse = count(Change::kWorse);
  if (better + worse > 0) text += fmt::format(", {} better, {} worse", better, worse);
  const auto worst = std::ranges::max_element(comparison.differences, {}, [](const Difference& difference) {
    return report::change_of(difference) == Change::kWorse ? std::abs(*difference.relative) : 0;
  });
  if (worse > 0) {
    text += fmt::format(", worst: {} {} ({})", worst->title, readable(worst->attribute), report::relative_text(*worst));
  }
  if (in_one > 0) text += fmt::format("; {} more {} in only one report", in_one, in_one == 1 ? "is" : "are");
  return text;
}

Json side_json(const Attribute* attribute) {
  if (attribute == nullptr) return nullptr;
  if (!attribute->available()) return {{"reason", to_string(attribute->reason)}, {"detail", attribute->detail}};
  Json json;
  if (!std::holds_alternative<std::monostate>(attribute->value)) json["value"] = report::value_json(attribute->value);
  json["unit"] = attribute->unit;
  json["low"] = attribute->low ? Json(*attribute->low) : Json(nullptr);
  json["high"] = attribute->high ? Json(*attribute->high) : Json(nullptr);
  return json;
}

const char* change_name(Change change) {
  return change == Change::kBetter ? "better" : change == Change::kWorse ? "worse" : "neither";
}

Json report_json(const NamedReport& report) {
  return {{"path", report.path},
          {"name", report.topology.name},
          {"simulated", report.topology.simulated},
          {"schema_version", kSchemaVersion},
          {"timestamp", report.topology.timestamp}};
}

std::string spread_cell(const Attribute* attribute) {
  return attribute == nullptr || !attribute->available() ? "-" : report::value_text(*attribute);
}

// Differing values, one column per report.
Markup spread_section(const std::vector<NamedReport>& reports, const std::vector<Comparison>& comparisons) {
  if (reports.size() < 3) return {};
  const std::vector<report::SpreadRow> rows = report::spread_of(reports, comparisons);
  if (rows.empty()) return {};
  Markup head;
  for (const std::string& name : report::short_names(reports)) {
    head += markup("<th scope=\"col\" class=\"number\">{}</th>", name);
  }
  Markup body;
  for (const report::SpreadRow& row : rows) {
    body += markup("<tr><td>{}</td><th scope=\"row\">{}</th><td class=\"number\">{}%</td>", row.title,
                   readable(row.attribute), report::significant(100 * row.spread, 3));
    for (const Attribute* attribute : row.each) {
      body += markup("<td class=\"number\">{}</td>", spread_cell(attribute));
    }
    body += "</tr>\n";
  }
  return markup(
      "<section aria-labelledby=\"h-spread\"><h2 id=\"h-spread\">All {} reports</h2>\n<div class=\"scroll\" "
      "tabindex=\"0\" role=\"region\" aria-label=\"Values of all reports\"><table><thead><tr><th "
      "scope=\"col\">element</th><th scope=\"col\">attribute</th><th scope=\"col\" "
      "class=\"number\">spread</th>{}</tr></thead><tbody>\n{}</tbody></table></div></section>\n",
      reports.size(), head, body);
}

Markup differences_table(const Comparison& comparison, const report::PlotPairs& pairs) {
  Markup rows;
  for (const Difference& difference : comparison.differences) {
    const char* direction = change_name(report::change_of(difference));
    const std::string relative = report::change_text(difference);
    const auto plot = pairs.anchors.find({difference.group, difference.attribute});
    const std::string name = readable(difference.attribute);
    rows += markup(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"number {}\">{}</td></tr>\n", difference.title,
        plot == pairs.anchors.end() ? markup("{}", name) : markup("<a href=\"#{}\">{}</a>", plot->second, name),
        report::side_text(difference.first), report::side_text(difference.second), direction,
        relative.empty() ? "differs" : relative);
  }
  return rows;
}

// Differing values, one column per report.
std::string spread_text(const std::vector<NamedReport>& reports, const std::vector<Comparison>& comparisons,
                        const TerminalStyle& style) {
  const std::vector<report::SpreadRow> rows = report::spread_of(reports, comparisons);
  if (rows.empty()) return "";
  report::TextTable table;
  table.columns = {{"value", report::Align::kLeft}, {"spread", report::Align::kRight}};
  for (const std::string& name : report::short_names(reports)) {
    table.columns.push_back({sanitized_line(name), report::Align::kRight});
  }
  for (const report::SpreadRow& row : rows) {
    std::vector<report::Cell>& cells = table.rows.emplace_back();
    cells.push_back({sanitized_line(fmt::format("{} {}", row.title, readable(row.attribute))), report::Tone::kStrong});
    cells.push_back({report::significant(100 * row.spread, 3) + "%"});
    for (const Attribute* attribute : row.each) cells.push_back({spread_cell(attribute)});
  }
  return fmt::format("\n{}\n{}",
                     report::paint(fmt::format("All {} reports", reports.size()), report::Tone::kStrong, style.colour),
                     report::render(table, {style.width, style.colour, style.unicode}));
}

}  // namespace

bool are_alike(const std::vector<NamedReport>& reports) {
  const std::vector<Comparison> comparisons = compare_all(reports);
  return std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& c) { return c.differences.empty(); });
}

namespace {

std::string differences_text(const Comparison& comparison, const TerminalStyle& style) {
  std::string text;
  std::string group;
  for (const Difference& difference : comparison.differences) {
    if (difference.group != group) {
      text +=
          fmt::format("\n{}\n", report::paint(sanitized_line(difference.title), report::Tone::kStrong, style.colour));
      group = difference.group;
    }
    const std::string relative = report::change_text(difference);
    const std::string heading =
        sanitized_line(fmt::format("{}{}{}", readable(difference.attribute), relative.empty() ? "" : "  ", relative));
    text += fmt::format("  {}\n", report::paint(heading, report::Tone::kStrong, style.colour));
    text += report::wrap("    - ", sanitized_line(report::side_text(difference.first)), style.width);
    text += report::wrap("    + ", sanitized_line(report::side_text(difference.second)), style.width);
  }
  return text;
}

}  // namespace

std::string diff_to_terminal(const std::vector<NamedReport>& reports, const TerminalStyle& style) {
  std::string text;
  const std::vector<Comparison> comparisons = compare_all(reports);
  for (std::size_t i = 0; const Comparison& comparison : comparisons) {
    ++i;
    if (!text.empty()) text += "\n";
    for (const std::size_t r : {std::size_t{0}, i}) {
      text += report::wrap(
          r == 0 ? "- " : "+ ",
          sanitized_line(fmt::format("{}: {}, {}", reports[r].path, report::device_title(reports[r].topology),
                                     report::when(reports[r].topology))),
          style.width);
    }
    for (const std::string& note : comparison.all_notes()) {
      text +=
          report::paint(report::wrap("Note: ", sanitized_line(note), style.width), report::Tone::kAlert, style.colour);
    }
    text += differences_text(comparison, style);
    text += (comparison.differences.empty() ? "" : "\n") +
            report::wrap("", sanitized_line(verdict(comparison)), style.width);
  }
  return reports.size() > 2 ? text + spread_text(reports, comparisons, style) : text;
}

std::string diff_to_json(const std::vector<NamedReport>& reports) {
  Json json;
  json["alike"] = are_alike(reports);
  json["first"] = report_json(reports.front());
  Json& list = json["comparisons"] = Json::array();
  const std::vector<Comparison> comparisons = compare_all(reports);
  for (std::size_t i = 0; const Comparison& comparison : comparisons) {
    Json entry;
    entry["second"] = report_json(reports[++i]);
    entry["notes"] = comparison.all_notes();
    entry["compared"] = comparison.compared;
    Json& differences = entry["differences"] = Json::array();
    for (const Difference& difference : comparison.differences) {
      differences.push_back({{"element", difference.group},
                             {"attribute", difference.attribute},
                             {"first", side_json(difference.first)},
                             {"second", side_json(difference.second)},
                             {"relative", difference.relative ? Json(*difference.relative) : Json(nullptr)},
                             {"change", change_name(report::change_of(difference))}});
    }
    list.push_back(std::move(entry));
  }
  Json& spread = json["spread"] = Json::array();
  for (const report::SpreadRow& row : report::spread_of(reports, comparisons)) {
    Json values = Json::array();
    for (const Attribute* attribute : row.each) values.push_back(side_json(attribute));
    spread.push_back(
        {{"element", row.group}, {"attribute", row.attribute}, {"spread", row.spread}, {"values", values}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string diff_to_html(const std::vector<NamedReport>& reports) {
  std::vector<NamedReport> downsampled = reports;
  for (NamedReport& report : downsampled) {
    report.topology = report::thinned_to(report.topology, report::kMaxNumbersOfPage / downsampled.size());
  }
  const std::vector<Comparison> comparisons = compare_all(downsampled);
  report::Page page;
  page.title = "Differences - gputopo";
  for (const NamedReport& report : downsampled) page.reports.push_back(&report.topology);
  Markup body = spread_section(downsampled, comparisons) + report::curves_section(reports, page.charts);
  const report::PlotPairs pairs = report::plot_pairs(downsampled, comparisons, page.charts);
  const std::vector<std::string> names = report::short_names(downsampled);
  for (std::size_t i = 0; const Comparison& comparison : comparisons) {
    ++i;
    body += markup("<section aria-labelledby=\"h-diff-{0}\"><h2 id=\"h-diff-{0}\">{1} and {2}</h2>\n<p>{3}.</p>\n", i,
                   names[0], names[i], verdict(comparison));
    Markup notes;
    for (const std::string& note : comparison.all_notes()) notes += markup("<li>{}</li>", note);
    if (!notes.empty()) body += markup("<div class=\"warnings\"><ul>{}</ul></div>\n", notes);
    if (!comparison.differences.empty()) {
      body += markup(
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Differences, table "
          "{}\"><table><thead><tr><th scope=\"col\">element</th><th scope=\"col\">attribute</th><th "
          "scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\" "
          "class=\"number\">difference</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
          i, names[0], names[i], differences_table(comparison, pairs));
    }
    body += "</section>\n";
  }
  if (!pairs.text.empty()) {
    body += markup(
        "<section aria-labelledby=\"h-pairs\"><h2 id=\"h-pairs\">Samples side by side</h2>\n"
        "<noscript><p>The plots need JavaScript.</p></noscript>\n{}</section>\n",
        pairs.text);
  }
  page.body = report::page_header(page.reports, "Differences between reports", names) + "<main id=\"main\">\n" + body +
              "</main>\n";
  return report::html_page(page);
}

}  // namespace gputopo
