// One report as one HTML file. The markup holds all readable text; the script adds plots, filters and export.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "gputopo/report.h"
#include "report/compare/published.h"
#include "report/drawing/bandwidth_curve.h"
#include "report/drawing/chip.h"
#include "report/drawing/curve.h"
#include "report/drawing/svg.h"
#include "report/html/compute.h"
#include "report/html/glossary.h"
#include "report/html/page.h"
#include "report/html/parts.h"
#include "report/html/published.h"
#include "report/words/advice.h"
#include "report/words/csv_text.h"
#include "report/words/device_facts.h"
#include "report/words/hierarchy.h"
#include "report/words/unit_map.h"
#include "report/words/units.h"

namespace gputopo {
namespace {

using report::evidence_anchor;
using report::Markup;
using report::markup;
using report::ProgramText;
using report::readable;
using report::Section;
using report::section;
using report::source_badge;
using report::value_link;
using Group = report::ValueGroup;

// ---- Sections ----

Section warnings(const Topology& topology) {
  Markup items;
  for (const std::string& warning : topology.warnings) {
    items += markup("<li>{}</li>\n", warning);
  }
  if (!topology.complete)
    items += "<li>This discovery ended early. Values that it did not reach are marked unavailable.</li>\n";
  if (items.empty()) return {};
  return section("warnings", "h-warnings", "Warnings", markup("<ul>\n{}</ul>", items));
}

Section drawing(const Topology& topology) {
  const report::Chip chip = report::chip_of(topology);
  const Markup heat =
      chip.heat.empty() || chip.drawn.empty()
          ? Markup()
          : markup("<button type=\"button\" id=\"heat\" hidden>L2 latency of each {}</button>\n", chip.unit_name);
  return section(
      "", "h-chip", "The chip",
      markup("\n{}<p class=\"hint wide\">The drawing is wider than this screen: scroll it sideways.</p>\n"
             "<div class=\"chip\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Drawing of the "
             "chip\">{}</div>\n"
             "<div class=\"panel\" id=\"part\" aria-live=\"polite\"><p class=\"hint\">Point at a memory, or move to it "
             "with the tab key, to see its values, their 95% intervals, methods and sources.</p></div>\n</div>",
             heat, report::chip_svg(topology, false)));
}

Section curves(const Topology& topology, std::vector<report::PlacedChart>& charts) {
  Markup figures;
  std::string heading;
  for (auto* const make : {report::latency_curve, report::bandwidth_curve}) {
    std::optional<report::Chart> curve = make(topology);
    if (!curve) continue;
    heading += (heading.empty() ? "" : " and ") + curve->y.label;
    figures += report::figure(charts.size(), *curve);
    charts.push_back({*std::move(curve)});
  }
  if (figures.empty()) return {};
  heading.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(heading.front())));
  return section("", "h-curve", heading + " over footprint",
                 markup("\n<div class=\"beside curves\">{}</div>", figures));
}

ProgramText number_class(const report::HierarchyColumn& column) {
  return column.align == report::Align::kRight ? ProgramText(" class=\"number\"") : ProgramText("");
}

Markup hierarchy_cell(const Topology& topology, const MemoryElement& element, const report::HierarchyColumn& column,
                      const std::string& signs) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  if (attribute == nullptr || attribute->reason == Reason::kNotSelected) return {};
  const bool is_said = report::has_cell(column, {topology, element, *attribute});
  const bool needs_no_reason = attribute->reason == Reason::kNotApplicable;
  // A value derived from other elements has no evidence of its own.
  if (is_said && needs_no_reason) return markup("{}", column.format({topology, element, *attribute}));
  if (needs_no_reason) return column.repeats ? Markup() : Markup("<span class=\"absent\">n/a</span>");
  std::string text = column.repeats ? "" : "?";
  if (is_said) text = column.format({topology, element, *attribute});
  Markup cell;
  if (!text.empty()) cell = value_link(*attribute, element.id, std::string(to_string(column.attribute)), text);
  if (!signs.empty()) cell += markup(" <span class=\"marks\">{}</span>", signs);
  return cell;
}

std::string signs_of(const MemoryElement& element, const report::HierarchyColumn& column) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  return attribute == nullptr || column.repeats ? "" : report::marks(*attribute);
}

Section hierarchy(const Topology& topology) {
  std::vector<const MemoryElement*> elements = report::elements_with_values(topology);
  std::erase_if(elements, [](const MemoryElement* element) { return !report::holds_data(*element); });
  if (elements.empty()) {
    return {"", "", Markup("<section><h2>The memory hierarchy</h2><p>No memory was measured.</p></section>\n")};
  }
  Markup head("<th scope=\"col\">memory</th>");
  for (const report::HierarchyColumn& column : report::hierarchy_columns()) {
    const std::string heading = report::heading_in(topology, column);
    head +=
        markup("<th scope=\"col\"{}>{}</th>", number_class(column), heading.substr(heading.front() == '\n' ? 1 : 0));
  }
  Markup rows;
  std::string used;
  for (const MemoryElement* element : elements) {
    rows += markup("<tr><th scope=\"row\">{}</th>", element->title);
    for (const report::HierarchyColumn& column : report::hierarchy_columns()) {
      const std::string signs = signs_of(*element, column);
      used += signs;
      rows += markup("<td{}>{}</td>", number_class(column), hierarchy_cell(topology, *element, column, signs));
    }
    rows += "</tr>\n";
  }
  return section(
      "", "h-hierarchy", "The memory hierarchy",
      markup("\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of the memory "
             "hierarchy\"><table class=\"hierarchy\"><thead><tr>{}</tr></thead>\n"
             "<tbody>\n{}</tbody></table></div>\n<p class=\"legend\">{}; ?: unavailable, the link says why.</p>",
             head, rows, report::marks_legend(used)));
}

Section advice(const Topology& topology) {
  Markup items;
  for (const report::Advice& one : report::advice_of(topology)) {
    Markup links;
    for (const auto& [group, attribute] : one.grounds) {
      links +=
          markup(" <a href=\"#{}\">{}</a>", evidence_anchor(group, attribute), report::json_path(group, attribute));
    }
    items += markup("<dt>{}</dt><dd>{} <span class=\"grounds\">Based on{}</span></dd>\n", one.topic, one.text, links);
  }
  if (items.empty()) return {};
  return section("", "h-advice", "Tuning advice", markup("\n<dl class=\"advice\">{}</dl>", items));
}

Markup value_row(const Group& group, const std::string& id, const Attribute& attribute) {
  const bool available = attribute.available();
  Markup flags;
  for (const std::string& flag : attribute.flags) {
    flags += markup(" <span class=\"flag\">{}</span>", readable(flag));
  }
  return markup(
      "<tr data-group=\"{}\" data-source=\"{}\" data-path=\"{}\" data-csv=\"{}\"><td>{}</td><th "
      "scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"interval\">{}</td><td>{}</td><td>{}{}</td></tr>\n",
      group.id, to_string(attribute.source), group.path + "." + id, report::csv_line(group.path, id, attribute),
      group.title, readable(id),
      value_link(attribute, group.id, id,
                 available ? report::brief_value_text(attribute) + report::extent_text(id) : "?"),
      report::interval_text(attribute), source_badge(attribute),
      available ? report::method_text(attribute) : report::why_absent(attribute), flags);
}

Section values(const std::vector<Group>& groups) {
  Markup options;
  Markup rows;
  for (const Group& group : groups) {
    Markup own;
    for (const auto& [id, attribute] : *group.attributes) {
      if (!report::needs_no_reason(attribute)) own += value_row(group, id, attribute);
    }
    if (own.empty()) continue;
    rows += own;
    options += markup("<option value=\"{}\">{}</option>", group.id, group.title);
  }
  Markup sources;
  for (const Source source : {Source::kMeasured, Source::kApi, Source::kInferred, Source::kUnavailable}) {
    sources += markup("<option value=\"{0}\">{0}</option>", to_string(source));
  }
  return section(
      "", "h-values", "Every value",
      markup("\n"
             "<form class=\"filters\" id=\"filters\" hidden><label>Search <input type=\"search\" "
             "id=\"filter-text\"></label>\n"
             "<label>Element <select id=\"filter-group\"><option value=\"\">all</option>{}</select></label>\n"
             "<label>Source <select id=\"filter-source\"><option value=\"\">all</option>{}</select></label>\n"
             "<button type=\"button\" id=\"export-values\">CSV</button> <button type=\"button\" "
             "id=\"export-report\">JSON</button> <output id=\"filter-count\" for=\"filter-text filter-group "
             "filter-source\"></output></form>\n"
             "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of every value\"><table "
             "id=\"values\" data-csv=\"{}\"><thead><tr><th scope=\"col\">element</th><th "
             "scope=\"col\">attribute</th><th scope=\"col\" class=\"number\">value</th><th scope=\"col\">95% "
             "interval</th><th scope=\"col\">source</th><th scope=\"col\">method or reason</th></tr></thead>\n"
             "<tbody>\n{}</tbody></table></div>",
             options, sources, report::kValueColumns, rows));
}

Markup named_values(const char* heading, const NamedValues& named, const Attribute& attribute) {
  if (named.empty()) return {};
  Markup items;
  for (const auto& [label, text] : report::named_texts(named, attribute)) {
    items += markup("<dt>{}</dt><dd>{}</dd>", label, text);
  }
  return markup("<h4>{}</h4><dl>{}</dl>\n", heading, items);
}

// Published figures of each value, by group and attribute.
using Published = std::map<std::pair<std::string, std::string>, Markup>;

Published published(const Topology& topology) {
  Published texts;
  for (const report::PublishedComparison& beside : report::compare_with_published(topology)) {
    if (beside.values.empty()) continue;
    Markup& text = texts[{beside.group, beside.attribute}];
    for (const report::PublishedValue& value : beside.values) {
      text += markup("<li>{}: {}</li>", report::published_text(beside, value), value.source);
    }
    text = markup("<h4>Published</h4><ul class=\"published\">{}</ul>\n", text);
  }
  return texts;
}

Markup evidence_of(const Group& group, const std::string& id, const Attribute& attribute, const Published& published,
                   std::vector<report::PlacedChart>& charts) {
  Markup figures;
  for (report::Chart& chart : report::charts_of(group.title + ": " + readable(id), readable(id), attribute)) {
    figures += report::figure(charts.size(), chart);
    charts.push_back({std::move(chart), 0, group.id, id});
  }
  Markup facts;
  if (!attribute.available()) {
    facts = markup("<p>Unavailable: {}.</p>", report::why_absent(attribute));
  } else {
    Markup origin;
    switch (attribute.source) {
      case Source::kApi:
        origin += "Reported by the vendor's interface.";
        break;
      case Source::kInferred:
        origin += "Inferred from a table or by calculation.";
        break;
      default:
        break;
    }
    const Markup method = report::method_link(attribute);
    if (!method.empty()) origin += markup(" Method: {}.", method);
    const std::string interval = report::interval_text(attribute);
    facts = markup("<p><strong>{}</strong>{} {} {} {}</p>", report::brief_value_text(attribute),
                   report::extent_text(id), interval, source_badge(attribute), origin);
    const std::vector<std::string> groups = report::unit_groups_ranges(attribute.value);
    constexpr std::size_t kLongestList = 16;
    if (groups.size() > kLongestList) {
      facts += markup("<p class=\"groups\">{}</p>", fmt::format("{}", fmt::join(groups, "; ")));
    } else if (!groups.empty()) {
      Markup items;
      for (const std::string& group_of_units : groups) items += markup("<li>{}</li>", group_of_units);
      facts += markup("<ol class=\"groups\">{}</ol>", items);
    }
  }
  for (const std::string& flag : attribute.flags) {
    facts += markup("<p class=\"flag\">Flagged by the consistency check: {}.</p>", readable(flag));
  }
  if (const std::string note = report::details_note(attribute); !note.empty()) {
    facts += markup("<p class=\"note\">Note on the details: {}.</p>", note);
  }
  if (const auto beside = published.find({group.id, id}); beside != published.end()) facts += beside->second;
  facts += markup("<p class=\"path\"><code>{}</code></p>\n", report::json_path(group.id, id));
  return markup(
      "<details class=\"evidence\" id=\"{}\"><summary><h3>{}</h3> <span class=\"value\">{}</span></summary>\n"
      "<div class=\"evidence-body\"><div class=\"facts-column\">{}\n{}{}</div>\n<div "
      "class=\"charts\">{}</div></div></details>\n",
      evidence_anchor(group.id, id), group.title + ": " + readable(id),
      attribute.available() ? report::brief_value_text(attribute) : "unavailable", facts,
      named_values("Details", attribute.details, attribute),
      named_values("Conditions", attribute.conditions, attribute), figures);
}

Section evidence(const std::vector<Group>& groups, const Published& published,
                 std::vector<report::PlacedChart>& charts) {
  Markup text("\n<noscript><p>The plots need JavaScript.</p></noscript>\n");
  for (const Group& group : groups) {
    Markup own;
    bool is_known = false;
    for (const auto& [id, attribute] : *group.attributes) {
      if (report::needs_no_reason(attribute)) continue;
      own += evidence_of(group, id, attribute, published, charts);
      is_known = is_known || attribute.available();
    }
    if (is_known || own.empty()) {
      text += own;
    } else {
      // Folded: a dozen reasons of one absent element are a single fact.
      text += markup(
          "<details class=\"evidence nothing\"><summary><h3>{}</h3> <span class=\"value\">no value available"
          "</span></summary>\n{}</details>\n",
          group.title, own);
    }
  }
  return section("folded", "h-evidence", "Evidence", text);
}

Markup contents(const std::vector<Section>& sections) {
  Markup items;
  for (const Section& one : sections) {
    if (!one.id.empty()) items += markup("<li><a href=\"#{}\">{}</a></li>", one.id, one.heading);
  }
  return items.empty() ? Markup()
                       : markup("<nav class=\"contents\" aria-label=\"Contents\"><ul>{}</ul></nav>\n", items);
}

Section timing(const Topology& topology) {
  if (topology.timing.empty()) return {};
  Markup rows;
  for (const ProbeTime& probe : topology.timing) {
    rows += markup("<tr><td>{}</td><td class=\"number\">{:.3f}</td><td class=\"number\">{}</td></tr>\n", probe.probe,
                   probe.seconds, probe.programs);
  }
  return section("folded", "h-run", "Measurement time",
                 markup("\n<details><summary>{:.2f} s in {} probes</summary><div class=\"scroll\" tabindex=\"0\" "
                        "role=\"region\" aria-label=\"Time of each probe\"><table><thead><tr><th "
                        "scope=\"col\">probe</th><th scope=\"col\" class=\"number\">seconds</th><th scope=\"col\" "
                        "class=\"number\">programs</th></tr></thead><tbody>\n{}</tbody></table></div></details>",
                        topology.total_seconds, topology.timing.size(), rows));
}

}  // namespace

std::string to_html(const Topology& topology) {
  const Topology downsampled = report::thinned_to(topology, report::kMaxNumbersOfPage);
  const std::vector<Group> groups = report::value_groups(downsampled);
  report::Page page;
  page.title = report::device_title(downsampled) + " - gputopo";
  page.reports = {&downsampled};
  std::vector<Section> sections;
  sections.push_back(warnings(downsampled));
  sections.push_back(drawing(topology));
  sections.push_back(curves(topology, page.charts));
  sections.push_back(hierarchy(downsampled));
  sections.push_back(report::compute_section(downsampled, page.charts));
  sections.push_back(advice(downsampled));
  sections.push_back(report::published_section(downsampled));
  sections.push_back(values(groups));
  sections.push_back(evidence(groups, published(downsampled), page.charts));
  sections.push_back(report::glossary_section(groups));
  sections.push_back(timing(downsampled));
  page.body = report::page_header(page.reports, downsampled.name) + contents(sections) + "<main id=\"main\">\n";
  for (const Section& one : sections) page.body += one.markup;
  page.body += "</main>\n";
  return report::html_page(page);
}

}  // namespace gputopo
