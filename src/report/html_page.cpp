#include "report/html_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "gputopo/report.h"
#include "report/hierarchy.h"
#include "report/markup.h"
#include "report/units.h"

namespace gputopo::report {
namespace {

using Json = nlohmann::ordered_json;

Json bound_json(const std::optional<double>& bound) { return bound ? Json(*bound) : Json(nullptr); }

Json axis_json(const Axis& axis) {
  return {{"column", axis.column}, {"label", axis.label}, {"unit", axis.unit}, {"log", axis.logarithmic}};
}

Json chart_json(const PlacedChart& placed) {
  const Chart& chart = placed.chart;
  Json json{{"report", placed.report}, {"group", placed.group},  {"attribute", placed.attribute},
            {"title", chart.title},    {"table", chart.table},   {"kind", to_string(chart.kind)},
            {"x", axis_json(chart.x)}, {"y", axis_json(chart.y)}};
  json["weight"] = chart.weight;
  json["weight_unit"] = chart.weight_unit;
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

// JSON for a <script> element: no "<" in it, so nothing in a report can end the element.
std::string data_block(const std::string& id, const std::string& json) {
  std::string text = fmt::format("<script type=\"application/json\" id=\"{}\">", id);
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text + "</script>\n";
}

}  // namespace

std::string figure(std::size_t index, const Chart& chart, const Attribute& attribute) {
  std::string summary = chart.title;
  std::size_t rows = 0;
  if (const std::vector<double>* column = find_column(attribute, chart, chart.x.column)) rows = column->size();
  summary += fmt::format(": {} rows of {}", rows, chart.x.label);
  if (chart.kind == ChartKind::kDensity || chart.kind == ChartKind::kMap) summary += " and " + chart.y.label;
  for (const Series& series : chart.series) {
    if (!series.label.empty())
      summary += fmt::format("{}{}", &series == &chart.series.front() ? " and " : ", ", series.label);
  }
  for (const ChartMark& mark : chart.marks) {
    summary += fmt::format("; {} {}", mark.label, human_value(mark.value, mark.across ? chart.y.unit : chart.x.unit));
  }
  std::string note;
  for (const SampleTable& table : attribute.samples) {
    if (table.name == chart.table && table.measured_rows != 0) {
      note = fmt::format("{} of {} rows are kept in this report.", table.row_count(), table.measured_rows);
    }
  }
  if (chart.series_left_out > 0) {
    note += fmt::format("{}{} of {} series are drawn.", note.empty() ? "" : " ", chart.series.size(),
                        chart.series.size() + chart.series_left_out);
  }
  return fmt::format(
      "<figure class=\"chart\" data-chart=\"{}\"><div class=\"plot\" role=\"img\" aria-label=\"{}\" "
      "tabindex=\"0\"></div>"
      "<figcaption>{}</figcaption></figure>\n",
      index, escaped(summary), escaped(note.empty() ? summary + "." : summary + ". " + note));
}

std::string page_header(const std::vector<const Topology*>& reports, const std::string& heading) {
  std::string text = fmt::format("<header class=\"top\">\n<div><h1>{}</h1>\n", escaped(heading));
  for (const Topology* report : reports) {
    if (reports.size() > 1) text += fmt::format("<p><strong>{}</strong></p>\n", escaped(report->name));
    text +=
        fmt::format("<p class=\"facts\">{}</p>\n", escaped(fmt::format("{}", fmt::join(device_facts(*report), ", "))));
    text += fmt::format("<p class=\"facts\">{}, {}, measured in {:.1f} s</p>\n", escaped(report->generator),
                        escaped(report->timestamp), report->total_seconds);
  }
  text += "</div>\n<div class=\"badges\">";
  bool simulated = false;
  bool complete = true;
  for (const Topology* report : reports) {
    simulated = simulated || report->simulated;
    complete = complete && report->complete;
  }
  if (simulated) text += "<p class=\"simulated\">SIMULATED</p>";
  if (!complete) text += "<p class=\"incomplete\">INCOMPLETE</p>";
  text += "<button type=\"button\" id=\"theme\" hidden>Theme</button></div>\n</header>\n";
  return text;
}

std::string html_page(const Page& page) {
  // The page may run its own script and nothing else, and load nothing.
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
      "style-src 'unsafe-inline'; img-src data: blob:\">\n";
  text += fmt::format("<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n", escaped(page.title), kPageStyle,
                      svg_rules());
  text += "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n";
  text += page.body;
  for (std::size_t i = 0; i < page.reports.size(); ++i) {
    text += data_block(fmt::format("report-{}", i), to_json(*page.reports[i]));
  }
  Json charts = Json::array();
  for (const PlacedChart& chart : page.charts) charts.push_back(chart_json(chart));
  text += data_block("charts", charts.dump(-1, ' ', false, Json::error_handler_t::replace));
  text += fmt::format("<script>{}</script>\n</body>\n</html>\n", kPageScript);
  return text;
}

}  // namespace gputopo::report
