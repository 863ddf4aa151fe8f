// The report as a table for a terminal: at most one screen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "gputopo/report.h"
#include "report/advice.h"
#include "report/hierarchy.h"
#include "report/instructions.h"
#include "report/markup.h"
#include "report/text_table.h"
#include "report/visible_report.h"

namespace gputopo {
namespace {

using report::Align;
using report::Cell;
using report::HierarchyColumn;
using report::readable;
using report::TextTable;
using report::Tone;

// ---- Footnotes: each reason for an absent value once, with the values that it explains. ----

class Footnotes {
 public:
  // The mark of this reason, as in "[2]". `what` may be empty: all of the element.
  std::string mark(const Attribute& attribute, const std::string& element, const std::string& what) {
    const std::string text = report::why_absent(attribute);
    const std::size_t number = places_.try_emplace(text, notes_.size()).first->second;
    if (number == notes_.size()) notes_.push_back({text, {}, {}});
    Note& note = notes_[number];
    const std::size_t place = note.places.try_emplace(element, note.subjects.size()).first->second;
    if (place == note.subjects.size()) note.subjects.push_back({element, {}, {}});
    Subject& subject = note.subjects[place];
    const std::string name = readable(what);
    if (!name.empty() && subject.known.insert(name).second) subject.attributes.push_back(name);
    return fmt::format("[{}]", number + 1);
  }

  // A paragraph for each. `is_brief`: of long reasons what fits into two lines.
  [[nodiscard]] std::vector<std::string> texts(int width, bool is_brief) const {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < notes_.size(); ++i) {
      std::vector<std::string> subjects;
      for (const Subject& subject : notes_[i].subjects) {
        const char* space = subject.element.empty() || subject.attributes.empty() ? "" : " ";
        subjects.push_back(fmt::format("{}{}{}", subject.element, space, fmt::join(subject.attributes, ", ")));
      }
      const std::string lead = fmt::format("[{}] ", i + 1);
      const std::string who = fmt::format(" ({})", fmt::join(subjects, "; "));
      const std::string& whole = notes_[i].text;
      result.push_back(report::wrap(lead, (is_brief ? shortened(whole, lead, who, width) : whole) + who, width));
    }
    return result;
  }
  [[nodiscard]] std::size_t count() const { return notes_.size(); }

 private:
  // As much of a reason as fits into two lines beside whom it is about; the words of a driver may be many. What to do
  // about it, behind the last semicolon, stays where it fits, too.
  static std::string shortened(const std::string& reason, const std::string& lead, const std::string& who, int width) {
    constexpr int kMaxLines = 2;
    constexpr std::size_t kLeast = 40;
    const auto fits = [&](const std::string& text) {
      const std::string wrapped = report::wrap(lead, text + who, width);
      return std::count(wrapped.begin(), wrapped.end(), '\n') <= kMaxLines;
    };
    if (fits(reason)) return reason;
    const std::size_t semicolon = reason.rfind("; ");
    const std::size_t end = semicolon == std::string::npos || semicolon < kLeast ? reason.size() : semicolon;
    const auto begin_and = [&](std::size_t at, const std::string& advice) {
      return fmt::format("{} ..{}", std::string_view(reason).substr(0, at), advice);
    };
    std::string shortest = reason;
    // If not even the least of the reason fits beside the advice, that goes the same way.
    for (const std::size_t limit : {end, reason.size()}) {
      const std::string advice = reason.substr(limit);
      // Where words end, the shortest beginning first: a longer one never fits where a shorter one does not.
      std::vector<std::size_t> ends;
      for (std::size_t at = reason.find(' ', kLeast); at < limit; at = reason.find(' ', at + 1)) ends.push_back(at);
      const auto first_too_long =
          std::partition_point(ends.begin(), ends.end(), [&](std::size_t at) { return fits(begin_and(at, advice)); });
      if (first_too_long != ends.begin()) return begin_and(*std::prev(first_too_long), advice);
      if (!ends.empty()) shortest = begin_and(ends.front(), advice);
    }
    return shortest;
  }

  struct Subject {
    std::string element;
    std::vector<std::string> attributes;
    std::set<std::string> known;  // the same, to look them up
  };
  struct Note {
    std::string text;
    std::vector<Subject> subjects;
    std::map<std::string, std::size_t> places;  // of elements in subjects
  };
  std::vector<Note> notes_;
  std::map<std::string, std::size_t> places_;  // of texts in notes_
};

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
};

Cell cell_of(const Topology& topology, const MemoryElement& element, const HierarchyColumn& column, bool brief,
             Footnotes& footnotes) {
  const Attribute* attribute = find(element.attributes, column.attribute);
  if (attribute == nullptr || attribute->reason == Reason::kNotSelected) return {};
  const bool is_said = report::has_cell(column, {topology, element, *attribute});
  if (!is_said && attribute->reason == Reason::kNotApplicable) return {column.repeats ? "" : "n/a", Tone::kFaint};
  if (!is_said) {
    if (column.repeats) return {};
    const Attribute* fetch =
        column.attribute == AttributeId::kLineSize ? find(element.attributes, AttributeId::kFetchGranularity) : nullptr;
    const bool half_known = fetch != nullptr && fetch->available();
    return {(half_known ? column.format({topology, element, *attribute}) + " " : "- ") +
                footnotes.mark(*attribute, element.id, std::string(to_string(column.attribute))),
            Tone::kAlert};
  }
  const Tone tone = attribute->flags.empty() ? Tone::kPlain : Tone::kAlert;
  const auto& format = brief && column.brief ? column.brief : column.format;
  std::string text = format({topology, element, *attribute});
  const std::string sign = column.repeats ? "" : report::marks(*attribute);
  if (!sign.empty()) text += " " + sign;
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
  Hierarchy result{.is_brief = layout.brief};
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
      heading = "one\ncache";
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
std::string device_lines(const Topology& topology, const TerminalStyle& style) {
  std::string text = report::paint(topology.name, Tone::kStrong, style.colour);
  if (topology.simulated) text += "  " + report::paint("SIMULATED", Tone::kAlert, style.colour);
  text += "\n";
  const std::vector<std::string> facts = report::device_facts(topology);
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

// A paragraph for each element that has more than its row.
std::vector<std::string> further_texts(const Topology& topology, const std::vector<const MemoryElement*>& elements,
                                       const Hierarchy& hierarchy, int width) {
  std::vector<std::string> texts;
  std::set<std::string_view> before;  // ids
  for (const MemoryElement* element : elements) {
    const bool repeats = is_spoken_for(*element, before);
    const bool has_row = report::holds_data(*element);
    before.insert(element->id);
    const std::vector<std::string> phrases =
        report::further_phrases(topology, *element, has_row ? hierarchy.attributes : std::vector<AttributeId>{});
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
  for (const std::string& warning : report::report_warnings(topology)) {
    text += report::paint(report::wrap("Warning: ", warning, style.width), Tone::kAlert, style.colour);
  }
  return text;
}

bool has_far_part(const MemoryElement* element) {
  const Attribute* latency = find(element->attributes, AttributeId::kLatency);
  return latency != nullptr && report::far_latency(*latency).has_value();
}

// The table that fits the width best, with its legend; footnotes are of its cells.
std::string table_text(const Topology& topology, const std::vector<const MemoryElement*>& elements,
                       const TerminalStyle& style, Hierarchy& hierarchy, Footnotes& footnotes) {
  std::vector<const MemoryElement*> memories;
  for (const MemoryElement* element : elements) {
    if (report::holds_data(*element)) memories.push_back(element);
  }
  if (memories.empty()) return "";
  report::TextStyle text_style{style.width, style.colour, style.unicode};
  for (const Layout& layout : kLayouts) {
    footnotes = {};
    hierarchy = lay_out(topology, memories, layout, footnotes);
    text_style.gap = layout.gap;
    if (report::table_width(hierarchy.table, text_style) <= static_cast<std::size_t>(style.width)) break;
  }
  std::string legend = report::marks_legend(used_marks(elements));
  if (hierarchy.has_letters) legend += "; rows of one letter are one cache";
  if (hierarchy.is_brief && std::ranges::any_of(memories, has_far_part)) legend += "; near/far part, ns of the near";
  return report::render(hierarchy.table, text_style) +
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

// Of a visible report.
std::string terminal_text(const Topology& topology, const TerminalStyle& style) {
  const std::vector<const MemoryElement*> elements = report::speaking_elements(topology);
  const bool is_whole = style.height <= 0;
  Footnotes footnotes;
  Hierarchy hierarchy;
  const std::string table = table_text(topology, elements, style, hierarchy, footnotes);
  const std::size_t marked = footnotes.count();  // in the table
  for (const MemoryElement* element : elements) {
    if (!add_footnote_of_all(*element, is_whole, footnotes)) add_footnotes(element->attributes, element->id, footnotes);
  }
  add_footnotes(topology.device, "device", footnotes);
  add_footnotes(topology.compute, "compute", footnotes);
  const std::string instructions =
      report::instructions_text(topology.instructions, {style.width, style.colour, style.unicode});
  add_footnotes(topology.instructions, !instructions.empty(), footnotes);
  const std::string pipes = report::pipes_text(topology, style.width);
  const std::string warnings = warnings_text(topology, style);
  const std::string ending =
      topology.complete ? ""
                        : report::paint("INCOMPLETE: this discovery ended early.", Tone::kAlert, style.colour) + "\n";

  const std::string head = device_lines(topology, style);
  const std::string flags = flags_text(elements, style.width) + flags_text(topology.instructions, style.width);
  const std::vector<std::string> reasons = footnotes.texts(style.width, !is_whole);
  const auto first_unmarked = reasons.begin() + static_cast<std::ptrdiff_t>(marked);
  // What the table refers to is there, whatever the height.
  std::string notes = fmt::format("{}", fmt::join(reasons.begin(), first_unmarked, ""));
  std::string further;
  std::string more;
  if (is_whole) {
    further = every_value_text(topology, style.width);
    if (const std::string advice = advice_text(topology, style.width); !advice.empty()) further += "\n" + advice;
    for (auto reason = first_unmarked; reason != reasons.end(); ++reason) notes += *reason;
  } else {
    // What must be there, with the empty lines between; then the rest, as far as it fits.
    int room = style.height - 1 - line_count(head);  // the shell's prompt
    for (const std::string& part : {table, instructions, pipes, notes, flags, warnings, ending}) {
      if (!part.empty()) room -= line_count(part) + 1;
    }
    constexpr int kHeadings =
        5;  // of the optional parts, empty lines included, and the line that says what is left out
    room -= kHeadings;
    std::size_t left_out = take_what_fits(further_texts(topology, elements, hierarchy, style.width), room, further);
    left_out += take_what_fits({first_unmarked, reasons.end()}, room, notes);
    if (left_out > 0) {
      const std::string text = fmt::format("{} more note{}: no room here; --long shows everything, and so does a pipe.",
                                           left_out, left_out == 1 ? "" : "s");
      more = report::paint(report::wrap("", text, style.width), Tone::kFaint, style.colour);
    }
  }
  if (!notes.empty()) notes.insert(0, "Unavailable:\n");

  std::string text = head;
  for (const std::string& part : {table, instructions, pipes, further, notes, more, flags, warnings, ending}) {
    if (!part.empty()) text.append("\n").append(part);
  }
  return text;
}

}  // namespace

std::string to_terminal(const Topology& topology, const TerminalStyle& style) {
  return terminal_text(report::visible_report(topology), style);
}

}  // namespace gputopo
