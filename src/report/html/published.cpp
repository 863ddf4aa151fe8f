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
  const std::vector<PublishedBeside> all = published_beside(topology);
  if (all.empty()) return {};
  for (const PublishedBeside& beside : all) {
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
      "\n<p>{} of its numbers agree with one that was published of such a GPU, {} with none of those; the evidence of "
      "each has them, with their sources.</p>\n",
      agree, differ);
  if (!items.empty()) {
    text += markup(
        "<details><summary>{} more: gputopo knows of nobody who published these</summary>\n<dl "
        "class=\"unsaid\">{}</dd></dl></details>\n",
        unsaid, items);
  }
  return section("", "h-published", "What is new", text);
}

}  // namespace gputopo::report
