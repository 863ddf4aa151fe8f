// A node as one page without scripts or network access: the picture, every matrix with intervals, and the GPUs.
#include <fmt/format.h>

#include "gputopo/node.h"
#include "node/node_svg.h"
#include "node/node_view.h"
#include "report/drawing/chart.h"
#include "report/drawing/plot.h"
#include "report/html/page.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo {
namespace {

using report::Markup;
using report::markup;

constexpr report::ProgramText kNodeStyle = R"(
:root{color-scheme:light dark}
body{font:16px/1.45 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem;color:#1c2430;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid #c3cad4}
th:first-child,td:first-child,.words{text-align:left}
.scroll{overflow-x:auto}.faint{color:#5b6675}.alert{color:#b3261e;font-weight:600}
svg{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){body{color:#e6eaf0;background:#14181e}th,td{border-color:#3a4350}
.faint{color:#a3adba}.alert{color:#ff8a80}}
)";

// `text` is the matrix's value. The interval stands below it; a missing value shows its reason as the tooltip.
Markup cell_html(const Attribute* attribute, const std::string& text) {
  const std::string shown = text.empty() ? "–" : text;
  if (attribute == nullptr) return markup("<td title=\"\">{}</td>", shown);
  if (!attribute->available()) return markup("<td title=\"{}\">{}</td>", report::why_absent(*attribute), shown);
  return markup("<td title=\"\">{}<br><small class=\"faint\">{}</small></td>", shown,
                report::interval_text(*attribute));
}

Markup matrix_html(const node::LinkIndex& links, const node::Matrix& matrix) {
  Markup html = markup("<h2 id=\"{}\">{}</h2>\n<div class=\"scroll\"><table>\n<tr><th>from \\ to</th>",
                       matrix.attribute, matrix.title);
  for (const Endpoint& column : matrix.columns) html += markup("<th scope=\"col\">{}</th>", to_text(column));
  html += "</tr>\n";
  for (const node::Matrix::Row& row : matrix.rows) {
    html += markup("<tr><th scope=\"row\">{}</th>", to_text(row.from));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      html += cell_html(links.find(row.from, matrix.columns[i], matrix.attribute), row.cells[i]);
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

Markup gpus_html(const NodeReport& report) {
  Markup html(
      "<h2>GPUs</h2>\n<div class=\"scroll\"><table>\n<tr><th>GPU</th><th class=\"words\">model and "
      "location</th><th>memory read</th><th>L2</th><th>L2 latency</th></tr>\n");
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    const NodeGpuReport& gpu = report.gpus[i];
    html += markup("<tr><td>gpu{}</td><td class=\"words\">{}</td>", i, node::gpu_text(report, i));
    if (!gpu.report) {
      html += markup("<td colspan=\"3\" class=\"{}\">{}</td></tr>\n", gpu.failure.empty() ? "faint" : "alert",
                     gpu.failure.empty() ? "not requested" : gpu.failure);
      continue;
    }
    for (const auto& [element, attribute] :
         {std::pair{ElementId::kDevice, AttributeId::kReadBandwidth}, std::pair{ElementId::kL2, AttributeId::kSize},
          std::pair{ElementId::kL2, AttributeId::kLatency}}) {
      const Attribute* value = gpu.report->find_attribute(element, attribute);
      const bool has = value != nullptr && value->available();
      html += markup("<td title=\"{}\">{}</td>", has ? report::interval_text(*value) : "",
                     has ? report::value_text(*value) : "–");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

Markup together_html(const NodeReport& report) {
  if (report.together.empty()) return {};
  Markup html(
      "<h2>Simultaneous transfers</h2>\n<div class=\"scroll\"><table>\n<tr><th>transfers</th><th>together</th>"
      "<th>slowest vs. alone</th></tr>\n");
  for (const ConcurrentReport& entry : report.together) {
    const Attribute* total = find(entry.attributes, "together_bandwidth");
    const Attribute* share = find(entry.attributes, "min_rate_fraction");
    const bool has = share != nullptr && share->available();
    html += markup("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", entry.title,
                   total == nullptr || !total->available() ? "" : report::value_text(*total),
                   has ? fmt::format("{:.0f}%", 100 * share->number().value_or(0)) : "–");
  }
  html += "</table></div>\n<ul>\n";
  for (const ConcurrentReport& entry : report.together) {
    for (const std::string& line : node::sharing_texts(entry)) {
      html += markup("<li>{}: {}</li>\n", entry.title, line);
    }
  }
  return html + "</ul>\n";
}

// Rate by copy size: one curve for each link, folded under the link's name.
Markup sizes_html(const NodeReport& report) {
  Markup html;
  for (const LinkReport& link : report.links) {
    const Attribute* half = find(link.attributes, "half_bandwidth_copy_size");
    if (half == nullptr) continue;
    const std::string name = link_name(link.from, link.to);
    for (const report::Chart& chart :
         report::charts_of(name + ": copy bandwidth by size", "half the bandwidth", *half)) {
      html += markup("<details><summary>{}</summary>{}</details>\n", name, report::plot_svg(chart));
    }
  }
  return html.empty() ? Markup() : "<h2>Copy bandwidth by size</h2>\n" + html;
}

Markup judgement_html(const NodeReport& report) {
  if (report.verdicts.empty()) return {};
  Markup html = markup("<h2>Judgement</h2>\n<p class=\"{}\">{}: {}</p>\n",
                       outcome_of(report.verdicts) == Outcome::kGood ? "" : "alert",
                       to_string(outcome_of(report.verdicts)), node::judgement_summary(report));
  html += "<ul>\n";
  for (const Verdict& verdict : report.verdicts) {
    if (verdict.outcome == Outcome::kGood) continue;
    html += markup("<li>{}: {}</li>\n", to_string(verdict.outcome), node::verdict_text(verdict));
  }
  return html + "</ul>\n";
}

Markup peers_html(const NodeReport& report) {
  Markup html;
  for (const std::string& line : node::peer_texts(report)) html += markup("<p>{}</p>\n", line);
  return html;
}

}  // namespace

std::string node_to_html(const NodeReport& report) {
  const std::string title =
      fmt::format("{}: {}", report.host_name.empty() ? "Node" : report.host_name, node::models_text(report));
  Markup html = markup("<main>\n<h1>{}</h1>\n", title);
  if (report.simulated) html += "<p class=\"alert\">SIMULATED</p>\n";
  html += markup("<p class=\"faint\">{} · {} · {}{}</p>\n", report.host_cpu, report.os, report.timestamp,
                 report.driver_version.empty() ? "" : " · driver " + report.driver_version);
  html += node::node_svg(report) + peers_html(report) + judgement_html(report);
  const std::vector<std::string> remarks = node::remarks_of(report);
  if (!remarks.empty()) html += "<h2>Warnings</h2>\n<ul>\n";
  for (const std::string& remark : remarks) html += markup("<li>{}</li>\n", remark);
  if (!remarks.empty()) html += "</ul>\n";
  html += gpus_html(report);
  const node::LinkIndex links(report);
  for (const node::Matrix& matrix : node::matrices_of(report)) html += matrix_html(links, matrix);
  html += sizes_html(report) + together_html(report);
  html +=
      "<p class=\"faint\">host0, host1, ... are the memories of the NUMA nodes. 95% intervals are in parentheses. "
      "The JSON report has details and samples. docs/methods/links.md explains each value and how it is "
      "measured.</p>\n";
  return report::page_frame(title, kNodeStyle, html + "</main>\n").text();
}

}  // namespace gputopo
