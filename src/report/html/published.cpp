#include "report/html/published.h"

#include <fmt/format.h>

#include <vector>

#include "report/compare/published.h"
#include "report/drawing/markup.h"
#include "report/html/parts.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {

Section published_section(const Topology& topology) {
  std::size_t agree = 0;
  std::size_t differ = 0;
  std::size_t unsaid = 0;
  std::size_t of_operations = 0;
  Markup items;
  std::string group;
  const std::vector<PublishedComparison> all = compare_with_published(topology);
  if (all.empty()) return {};
  for (const PublishedComparison& beside : all) {
    if (!beside.values.empty()) {
      ++(beside.agrees() ? agree : differ);
      continue;
    }
    ++unsaid;
    if (beside.group.starts_with("instructions.")) {
      ++of_operations;  // their own table lists them
      continue;
    }
    if (beside.group != group) {
      items += markup("{}<dt>{}</dt><dd>", items.empty() ? ProgramText("") : ProgramText("</dd>\n"), beside.title);
    } else {
      items += ", ";
    }
    group = beside.group;
    items += markup("{} <a href=\"#{}\">{}</a>", readable(beside.attribute),
                    evidence_anchor(beside.group, beside.attribute), value_text(*beside.own));
  }
  if (of_operations > 0) {
    items += markup("{}<dt>Operations</dt><dd><a href=\"#h-compute\">{} latencies and throughputs</a>",
                    items.empty() ? ProgramText("") : ProgramText("</dd>\n"), of_operations);
  }
  Markup text = markup(
      "\n<p>Values that agree with a published value for a GPU of this name: {}. Values that differ from every "
      "published value: {}. The evidence of each value lists the published values and their sources.</p>\n",
      agree, differ);
  if (!items.empty()) {
    text += markup(
        "<details><summary>Values without a published value known to gputopo: {}</summary>\n<dl "
        "class=\"unsaid\">{}</dd></dl></details>\n",
        unsaid, items);
  }
  return section("", "h-published", "Published values", text);
}

}  // namespace gputopo::report
