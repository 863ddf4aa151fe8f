// The report as a table for a terminal: at most one screen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "gputopo/report.h"
#include "report/terminal/instructions.h"
#include "report/words/advice.h"
#include "report/words/first_screen.h"
#include "report/words/footnotes.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"
#include "report/words/visible_report.h"

namespace gputopo {
namespace {

using report::Align;
using report::Cell;
using report::Footnotes;
using report::HierarchyColumn;
using report::readable;
using report::TextTable;
using report::Tone;

// ---- The table ----

// How much of the table is shown: what a width allows.
struct Layout {
  int lowest_dropped_rank = 100;  // columns of this rank and above are left out
  bool brief = false;             // ids for titles, short forms of cells
  int gap = 2;
};

// From the whole to the least; the last may need a second block below the first.
constexpr Layout kLayouts[] = {{100, false, 2}, {3, false, 2}, {2, false, 2}, {2, true, 2}, {2, true, 1}, {1, true, 1}};

struct Hierarchy {
  TextTable table;
  std::vector<AttributeId> attributes;  // that have a column
  bool is_brief = false;
  bool has_letters = false;  // for caches that are shared, instead of their names
  int gap = 2;               // between its columns
};

// Of a value that there is not: what stands in its place, or the mark of why.
Cell absent_cell(const report::CellContext& context, const HierarchyColumn& column, bool brief, Footnotes& footnotes) {
  const auto& [topology, element, attribute] = context;
  if (brief && column.instead) {
    if (std::string text = column.instead(context); !text.empty()) return {std::move(text)};
  }
  if (attribute.reason == Reason::kNotApplicable) return {column.repeats ? "" : "n/a", Tone::kFaint};
  if (column.repeats) return {};
  const Attribute* fetch =
      column.attribute == AttributeId::kLineSize ? find(element.attributes, AttributeId::kFetchGranularity) : nullptr;
  const bool half_known = fetch != nullptr && fetch->available();
  return {(half_known ? column.format(context) : "-") + (brief ? "" : " ") +
              footnotes.mark(attribute, element.id, std::string(to_string(column.attribute))),
          Tone::kAlert};
}

Cell cell_of(const Topology& topology, const MemoryElement& element, const HierarchyColumn& column, bool brief,
             Footnotes& footnotes) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  if (attribute == nullptr || attribute->reason == Reason::kNotSelected) return {};
  const report::CellContext context{topology, element, *attribute};
  if (!report::has_cell(column, context)) return absent_cell(context, column, brief, footnotes);
  const Tone tone = attribute->flags.empty() ? Tone::kPlain : Tone::kAlert;
  const auto& format = brief && column.brief ? column.brief : column.format;
  std::string text = format(context);
  const std::string sign = column.repeats ? "" : report::marks(*attribute);
  const bool is_close = brief && sign.starts_with('~');  // a column may find room for it
  if (!sign.empty()) text += (is_close ? "" : " ") + sign;
  return {std::move(text), tone};
}

Hierarchy lay_out(const Topology& topology, const std::vector<const MemoryElement*>& elements, const Layout& layout,
                  Footnotes& footnotes) {
  std::vector<const HierarchyColumn*> columns;
  for (const HierarchyColumn& column : report::hierarchy_columns()) {
    if (column.rank < layout.lowest_dropped_rank) columns.push_back(&column);
  }
  std::vector<std::vector<Cell>> cells;  // by element, then column: footnotes are numbered as one reads
  for (const MemoryElement* element : elements) {
    std::vector<Cell>& row = cells.emplace_back();
    for (const HierarchyColumn* column : columns) {
      row.push_back(cell_of(topology, *element, *column, layout.brief, footnotes));
    }
  }
  Hierarchy result{.is_brief = layout.brief, .gap = layout.gap};
  result.table.columns.push_back({"memory", Align::kLeft});
  for (const MemoryElement* element : elements) {
    result.table.rows.push_back({{layout.brief ? element->id : element->title, Tone::kStrong}});
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    result.attributes.push_back(columns[c]->attribute);
    if (columns[c]->attribute == AttributeId::kLineSize) result.attributes.push_back(AttributeId::kFetchGranularity);
    const bool says_nothing = std::all_of(cells.begin(), cells.end(),
                                          [c](const auto& row) { return row[c].text.empty() || row[c].text == "n/a"; });
    if (says_nothing) continue;
    std::string heading = report::heading_in(topology, *columns[c]);
    // Cells have no unit there.
    if (layout.brief && columns[c]->attribute == AttributeId::kLineSize) heading += " B";
    if (layout.brief && columns[c]->attribute == AttributeId::kSharedWith) {
      heading = "same\nas";
      result.has_letters = std::any_of(cells.begin(), cells.end(), [c](const auto& row) {
        return row[c].text.size() == 1 && row[c].text != "-" && row[c].text != "?";
      });
    }
    result.table.columns.push_back({std::move(heading), columns[c]->align});
    for (std::size_t r = 0; r < cells.size(); ++r) result.table.rows[r].push_back(cells[r][c]);
  }
  return result;
}

std::string used_marks(const std::vector<const MemoryElement*>& elements) {
  std::string used;
  for (const MemoryElement* element : elements) {
    for (const auto& [id, attribute] : element->attributes) used += report::marks(attribute);
  }
  return used;
}

// ---- Around the table ----

// The name on its own, then what a reader looks for first.
std::string device_lines(const Topology& topology, bool is_brief, const TerminalStyle& style) {
  std::string text = report::paint(topology.name, Tone::kStrong, style.colour);
  if (topology.simulated) text += "  " + report::paint("SIMULATED", Tone::kAlert, style.colour);
  text += "\n";
  const std::vector<std::string> facts = report::device_facts(topology, is_brief);
  if (!facts.empty()) text += report::wrap("", fmt::format("{}", fmt::join(facts, ", ")), style.width);
  return text;
}

// Of elements that are one cache the first speaks for all.
bool is_spoken_for(const MemoryElement& element, const std::set<std::string_view>& before) {
  const Attribute* shared = find(element.attributes, AttributeId::kSharedWith);
  const auto* partners = shared == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&shared->value);
  return partners != nullptr &&
         std::any_of(partners->begin(), partners->end(), [&](const std::string& id) { return before.contains(id); });
}

// What a reader has seen before the paragraphs.
struct Seen {
  std::vector<AttributeId> in_rows;
  bool reaches = false;  // of TLBs
  bool doubts = false;   // wide intervals of what is in rows
};

// A paragraph for each element that has more than its row.
std::vector<std::string> further_texts(const Topology& topology, const std::vector<const MemoryElement*>& elements,
                                       const Seen& seen, int width) {
  std::vector<std::string> texts;
  std::set<std::string_view> before;  // ids
  for (const MemoryElement* element : elements) {
    const bool repeats = is_spoken_for(*element, before);
    const bool has_row = report::holds_data(*element);
    before.insert(element->id);
    std::vector<AttributeId> shown = has_row ? seen.in_rows : std::vector<AttributeId>{};
    if (seen.reaches) shown.push_back(AttributeId::kReach);
    const std::vector<std::string> phrases = report::further_phrases(topology, *element, shown, seen.doubts);
    if (repeats || phrases.empty()) continue;
    texts.push_back(report::wrap(element->id + ": ", fmt::format("{}", fmt::join(phrases, ", ")), width));
  }
  return texts;
}

std::string flags_text(const std::vector<const MemoryElement*>& elements, int width) {
  std::string text;
  for (const MemoryElement* element : elements) {
    for (const auto& [id, attribute] : element->attributes) {
      for (const std::string& flag : attribute.flags) {
        text += report::wrap("! ", fmt::format("{} {}: {}", element->id, readable(id), readable(flag)), width);
      }
    }
  }
  return text;
}

// Many operations have the same flag: one line for each.
std::string flags_text(const std::vector<Instruction>& instructions, int width) {
  std::map<std::string, std::vector<std::string>> flagged;
  for (const Instruction& instruction : instructions) {
    for (const auto& [id, attribute] : instruction.attributes) {
      for (const std::string& flag : attribute.flags) {
        std::vector<std::string>& ids = flagged[readable(flag)];
        if (std::ranges::find(ids, instruction.id) == ids.end()) ids.push_back(instruction.id);
      }
    }
  }
  std::string text;
  for (const auto& [flag, ids] : flagged) {
    text += report::wrap("! ", fmt::format("{}: {}", fmt::join(ids, ", "), flag), width);
  }
  return text;
}

std::string warnings_text(const Topology& topology, const TerminalStyle& style) {
  std::string text;
  for (const std::string& warning : topology.warnings) {
    text += report::paint(report::wrap("Warning: ", warning, style.width), Tone::kAlert, style.colour);
  }
  return text;
}

bool has_far_part(const MemoryElement* element) {
  const Attribute* latency = find(element->attributes, AttributeId::kLatency);
  return latency != nullptr && report::far_latency(*latency).has_value();
}

std::vector<const MemoryElement*> with_rows(const std::vector<const MemoryElement*>& elements) {
  std::vector<const MemoryElement*> memories;
  std::ranges::copy_if(elements, std::back_inserter(memories),
                       [](const MemoryElement* element) { return report::holds_data(*element); });
  return memories;
}

// The table that fits the width best; footnotes are of its cells.
Hierarchy best_layout(const Topology& topology, const std::vector<const MemoryElement*>& memories,
                      const TerminalStyle& style, Footnotes& footnotes) {
  Hierarchy hierarchy;
  for (const Layout& layout : kLayouts) {
    footnotes = {};
    hierarchy = lay_out(topology, memories, layout, footnotes);
    const report::TextStyle text_style{style.width, style.colour, style.unicode, layout.gap};
    if (report::table_width(hierarchy.table, text_style) <= static_cast<std::size_t>(style.width)) break;
  }
  return hierarchy;
}

// With its legend, without the line below its headings where there is no room for it.
std::string table_text(const Hierarchy& hierarchy, const std::vector<const MemoryElement*>& elements, bool has_rule,
                       const TerminalStyle& style) {
  const std::vector<const MemoryElement*> memories = with_rows(elements);
  if (memories.empty()) return "";
  std::string legend = report::marks_legend(used_marks(elements));
  if (hierarchy.has_letters) legend += "; one letter: one cache, -: none";
  if (hierarchy.is_brief && std::ranges::any_of(memories, has_far_part)) legend += "; near/far part of L2, ns of near";
  return report::render(hierarchy.table, {style.width, style.colour, style.unicode, hierarchy.gap, has_rule}) +
         report::paint(report::wrap("", legend, style.width), Tone::kFaint, style.colour);
}

// Every value with all that is known of it, by what it is of: nothing is left out.
std::string every_value_text(const Topology& topology, int width) {
  std::string text;
  for (const report::ValueGroup& group : report::value_groups(topology)) {
    std::string own;
    for (const auto& [id, attribute] : *group.attributes) {
      if (!attribute.available()) continue;
      std::vector<std::string> parts = {report::whole_value_text(attribute)};
      if (const std::string interval = report::interval_text(attribute); !interval.empty()) parts[0] += " " + interval;
      parts[0] += report::extent_text(id);
      const std::string method = report::method_text(attribute);
      parts.push_back(fmt::format("{}{}{}", to_string(attribute.source), method.empty() ? "" : " by ", method));
      if (const std::string details = report::details_text(attribute); !details.empty()) parts.push_back(details);
      own += report::wrap(fmt::format("  {}: ", readable(id)), fmt::format("{}", fmt::join(parts, "; ")), width);
    }
    if (own.empty()) continue;
    const std::string heading = group.title.starts_with(group.id) ? group.title : group.id + ": " + group.title;
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", heading, own);
  }
  return text;
}

std::string advice_text(const Topology& topology, int width) {
  std::string text;
  for (const report::Advice& advice : report::advice_of(topology)) {
    text += report::wrap(fmt::format("  {}: ", advice.topic),
                         fmt::format("{} [{}]", advice.text, report::grounds_text(advice)), width);
  }
  return text.empty() ? "" : "What to do with it, and the values that it follows from:\n" + text;
}

int line_count(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

// Takes the paragraphs that fit into `room` lines, in their order; returns how many do not.
std::size_t take_what_fits(const std::vector<std::string>& paragraphs, int& room, std::string& text) {
  std::size_t left_out = 0;
  for (const std::string& paragraph : paragraphs) {
    const int lines = line_count(paragraph);
    if (left_out > 0 || lines > room) {
      ++left_out;
      continue;
    }
    room -= lines;
    text += paragraph;
  }
  return left_out;
}

// An element without any value is one absent fact; `is_whole`: beside it what has another reason.
bool add_footnote_of_all(const MemoryElement& element, bool is_whole, Footnotes& footnotes) {
  if (report::has_value(element)) return false;
  std::string reason;  // of the first
  for (const auto& [id, attribute] : element.attributes) {
    if (report::is_silent(attribute)) continue;
    const std::string own = report::why_absent(attribute);
    const bool is_first = reason.empty();
    if (is_first || (is_whole && own != reason)) (void)footnotes.mark(attribute, element.id, is_first ? "" : id);
    if (is_first) reason = own;
  }
  return true;
}

// Absent facts that have no cell to be marked in.
void add_footnotes(const AttributeMap& attributes, const std::string& group, Footnotes& footnotes) {
  for (const auto& [id, attribute] : attributes) {
    if (!attribute.available() && !report::is_silent(attribute)) (void)footnotes.mark(attribute, group, id);
  }
}

// Both attributes of an operation lack for one reason, as a rule. Where none has a value that is one absent fact.
void add_footnotes(const std::vector<Instruction>& instructions, bool some_have_values, Footnotes& footnotes) {
  for (const Instruction& instruction : instructions) {
    const Attribute* latency = find(instruction.attributes, AttributeId::kLatency);
    if (latency == nullptr || latency->available() || report::is_silent(*latency)) continue;
    (void)footnotes.mark(*latency, std::string(kInstructions), some_have_values ? instruction.id : "");
  }
}

// What stands below one another, in this order; empty parts are left out.
struct Screen {
  std::string head;
  std::string table;
  std::string instructions;
  std::string pipes;
  std::string asked_first;  // what the table has no column for
  std::string further;
  std::string notes;
  std::string more;
  std::string flags;
  std::string warnings;
  std::string ending;

  [[nodiscard]] std::vector<const std::string*> parts() const {
    return {&table, &instructions, &pipes, &asked_first, &further, &notes, &more, &flags, &warnings, &ending};
  }
  // `gaps`: how many of the parts have an empty line before them.
  [[nodiscard]] std::string text(std::size_t gaps) const {
    std::string all = head;
    for (const std::string* part : parts()) {
      if (part->empty()) continue;
      if (gaps > 0) {
        all += "\n";
        --gaps;
      }
      all += *part;
    }
    return all;
  }
  [[nodiscard]] int lines(std::size_t gaps) const { return line_count(text(gaps)); }
};

constexpr std::size_t kAllGaps = 100;
constexpr int kMostLines = 2;  // of a reason, and of what is asked first, where not all is said

constexpr const char* kUnavailable = "Unavailable:\n";

// Of what need not be there as much as `room` lines hold; returns whether all is there with empty lines between.
bool fill_screen(const std::vector<std::string>& further, const std::vector<std::string>& reasons, int room,
                 const TerminalStyle& style, Screen& screen) {
  constexpr int kHeadings = 5;  // of the optional parts, empty lines included, and the line that says what is left out
  const bool has_notes = !screen.notes.empty();
  int left = room - screen.lines(kAllGaps) - kHeadings;
  std::size_t left_out = take_what_fits(further, left, screen.further);
  left_out += take_what_fits(reasons, left, screen.notes);
  if (!screen.notes.empty() && !has_notes) screen.notes.insert(0, kUnavailable);
  if (left_out > 0) {
    const std::string text = fmt::format("{} more note{}: no room here; --long shows everything, and so does a pipe.",
                                         left_out, left_out == 1 ? "" : "s");
    screen.more = report::paint(report::wrap("", text, style.width), Tone::kFaint, style.colour);
  }
  return screen.lines(kAllGaps) <= room;
}

// Of a visible report.
std::string terminal_text(const Topology& topology, const TerminalStyle& style) {
  const std::vector<const MemoryElement*> elements = report::speaking_elements(topology);
  const bool is_whole = style.height <= 0;
  Footnotes footnotes;
  const Hierarchy hierarchy = best_layout(topology, with_rows(elements), style, footnotes);
  const std::size_t marked = footnotes.count();  // in the table
  for (const MemoryElement* element : elements) {
    if (!add_footnote_of_all(*element, is_whole, footnotes)) add_footnotes(element->attributes, element->id, footnotes);
  }
  add_footnotes(topology.device, "device", footnotes);
  add_footnotes(topology.compute, "compute", footnotes);
  Screen screen;
  screen.table = table_text(hierarchy, elements, true, style);
  screen.instructions = report::instructions_text(topology.instructions, {style.width, style.colour, style.unicode});
  const std::string latencies = report::latencies_text(topology.instructions, style.width);
  if (is_whole) screen.instructions += latencies;
  add_footnotes(topology.instructions, !screen.instructions.empty() || !latencies.empty(), footnotes);
  screen.pipes = report::pipes_text(topology, style.width);
  screen.flags = flags_text(elements, style.width) + flags_text(topology.instructions, style.width);
  screen.warnings = warnings_text(topology, style);
  if (!topology.complete) {
    screen.ending = report::paint("INCOMPLETE: this discovery ended early.", Tone::kAlert, style.colour) + "\n";
  }
  screen.head = device_lines(topology, false, style);
  const std::vector<std::string> reasons = footnotes.texts(style.width, is_whole ? 0 : kMostLines);
  const auto first_unmarked = reasons.begin() + static_cast<std::ptrdiff_t>(marked);
  if (is_whole) {
    screen.further = every_value_text(topology, style.width);
    if (const std::string advice = advice_text(topology, style.width); !advice.empty()) screen.further += "\n" + advice;
    if (!reasons.empty()) screen.notes = fmt::format("{}{}", kUnavailable, fmt::join(reasons, ""));
    return screen.text(kAllGaps);
  }
  const report::ScreenLines reaches = report::reach_lines(elements, style.width);
  const auto doubts_in = [&](int most_lines) {
    return report::doubts_lines(with_rows(elements), hierarchy.attributes, style.width, most_lines);
  };
  const report::ScreenLines doubts = doubts_in(kMostLines);
  screen.asked_first = reaches.text + doubts.text;
  // What the table refers to is there, whatever the height.
  if (marked > 0) screen.notes = fmt::format("{}{}", kUnavailable, fmt::join(reasons.begin(), first_unmarked, ""));
  const int room = style.height - 1;  // the shell's prompt
  std::vector<std::string> further =
      further_texts(topology, elements, {hierarchy.attributes, reaches.is_all, doubts.is_all}, style.width);
  if (!latencies.empty()) further.push_back(latencies);
  if (fill_screen(further, {first_unmarked, reasons.end()}, room, style, screen)) {
    return screen.text(kAllGaps);
  }
  // Still too much: without what only helps the eye, then with less of what is long.
  std::size_t gaps = 1;  // below the head
  const auto shorten_notes = [&](int most_lines) {
    const std::vector<std::string> texts = footnotes.texts(style.width, most_lines);
    screen.notes = fmt::format("{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(marked), ""));
  };
  const std::function<void()> sacrifices[] = {
      [&] { screen.table = table_text(hierarchy, elements, false, style); },
      [&] { shorten_notes(kMostLines); },
      [&] { shorten_notes(1); },
      [&] { screen.asked_first = reaches.text + doubts_in(1).text; },
      [&] { screen.head = device_lines(topology, true, style); },
      [&] { gaps = 0; },
  };
  for (const std::function<void()>& sacrifice : sacrifices) {
    if (screen.lines(gaps) > room) sacrifice();
  }
  return screen.text(gaps);
}

}  // namespace

std::string to_terminal(const Topology& topology, const TerminalStyle& style) {
  return terminal_text(report::visible_report(topology), style);
}

}  // namespace gputopo
