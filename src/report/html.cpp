// One report as one HTML file. All that can be read is in the markup; the script adds what moves: plots, filters,
// export.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "gputopo/report.h"
#include "report/advice.h"
#include "report/chip.h"
#include "report/csv_text.h"
#include "report/curve.h"
#include "report/hierarchy.h"
#include "report/html_compute.h"
#include "report/html_glossary.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/html_published.h"
#include "report/markup.h"
#include "report/published.h"
#include "report/unit_map.h"
#include "report/units.h"

namespace gputopo {
namespace {

using report::escaped;
using report::evidence_anchor;
using report::readable;
using report::source_badge;
using report::value_link;
using Group = report::ValueGroup;

// ---- Sections ----

std::string warnings(const Topology& topology) {
  std::string items;
  for (const std::string& warning : report::report_warnings(topology)) {
    items += fmt::format("<li>{}</li>\n", escaped(warning));
  }
  if (!topology.complete) items += "<li>This discovery ended early: what was not reached is marked unavailable.</li>\n";
  if (items.empty()) return "";
  return fmt::format(
      "<section class=\"warnings\" aria-labelledby=\"h-warnings\"><h2 id=\"h-warnings\">Warnings</h2><ul>\n{}"
      "</ul></section>\n",
      items);
}

std::string drawing(const Topology& topology) {
  const report::Chip chip = report::chip_of(topology);
  const std::string heat =
      chip.heat.empty() || chip.drawn.empty()
          ? ""
          : fmt::format("<button type=\"button\" id=\"heat\" hidden>L2 latency of each {}</button>\n", chip.unit_name);
  return fmt::format(
      "<section aria-labelledby=\"h-chip\"><h2 id=\"h-chip\">The chip</h2>\n{}<p class=\"hint wide\">The drawing "
      "is wider than this screen: scroll it sideways.</p>\n<div class=\"chip\">\n<div class=\"scroll\" "
      "tabindex=\"0\" role=\"region\" aria-label=\"Drawing of the chip\">{}</div>\n"
      "<div class=\"panel\" id=\"part\" aria-live=\"polite\"><p class=\"hint\">Point at a memory, or move to it with "
      "the tab key, to see its values, their 95% intervals, methods and sources.</p></div>\n</div></section>\n",
      heat, report::chip_svg(topology, false));
}

std::string curves(const Topology& topology, std::vector<report::PlacedChart>& charts) {
  std::string figures;
  std::string heading;
  for (auto* const make : {report::latency_curve, report::bandwidth_curve}) {
    std::optional<report::Curve> curve = make(topology);
    if (!curve) continue;
    heading += (heading.empty() ? "" : " and ") + curve->chart.y.label;
    figures += report::figure(charts.size(), curve->chart, curve->holder);
    charts.push_back({0, "", "", std::move(curve->chart), std::move(curve->holder.samples.front())});
  }
  if (figures.empty()) return "";
  heading.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(heading.front())));
  return fmt::format(
      "<section aria-labelledby=\"h-curve\"><h2 id=\"h-curve\">{} over footprint</h2>\n"
      "<div class=\"beside curves\">{}</div></section>\n",
      heading, figures);
}

const char* number_class(const report::HierarchyColumn& column) {
  return column.align == report::Align::kRight ? " class=\"number\"" : "";
}

// What a cell of the hierarchy says, and the signs beside it.
std::string hierarchy_cell(const Topology& topology, const MemoryElement& element,
                           const report::HierarchyColumn& column, const std::string& signs) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  if (attribute == nullptr || attribute->reason == Reason::kNotSelected) return "";
  const bool is_said = report::has_cell(column, {topology, element, *attribute});
  const bool is_silent = attribute->reason == Reason::kNotApplicable;
  // What others say of it has no evidence here.
  if (is_said && is_silent) return escaped(column.format({topology, element, *attribute}));
  if (is_silent) return column.repeats ? "" : "<span class=\"absent\">n/a</span>";
  std::string text = column.repeats ? "" : "?";
  if (is_said) text = column.format({topology, element, *attribute});
  std::string cell;
  if (!text.empty()) cell = value_link(*attribute, element.id, std::string(to_string(column.attribute)), text);
  if (!signs.empty()) cell += fmt::format(" <span class=\"marks\">{}</span>", escaped(signs));
  return cell;
}

std::string signs_of(const MemoryElement& element, const report::HierarchyColumn& column) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  return attribute == nullptr || column.repeats ? "" : report::marks(*attribute);
}

std::string hierarchy(const Topology& topology) {
  std::vector<const MemoryElement*> elements = report::speaking_elements(topology);
  std::erase_if(elements, [](const MemoryElement* element) { return !report::holds_data(*element); });
  if (elements.empty()) {
    return "<section><h2>The memory hierarchy</h2><p>No memory was measured.</p></section>\n";
  }
  std::string head = "<th scope=\"col\">memory</th>";
  for (const report::HierarchyColumn& column : report::hierarchy_columns()) {
    const std::string heading = report::heading_in(topology, column);
    head += fmt::format("<th scope=\"col\"{}>{}</th>", number_class(column),
                        escaped(heading.substr(heading.front() == '\n' ? 1 : 0)));
  }
  std::string rows;
  std::string used;
  for (const MemoryElement* element : elements) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(element->title));
    for (const report::HierarchyColumn& column : report::hierarchy_columns()) {
      const std::string signs = signs_of(*element, column);
      used += signs;
      rows += fmt::format("<td{}>{}</td>", number_class(column), hierarchy_cell(topology, *element, column, signs));
    }
    rows += "</tr>\n";
  }
  return fmt::format(
      "<section aria-labelledby=\"h-hierarchy\"><h2 id=\"h-hierarchy\">The memory hierarchy</h2>\n<div "
      "class=\"scroll\" "
      "tabindex=\"0\" role=\"region\" aria-label=\"Table of the memory hierarchy\"><table "
      "class=\"hierarchy\"><thead><tr>{}</tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n<p class=\"legend\">{}; ?: unavailable, the link says why.</p></section>\n",
      head, rows, escaped(report::marks_legend(used)));
}

std::string advice(const Topology& topology) {
  std::string items;
  for (const report::Advice& one : report::advice_of(topology)) {
    std::string links;
    for (const auto& [group, attribute] : one.grounds) {
      links += fmt::format(" <a href=\"#{}\">{}</a>", evidence_anchor(group, attribute),
                           escaped(report::json_path(group, attribute)));
    }
    items += fmt::format("<dt>{}</dt><dd>{} <span class=\"grounds\">From{}</span></dd>\n", escaped(one.topic),
                         escaped(one.text), links);
  }
  if (items.empty()) return "";
  return fmt::format(
      "<section aria-labelledby=\"h-advice\"><h2 id=\"h-advice\">What to do with it</h2>\n<dl class=\"advice\">{}"
      "</dl></section>\n",
      items);
}

std::string value_row(const Group& group, const std::string& id, const Attribute& attribute) {
  const bool available = attribute.available();
  std::string flags;
  for (const std::string& flag : attribute.flags) {
    flags += fmt::format(" <span class=\"flag\">{}</span>", escaped(readable(flag)));
  }
  return fmt::format(
      "<tr data-group=\"{}\" data-source=\"{}\" data-path=\"{}\" data-csv=\"{}\"><td>{}</td><th "
      "scope=\"row\">{}</th><td "
      "class=\"number\">{}</td><td class=\"interval\">{}</td><td>{}</td>"
      "<td>{}{}</td></tr>\n",
      escaped(group.id), to_string(attribute.source), escaped(group.path + "." + id),
      escaped(report::csv_line(group.path, id, attribute)), escaped(group.title), escaped(readable(id)),
      value_link(attribute, group.id, id,
                 available ? report::brief_value_text(attribute) + report::extent_text(id) : "?"),
      escaped(report::interval_text(attribute)), source_badge(attribute),
      escaped(available ? report::method_text(attribute) : report::why_absent(attribute)), flags);
}

std::string values(const std::vector<Group>& groups) {
  std::string options;
  std::string rows;
  for (const Group& group : groups) {
    std::string own;
    for (const auto& [id, attribute] : *group.attributes) {
      if (!report::is_silent(attribute)) own += value_row(group, id, attribute);
    }
    if (own.empty()) continue;
    rows += own;
    options += fmt::format("<option value=\"{}\">{}</option>", escaped(group.id), escaped(group.title));
  }
  std::string sources;
  for (const Source source : {Source::kMeasured, Source::kApi, Source::kInferred, Source::kUnavailable}) {
    sources += fmt::format("<option value=\"{0}\">{0}</option>", to_string(source));
  }
  return fmt::format(
      "<section aria-labelledby=\"h-values\"><h2 id=\"h-values\">Every value</h2>\n"
      "<form class=\"filters\" id=\"filters\" hidden><label>Search <input type=\"search\" id=\"filter-text\"></label>\n"
      "<label>Element <select id=\"filter-group\"><option value=\"\">all</option>{}</select></label>\n"
      "<label>Source <select id=\"filter-source\"><option value=\"\">all</option>{}</select></label>\n"
      "<button type=\"button\" id=\"export-values\">CSV</button> <button type=\"button\" "
      "id=\"export-report\">JSON</button> "
      "<output id=\"filter-count\" for=\"filter-text filter-group filter-source\"></output></form>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of every value\"><table "
      "id=\"values\" data-csv=\"{}\"><thead><tr>"
      "<th scope=\"col\">element</th><th scope=\"col\">attribute</th><th scope=\"col\" class=\"number\">value</th>"
      "<th scope=\"col\">95% interval</th><th scope=\"col\">source</th><th scope=\"col\">method or "
      "reason</th></tr></thead>\n"
      "<tbody>\n{}</tbody></table></div></section>\n",
      options, sources, report::kValueColumns, rows);
}

std::string named_values(const char* heading, const NamedValues& named, const Attribute& attribute) {
  if (named.empty()) return "";
  std::string items;
  for (const auto& [label, text] : report::named_texts(named, attribute)) {
    items += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(label), escaped(text));
  }
  return fmt::format("<h4>{}</h4><dl>{}</dl>\n", heading, items);
}

// What others say of each value, by group and attribute.
using Published = std::map<std::pair<std::string, std::string>, std::string>;

Published published(const Topology& topology) {
  Published texts;
  for (const report::PublishedBeside& beside : report::published_beside(topology)) {
    if (beside.values.empty()) continue;
    std::string& text = texts[{beside.group, beside.attribute}];
    for (const report::PublishedValue& value : beside.values) {
      text += fmt::format("<li>{}: {}</li>", escaped(report::published_text(beside, value)), escaped(value.source));
    }
    text = fmt::format("<h4>Published</h4><ul class=\"published\">{}</ul>\n", text);
  }
  return texts;
}

// What stands behind one value: how it came about, its samples as plots.
std::string evidence_of(const Group& group, const std::string& id, const Attribute& attribute,
                        const Published& published, std::vector<report::PlacedChart>& charts) {
  std::string figures;
  for (report::Chart& chart : report::charts_of(group.title + ": " + readable(id), readable(id), attribute)) {
    figures += report::figure(charts.size(), chart, attribute);
    charts.push_back({0, group.id, id, std::move(chart)});
  }
  std::string facts;
  if (!attribute.available()) {
    facts = fmt::format("<p>Unavailable: {}.</p>", escaped(report::why_absent(attribute)));
  } else {
    std::string origin;  // HTML
    switch (attribute.source) {
      case Source::kApi:
        origin = "The vendor's interface says so.";
        break;
      case Source::kInferred:
        origin = "Inferred: from a table or by arithmetic.";
        break;
      default:
        break;
    }
    const std::string method = report::method_link(attribute);
    if (!method.empty()) origin += fmt::format(" Method: {}.", method);
    const std::string interval = report::interval_text(attribute);
    facts = fmt::format("<p><strong>{}</strong>{} {} {} {}</p>", escaped(report::brief_value_text(attribute)),
                        report::extent_text(id), escaped(interval), source_badge(attribute), origin);
    const std::vector<std::string> groups = report::unit_groups_ranges(attribute.value);
    constexpr std::size_t kLongestList = 16;
    if (groups.size() > kLongestList) {
      facts += fmt::format("<p class=\"groups\">{}</p>", escaped(fmt::format("{}", fmt::join(groups, "; "))));
    } else if (!groups.empty()) {
      std::string items;
      for (const std::string& group_of_units : groups) items += fmt::format("<li>{}</li>", escaped(group_of_units));
      facts += fmt::format("<ol class=\"groups\">{}</ol>", items);
    }
  }
  for (const std::string& flag : attribute.flags) {
    facts += fmt::format("<p class=\"flag\">Flagged by the consistency check: {}.</p>", escaped(readable(flag)));
  }
  if (const std::string note = report::details_note(attribute); !note.empty()) {
    facts += fmt::format("<p class=\"note\">Of the details, {}.</p>", escaped(note));
  }
  if (const auto beside = published.find({group.id, id}); beside != published.end()) facts += beside->second;
  facts += fmt::format("<p class=\"path\"><code>{}</code></p>\n", escaped(report::json_path(group.id, id)));
  return fmt::format(
      "<details class=\"evidence\" id=\"{}\"><summary><h3>{}</h3> <span class=\"value\">{}</span></summary>\n"
      "<div class=\"evidence-body\"><div class=\"facts-column\">{}\n{}{}</div>\n<div "
      "class=\"charts\">{}</div></div></details>\n",
      evidence_anchor(group.id, id), escaped(group.title + ": " + readable(id)),
      escaped(attribute.available() ? report::brief_value_text(attribute) : "unavailable"), facts,
      named_values("Details", attribute.details, attribute),
      named_values("Conditions", attribute.conditions, attribute), figures);
}

std::string evidence(const std::vector<Group>& groups, const Published& published,
                     std::vector<report::PlacedChart>& charts) {
  std::string text =
      "<section class=\"folded\" aria-labelledby=\"h-evidence\"><h2 id=\"h-evidence\">Evidence</h2>\n"
      "<noscript><p>The plots need JavaScript.</p></noscript>\n";
  for (const Group& group : groups) {
    std::string own;
    bool is_known = false;
    for (const auto& [id, attribute] : *group.attributes) {
      if (report::is_silent(attribute)) continue;
      own += evidence_of(group, id, attribute, published, charts);
      is_known = is_known || attribute.available();
    }
    if (is_known || own.empty()) {
      text += own;
    } else {
      // A dozen reasons of one element that is not there are one thing to pass over.
      text += fmt::format(
          "<details class=\"evidence nothing\"><summary><h3>{}</h3> <span class=\"value\">nothing is known of it"
          "</span></summary>\n{}</details>\n",
          escaped(group.title), own);
    }
  }
  return text + "</section>\n";
}

// Links to the sections that there are, by their headings.
std::string contents(std::string_view sections) {
  constexpr std::string_view kHeading = "<h2 id=\"";
  std::string items;
  for (std::size_t at = 0; (at = sections.find(kHeading, at)) != std::string_view::npos;) {
    at += kHeading.size();
    const std::size_t id_end = sections.find('"', at);
    const std::size_t begin = id_end + std::string_view("\">").size();
    items += fmt::format("<li><a href=\"#{}\">{}</a></li>", sections.substr(at, id_end - at),
                         sections.substr(begin, sections.find("</h2>", begin) - begin));
  }
  return items.empty() ? "" : fmt::format("<nav class=\"contents\" aria-label=\"Contents\"><ul>{}</ul></nav>\n", items);
}

std::string timing(const Topology& topology) {
  if (topology.timing.empty()) return "";
  std::string rows;
  for (const ProbeTime& probe : topology.timing) {
    rows += fmt::format("<tr><td>{}</td><td class=\"number\">{:.3f}</td><td class=\"number\">{}</td></tr>\n",
                        escaped(probe.probe), probe.seconds, probe.programs);
  }
  return fmt::format(
      "<section class=\"folded\" aria-labelledby=\"h-run\"><h2 id=\"h-run\">The run</h2>\n<details><summary>{:.2f} s "
      "in {} "
      "probes</summary>"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Time of each probe\">"
      "<table><thead><tr><th scope=\"col\">probe</th><th scope=\"col\" class=\"number\">seconds</th>"
      "<th scope=\"col\" "
      "class=\"number\">programs</th></tr></thead><tbody>\n{}</tbody></table></div></details></section>\n",
      topology.total_seconds, topology.timing.size(), rows);
}

}  // namespace

std::string to_html(const Topology& topology) {
  const Topology thinned = report::thinned_to(topology, report::kMaxNumbersOfPage);
  const std::vector<Group> groups = report::value_groups(thinned);
  report::Page page;
  page.title = report::device_title(thinned) + " - gputopo";
  page.reports = {&thinned};
  std::string sections = warnings(thinned) + drawing(topology);
  sections += curves(topology, page.charts);
  sections += hierarchy(thinned);
  sections += report::compute_section(thinned, page.charts);
  sections += advice(thinned) + report::published_section(thinned) + values(groups);
  sections += evidence(groups, published(thinned), page.charts) + report::glossary_section(groups) + timing(thinned);
  page.body = report::page_header(page.reports, thinned.name) + contents(sections) + "<main id=\"main\">\n" + sections +
              "</main>\n";
  return report::html_page(page);
}

}  // namespace gputopo
