// The report for a terminal: the table and its context, at most one screen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "gputopo/report.h"
#include "report/terminal/hierarchy_table.h"
#include "report/terminal/instructions.h"
#include "report/words/advice.h"
#include "report/words/device_facts.h"
#include "report/words/first_screen.h"
#include "report/words/footnotes.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"
#include "report/words/visible_report.h"

namespace gputopo {
namespace {

using report::Footnotes;
using report::readable;
using report::Tone;

// The name on its own line, then the facts that readers look for first.
std::string device_lines(const Topology& topology, bool is_brief, const TerminalStyle& style) {
  std::string text = report::paint(topology.name, Tone::kStrong, style.colour);
  if (topology.simulated) text += "  " + report::paint("SIMULATED", Tone::kAlert, style.colour);
  text += "\n";
  const std::vector<std::string> facts = report::device_facts(topology, is_brief);
  if (!facts.empty()) text += report::wrap("", fmt::format("{}", fmt::join(facts, ", ")), style.width);
  return text;
}

// If several elements are one cache, only the first gets a paragraph.
bool is_spoken_for(const MemoryElement& element, const std::set<std::string_view>& before) {
  const Attribute* shared = find(element.attributes, AttributeId::kSharedWith);
  const auto* partners = shared == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&shared->value);
  return partners != nullptr &&
         std::any_of(partners->begin(), partners->end(), [&](const std::string& id) { return before.contains(id); });
}

// The values that readers have seen before the paragraphs.
struct Seen {
  std::vector<AttributeId> in_rows;
  bool reaches = false;  // TLB reaches
  bool doubts = false;   // wide intervals of values in rows
};

// One paragraph for each element with more values than its row shows.
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

// Many operations have the same flag, so each flag is one line.
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

std::string value_and_details(const std::string& id, const Attribute& attribute) {
  std::vector<std::string> parts = {report::whole_value_text(attribute)};
  if (const std::string interval = report::interval_text(attribute); !interval.empty()) parts[0] += " " + interval;
  parts[0] += report::extent_text(id);
  const std::string method = report::method_text(attribute);
  parts.push_back(fmt::format("{}{}{}", to_string(attribute.source), method.empty() ? "" : " by ", method));
  if (const std::string details = report::details_text(attribute); !details.empty()) parts.push_back(details);
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string every_value_text(const Topology& topology, int width) {
  std::string text;
  for (const report::ValueGroup& group : report::value_groups(topology)) {
    std::string own;
    for (const auto& [id, attribute] : *group.attributes) {
      if (!attribute.available()) continue;
      own += report::wrap(fmt::format("  {}: ", readable(id)), value_and_details(id, attribute), width);
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
  return text.empty() ? "" : "Tuning advice, and the values used (in brackets):\n" + text;
}

int line_count(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

// Appends the leading paragraphs that fit into `room` lines; returns the number of omitted ones.
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

// An element without any value is one absent fact. `is_whole` adds attributes with another reason.
bool add_footnote_of_all(const MemoryElement& element, bool is_whole, Footnotes& footnotes) {
  if (report::has_value(element)) return false;
  std::string reason;  // reason of the first absent attribute
  for (const auto& [id, attribute] : element.attributes) {
    if (report::needs_no_reason(attribute)) continue;
    const std::string own = report::why_absent(attribute);
    const bool is_first = reason.empty();
    if (is_first || (is_whole && own != reason)) (void)footnotes.mark(attribute, element.id, is_first ? "" : id);
    if (is_first) reason = own;
  }
  return true;
}

// Footnotes absent values that have no cell for a mark.
void add_footnotes(const AttributeMap& attributes, const std::string& group, Footnotes& footnotes) {
  for (const auto& [id, attribute] : attributes) {
    if (!attribute.available() && !report::needs_no_reason(attribute)) (void)footnotes.mark(attribute, group, id);
  }
}

// Both attributes usually lack a value for one reason: only the latency is noted; one fact if no operation has any.
void add_footnotes(const std::vector<Instruction>& instructions, bool some_have_values, Footnotes& footnotes) {
  for (const Instruction& instruction : instructions) {
    const Attribute* latency = find(instruction.attributes, AttributeId::kLatency);
    if (latency == nullptr || latency->available() || report::needs_no_reason(*latency)) continue;
    (void)footnotes.mark(*latency, std::string(kInstructions), some_have_values ? instruction.id : "");
  }
}

// The parts of the screen from top to bottom. Empty parts are left out.
struct Screen {
  std::string head;
  std::string table;
  std::string instructions;
  std::string pipes;
  std::string asked_first;  // answers that have no column in the table
  std::string further;
  std::string notes;
  std::string more;
  std::string flags;
  std::string warnings;
  std::string ending;

  [[nodiscard]] std::vector<const std::string*> parts() const {
    return {&table, &instructions, &pipes, &asked_first, &further, &notes, &more, &flags, &warnings, &ending};
  }
  // Puts an empty line before the first `gaps` parts.
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
constexpr int kMostLines = 2;  // limit for a reason and for `asked_first` unless everything is shown

constexpr const char* kUnavailable = "Unavailable:\n";

// Adds the optional texts that fit into `room` lines. Returns true if the whole screen fits with its empty lines.
bool fill_screen(const std::vector<std::string>& further, const std::vector<std::string>& reasons, int room,
                 const TerminalStyle& style, Screen& screen) {
  constexpr int kHeadings = 5;  // headings of optional parts, empty lines, and the line about omitted notes
  const bool has_notes = !screen.notes.empty();
  int left = room - screen.lines(kAllGaps) - kHeadings;
  std::size_t left_out = take_what_fits(further, left, screen.further);
  left_out += take_what_fits(reasons, left, screen.notes);
  if (!screen.notes.empty() && !has_notes) screen.notes.insert(0, kUnavailable);
  if (left_out > 0) {
    const std::string text = fmt::format("{} more note{} did not fit; use --long or a pipe to see everything.",
                                         left_out, left_out == 1 ? "" : "s");
    screen.more = report::paint(report::wrap("", text, style.width), Tone::kFaint, style.colour);
  }
  return screen.lines(kAllGaps) <= room;
}

// The parts that every screen has.
Screen basic_screen(const Topology& topology, const std::vector<const MemoryElement*>& elements,
                    const report::HierarchyTable& hierarchy, const TerminalStyle& style) {
  Screen screen;
  screen.head = device_lines(topology, false, style);
  screen.table = report::table_text(hierarchy, elements, true, style);
  screen.instructions = report::instructions_text(topology, {style.width, style.colour, style.unicode});
  screen.pipes = report::pipes_text(topology, style.width);
  screen.flags = flags_text(elements, style.width) + flags_text(topology.instructions, style.width);
  screen.warnings = warnings_text(topology, style);
  if (!topology.complete) {
    screen.ending = report::paint("INCOMPLETE: this discovery ended early.", Tone::kAlert, style.colour) + "\n";
  }
  return screen;
}

// Expects a visible report.
std::string terminal_text(const Topology& topology, const TerminalStyle& style) {
  const std::vector<const MemoryElement*> elements = report::elements_with_values(topology);
  const bool is_whole = style.height <= 0;
  Footnotes footnotes;
  const report::HierarchyTable hierarchy = report::best_layout(topology, report::with_rows(elements), style, footnotes);
  const std::size_t marked = footnotes.count();  // footnotes that the table refers to
  for (const MemoryElement* element : elements) {
    if (!add_footnote_of_all(*element, is_whole, footnotes)) add_footnotes(element->attributes, element->id, footnotes);
  }
  add_footnotes(topology.device, "device", footnotes);
  add_footnotes(topology.compute, "compute", footnotes);
  Screen screen = basic_screen(topology, elements, hierarchy, style);
  const std::string latencies = report::latencies_text(topology.instructions, style.width);
  if (is_whole) screen.instructions += latencies;
  add_footnotes(topology.instructions, !screen.instructions.empty() || !latencies.empty(), footnotes);
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
    return report::doubts_lines(report::with_rows(elements), hierarchy.attributes, style.width, most_lines);
  };
  const report::ScreenLines doubts = doubts_in(kMostLines);
  screen.asked_first = reaches.text + doubts.text;
  // Footnotes that the table refers to appear on a screen of any height.
  if (marked > 0) screen.notes = fmt::format("{}{}", kUnavailable, fmt::join(reasons.begin(), first_unmarked, ""));
  const int room = style.height - 1;  // one line is the shell's prompt
  std::vector<std::string> further =
      further_texts(topology, elements, {hierarchy.attributes, reaches.is_all, doubts.is_all}, style.width);
  if (!latencies.empty()) further.push_back(latencies);
  if (fill_screen(further, {first_unmarked, reasons.end()}, room, style, screen)) {
    return screen.text(kAllGaps);
  }
  // Still too long: first drops decoration, then shortens long parts.
  std::size_t gaps = 1;  // the one below the head
  const auto shorten_notes = [&](int most_lines) {
    const std::vector<std::string> texts = footnotes.texts(style.width, most_lines);
    screen.notes = fmt::format("{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(marked), ""));
  };
  const std::function<void()> sacrifices[] = {
      [&] { screen.table = report::table_text(hierarchy, elements, false, style); },
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
