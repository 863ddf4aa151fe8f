#include "report/html/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gputopo/report.h"
#include "report/drawing/svg_style.h"
#include "report/json/value.h"
#include "report/words/device_facts.h"
#include "report/words/hierarchy.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

using Json = nlohmann::ordered_json;

Json axis_json(const Axis& axis) {
  return {{"column", axis.column}, {"label", axis.label}, {"unit", axis.unit}, {"log", axis.logarithmic}};
}

Json chart_json(const PlacedChart& placed) {
  const Chart& chart = placed.chart;
  Json json{{"report", placed.report}, {"group", placed.group},       {"attribute", placed.attribute},
            {"title", chart.title},    {"table", chart.samples.name}, {"plot", to_string(chart.plot)},
            {"x", axis_json(chart.x)}, {"y", axis_json(chart.y)}};
  if (chart.timer_cycles > 0) json["timer"] = {{"cycles", chart.timer_cycles}, {"columns", chart.timed_columns}};
  if (!placed.device.empty()) json["device"] = placed.device;
  if (placed.group.empty()) {
    Json names = Json::array();
    for (const Column& column : chart.samples.columns) names.push_back(column.name);
    json["samples"] = {{"name", chart.samples.name}, {"names", std::move(names)}, {"data", chart.samples.data}};
  }
  if (!chart.weight.column.empty()) json["weight"] = axis_json(chart.weight);
  Json& series = json["series"] = Json::array();
  for (const Series& one : chart.series) {
    series.push_back({{"label", one.label}, {"column", one.column}, {"where", one.where}});
  }
  Json& marks = json["marks"] = Json::array();
  for (const ChartMark& mark : chart.marks) {
    marks.push_back({{"across", mark.across},
                     {"label", mark.label},
                     {"value", mark.value},
                     {"low", bound_json(mark.low)},
                     {"high", bound_json(mark.high)},
                     {"main", mark.is_value}});
  }
  return json;
}

// Removes whitespace between JSON tokens, a sixth of a report.
std::string compacted(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  bool is_within_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_within_text && c == '\\' && i + 1 < json.size()) {
      text += c;
      text += json[++i];
      continue;
    }
    if (c == '"') is_within_text = !is_within_text;
    if (is_within_text || (c != ' ' && c != '\n')) text += c;
  }
  return text;
}

std::string joined_labels(const Chart& chart) {
  std::vector<std::string> labels;
  for (const Series& series : chart.series) labels.push_back(series.label);
  return fmt::format("{}", fmt::join(labels, ", "));
}

std::string what_is_drawn(const Chart& chart) {
  switch (chart.plot) {
    case Plot::kBars:
      return fmt::format("{} at each {}", chart.y.label, chart.x.label);
    case Plot::kDensity:
      return fmt::format("{} over {}, darker where more frequent, with the mean as a line", chart.y.label,
                         chart.x.label);
    case Plot::kMap:
      return fmt::format("{} for each {} and {}", chart.weight.label, chart.x.label, chart.y.label);
    case Plot::kLine:
    case Plot::kPoints:
    case Plot::kNone:
      break;
  }
  std::string drawn = fmt::format("{} over {}", chart.y.label, chart.x.label);
  if (chart.series.size() < 2) return drawn;
  const std::string labels = joined_labels(chart);
  return drawn + (labels == chart.y.label ? ", with one series for each" : ", with one series for each of " + labels);
}

// "2000 rows, footprint 1 KiB to 2 MiB, latency 32 to 810 cycles".
std::string ranges_of(const Chart& chart) {
  const std::size_t rows = chart.samples.row_count();
  std::string text = fmt::format("{} row{}", rows, rows == 1 ? "" : "s");
  const auto add = [&](const Axis& axis, const Range& range) {
    if (range.empty()) return;
    text += fmt::format(", {}{}{}", axis.label, axis.label.empty() ? "" : " ", human_value(range.least, axis.unit));
    if (range.least < range.greatest) text += fmt::format(" to {}", human_value(range.greatest, axis.unit));
  };
  add(chart.x, range_of(chart.column(chart.x.column)));
  if (chart.series.empty()) {
    add(chart.y, range_of(chart.column(chart.y.column)));
    add(chart.weight, range_of(chart.column(chart.weight.column)));
  } else {
    Range range;
    for (const Series& series : chart.series) range.add(chart.column(series.column));
    add(chart.y, range);
  }
  return text;
}

}  // namespace

Markup figure(std::size_t index, const Chart& chart) {
  std::string text = fmt::format("{}: {}. {}", chart.title, what_is_drawn(chart), ranges_of(chart));
  for (const ChartMark& mark : chart.marks) {
    const std::string value = human_value(mark.value, mark.across ? chart.y.unit : chart.x.unit);
    text += "; " + mark.label + (mark.label.ends_with(value) ? "" : " " + value);
  }
  for (const ChartMark& mark : chart.beyond) {
    text += fmt::format("; {} {} lies beyond the plot", mark.label, human_value(mark.value, chart.y.unit));
  }
  text += ".";
  if (chart.timer_cycles > 0) {
    text += fmt::format(" The plot subtracts {} of timer overhead; the sample table and the CSV do not.",
                        human_value(chart.timer_cycles, kCycles));
  }
  if (const SampleTable& samples = chart.samples; samples.measured_rows != 0) {
    text += fmt::format(" This page keeps {} of {} rows.", samples.row_count(), samples.measured_rows);
  }
  if (chart.series_left_out > 0) {
    text +=
        fmt::format(" {} of {} series are drawn.", chart.series.size(), chart.series.size() + chart.series_left_out);
  }
  return markup(
      "<figure class=\"chart\" data-chart=\"{0}\"><div class=\"plot\" role=\"application\" "
      "aria-roledescription=\"plot\" aria-label=\"{1}\" aria-describedby=\"caption-{0}\" "
      "tabindex=\"0\"></div><figcaption id=\"caption-{0}\">{2}</figcaption></figure>\n",
      index, chart.title, text);
}

Markup page_header(const std::vector<const Topology*>& reports, const std::string& heading,
                   const std::vector<std::string>& names) {
  Markup text = markup("<header class=\"top\">\n<div><h1>{}</h1>\n", heading);
  for (std::size_t i = 0; const Topology* report : reports) {
    if (reports.size() > 1) {
      text += markup("<p><strong>{}: {}</strong></p>\n", names.at(i++), device_title(*report));
    }
    text += markup("<p class=\"facts\">{}</p>\n", fmt::format("{}", fmt::join(device_facts(*report), ", ")));
    text += markup("<p class=\"facts\">{}, {}, measured in {:.1f} s</p>\n", report->generator, when(*report),
                   report->total_seconds);
  }
  text += "</div>\n<div class=\"badges\">";
  // With several reports, each marks itself in its own line.
  const bool simulated = std::ranges::all_of(reports, &Topology::simulated);
  const bool complete = std::ranges::all_of(reports, &Topology::complete);
  if (simulated) text += "<p class=\"simulated\">SIMULATED</p>";
  if (!complete) text += "<p class=\"incomplete\">INCOMPLETE</p>";
  text +=
      "<div><button type=\"button\" id=\"keys-button\" hidden>Keys</button> <button type=\"button\" id=\"theme\" "
      "hidden>Theme</button></div></div>\n</header>\n";
  return text;
}

Markup page_frame(const std::string& title, ProgramText style, const Markup& body) {
  // The page may run only the script that is part of the program, and may load nothing.
  return markup(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src "
      "'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      ProgramText::trusted(kPageScriptHash), title, style, body);
}

std::string html_page(const Page& page) {
  Markup body("<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
  body += page.body;
  for (std::size_t i = 0; i < page.reports.size(); ++i) {
    body += json_block(fmt::format("report-{}", i), compacted(to_json(*page.reports[i])));
  }
  Json charts = Json::array();
  for (const PlacedChart& chart : page.charts) charts.push_back(chart_json(chart));
  body += json_block("charts", charts.dump(-1, ' ', false, Json::error_handler_t::replace));
  body += markup("<script>{}</script>\n", ProgramText::trusted(kPageScript));
  static const std::string kStyle = std::string(kPageStyle) + std::string(svg_rules().text());
  return page_frame(page.title, ProgramText::trusted(kStyle), body).text();
}

}  // namespace gputopo::report
