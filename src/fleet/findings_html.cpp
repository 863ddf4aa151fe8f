#include "fleet/findings_html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "fleet/findings.h"
#include "report/html/page.h"
#include "report/words/units.h"

namespace gputopo::fleet {
namespace {

using report::Markup;
using report::markup;
using report::ProgramText;

// Largest number of GPUs in a map: odd ones first, then the farthest off. It keeps pages of large fleets small.
constexpr std::size_t kMapRows = 100;
constexpr std::size_t kWholeFindings = 20;  // findings that also show their ordinary values
constexpr int kShades = 4;                  // on each side
constexpr double kOfShade = 2;              // deviations per shade

// Added to the style of all pages. Colorblind readers can tell blue from red, and strong deviations also show a number.
constexpr std::string_view kStyle =
    "table.map{border-collapse:collapse;font-size:11px;width:auto}table.map "
    "th.path{writing-mode:vertical-rl;transform:rotate(180deg);font-weight:normal;text-align:left}table.map "
    "td{width:14px;min-width:14px;height:16px;padding:0;text-align:center;border:1px solid "
    "#ffffff;color:#1c2430}table.map "
    "th[scope=row]{font-weight:normal;text-align:left;white-space:nowrap;padding-right:6px}.scroll{overflow-x:auto}.s{"
    "background:#eef1f5}.w1{background:#fbe3dc}.w2{background:#f5b9a8}.w3{background:#e67f66}.w4{background:#c9432e}."
    "b1{background:#dfeaf8}.b2{background:#b3cff0}.b3{background:#76a7e0}.b4{background:#3b76b8}table.map "
    "td.w4,table.map td.b4{color:#ffffff}@media (prefers-color-scheme:dark){table.map "
    "td{border-color:#12161c;color:#e4e9f0}.s{background:#232a34}.w1{background:#43251f}.w2{background:#6b2f24}.w3{"
    "background:#9c3a29}.w4{background:#d9543c}.b1{background:#1d2f45}.b2{background:#25476e}.b3{background:#2f66a3}."
    "b4{background:#4c8fd8}}";

Markup cell(float score) {
  if (std::isnan(score)) return Markup("<td></td>");
  const double size = std::abs(static_cast<double>(score));
  const int shade = std::min(kShades, static_cast<int>(size / kOfShade));
  if (shade == 0) return Markup("<td class=\"s\"></td>");
  constexpr double kMost = 99;
  return markup("<td class=\"{}{}\">{:.0f}</td>", score > 0 ? "w" : "b", shade, std::min(size, kMost));
}

std::string anchor(std::size_t finding) { return fmt::format("odd-{}", finding); }

using Places = std::map<std::string, std::size_t>;

std::vector<std::size_t> rows_of(const Group& group, const Places& odd) {
  std::vector<std::size_t> rows(group.names.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::vector<double> farthest(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < group.paths.size(); ++i) {
      const double score = std::abs(static_cast<double>(group.scores[row * group.paths.size() + i]));
      if (score > farthest[row]) farthest[row] = score;
    }
    if (odd.contains(group.names[row].gpu)) farthest[row] = INFINITY;
  }
  const std::size_t shown = std::min(rows.size(), kMapRows);
  std::ranges::stable_sort(rows, std::ranges::greater{}, [&](std::size_t row) { return farthest[row]; });
  rows.resize(shown);
  return rows;
}

Markup map_of(const Group& group, const Places& odd) {
  if (group.paths.empty()) return {};
  Markup text("<div class=\"scroll\" tabindex=\"0\"><table class=\"map\"><thead><tr><td></td>");
  for (const std::string& path : group.paths) {
    text += markup("<th scope=\"col\" class=\"path\">{}</th>", path);
  }
  text += "</tr></thead><tbody>\n";
  const std::vector<std::size_t> rows = rows_of(group, odd);
  for (const std::size_t row : rows) {
    const auto finding = odd.find(group.names[row].gpu);
    const std::string name = called(group.names[row]);
    text += markup(
        "<tr><th scope=\"row\">{}</th>",
        finding == odd.end() ? markup("{}", name) : markup("<a href=\"#{}\">{}</a>", anchor(finding->second), name));
    for (std::size_t i = 0; i < group.paths.size(); ++i) text += cell(group.scores[row * group.paths.size() + i]);
    text += "</tr>\n";
  }
  text += "</tbody></table></div>\n";
  if (rows.size() < group.names.size()) {
    text += markup("<p class=\"facts\">{} of {} GPUs: the outliers, then the GPUs that deviate most.</p>\n",
                   rows.size(), group.names.size());
  }
  return text;
}

Markup groups_html(const Judgement& judgement, const Places& odd) {
  Markup text(
      "<section><h2>All GPUs</h2>\n<p>Deviations from the rest of the group. Red is worse and blue is better. If a "
      "value has no better direction, red is higher and blue is lower. Numbers are deviations of 2 or more.</p>\n");
  for (const Group& group : judgement.groups) {
    text += markup("<h3>{}</h3>\n<p class=\"facts\">{} GPUs, {} values compared by their spread across GPUs{}{}</p>\n",
                   group_title(group), group.gpus, group.values, group.note.empty() ? "" : "; ", group.note);
    text += map_of(group, odd);
  }
  return text + "</section>\n";
}

Markup value_row(const OutlierValue& value) {
  const std::string_view judged = value.worse > 0 ? "worse" : value.worse < 0 ? "better" : "";
  return markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", value.path, describe(value),
                judged, to_string(value.basis), value.decides ? "yes" : "");
}

// The values that are not odd, for readers who want everything about the GPU.
Markup others_html(const Finding& finding) {
  Markup text = markup(
      "<details><summary>The other {} values</summary>\n<div class=\"scroll\"><table><thead><tr><th "
      "scope=\"col\">Value</th><th scope=\"col\">Found and expected</th></tr></thead><tbody>\n",
      finding.others.size());
  for (const OutlierValue& value : finding.others) {
    text += markup("<tr><td>{}</td><td>{}</td></tr>\n", value.path, describe(value));
  }
  return text + "</tbody></table></div></details>\n";
}

Markup finding_html(const Judgement& judgement, std::size_t index) {
  const Finding& finding = judgement.findings[index];
  const Group& group = judgement.groups[finding.who.group];
  Markup text = markup("<details id=\"{}\"{}><summary><strong>{}</strong> {}</summary>\n", anchor(index),
                       index == 0 ? ProgramText(" open") : ProgramText(""), called(finding.who), finding.where);
  text += markup("<p class=\"facts\">GPU {}{}{}{}{}; {}{}</p>\n", finding.who.gpu,
                 finding.who.host.empty() ? "" : ", host ", finding.who.host,
                 finding.who.document.empty() ? "" : ", file ", finding.who.document, group_title(group),
                 finding.p_value > 0 ? fmt::format("; p-value: {:.1g}", finding.p_value) : "");
  text +=
      "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Value</th><th scope=\"col\">Found and "
      "expected</th><th scope=\"col\">Worse or better</th><th scope=\"col\">Compared by</th><th "
      "scope=\"col\">Decisive</th></tr></thead><tbody>\n";
  for (const OutlierValue& value : finding.values) text += value_row(value);
  text += "</tbody></table></div>\n";
  if (index < kWholeFindings && !finding.others.empty()) text += others_html(finding);
  return text + "</details>\n";
}

Markup not_judged_html(const Judgement& judgement) {
  if (judgement.not_judged.empty()) return {};
  Markup text(
      "<section><h2>Not judged</h2>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\">GPU</th><th "
      "scope=\"col\">Part</th><th scope=\"col\">What is missing</th></tr></thead><tbody>\n");
  for (const NotJudged& one : judgement.not_judged) {
    text += markup("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", called(one.who), one.part, one.text);
  }
  return text + "</tbody></table></div></section>\n";
}

}  // namespace

std::string findings_to_html(const Judgement& judgement) {
  const bool is_simulated = std::ranges::any_of(judgement.groups, &Group::simulated);
  Markup text =
      markup("<header class=\"top\">\n<div><h1>Fleet</h1>\n<p class=\"facts\">{}</p>\n{}</div>\n{}</header>\n",
             summary(judgement),
             judgement.last == 0 ? Markup()
                                 : markup("<p class=\"facts\">measured from {} to {}</p>\n",
                                          timestamp_text(judgement.first), timestamp_text(judgement.last)),
             is_simulated ? ProgramText("<div class=\"badges\"><p class=\"simulated\">SIMULATED</p></div>\n")
                          : ProgramText(""));
  text += "<main id=\"main\">\n";
  for (const std::string& note : judgement.notes) text += markup("<p class=\"note\">{}</p>\n", note);
  Places odd;
  text += "<section><h2>Outliers</h2>\n";
  if (judgement.findings.empty()) text += "<p>None.</p>\n";
  for (std::size_t i = 0; i < judgement.findings.size(); ++i) {
    odd.emplace(judgement.findings[i].who.gpu, i);
    text += finding_html(judgement, i);
  }
  text += "</section>\n" + not_judged_html(judgement);
  text += groups_html(judgement, odd) + "</main>\n";
  static const std::string kPageAndMapStyle = std::string(report::kPageStyle) + std::string(kStyle);
  return report::page_frame("Fleet: " + summary(judgement), ProgramText::trusted(kPageAndMapStyle), text).text();
}

}  // namespace gputopo::fleet
