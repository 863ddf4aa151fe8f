// The hierarchy as nested boxes: the device contains its caches, these contain the SMs, and an SM contains its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gputopo/report.h"
#include "report/drawing/chip.h"
#include "report/words/device_facts.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/visible_report.h"

namespace gputopo {
namespace {

using report::Chip;
using report::PhysicalMemory;

using Lines = std::vector<std::string>;

struct Strokes {
  const char* horizontal;
  const char* vertical;
  const char* corners[4];  // top left, top right, bottom left, bottom right
};
constexpr Strokes kAscii = {"-", "|", {"+", "+", "+", "+"}};
constexpr Strokes kUnicode = {"\u2500", "\u2502", {"\u250c", "\u2510", "\u2514", "\u2518"}};

std::string repeated(const char* text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string padded(const std::string& line, int width) {
  return line + std::string(std::max(width - static_cast<int>(report::display_width(line)), 0), ' ');
}

// Cuts a line to `width` columns; a cut line ends with two dots.
std::string cut(const std::string& line, int width) {
  if (static_cast<int>(report::display_width(line)) <= width) return line;
  return std::string(report::first_columns(line, static_cast<std::size_t>(std::max(width - 2, 0)))) + "..";
}

// Frames the lines; `width` is the outer width.
Lines framed(const Lines& inside, int width, const Strokes& strokes) {
  Lines lines = {strokes.corners[0] + repeated(strokes.horizontal, width - 2) + strokes.corners[1]};
  for (const std::string& line : inside) {
    lines.push_back(fmt::format("{} {} {}", strokes.vertical, padded(line, width - 4), strokes.vertical));
  }
  lines.push_back(strokes.corners[2] + repeated(strokes.horizontal, width - 2) + strokes.corners[3]);
  return lines;
}

void append(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

Lines wrapped(const std::string& text, int width) {
  Lines lines = report::wrapped_lines(text, width);
  for (std::string& line : lines) line = cut(line, width);
  return lines;
}

// Title and figures, on one line if they fit, then the notes.
Lines described(const PhysicalMemory& memory, const std::string& extra, int width) {
  const std::string figures = memory.figures();
  Lines lines = wrapped(memory.title() + (figures.empty() ? "" : ": " + figures) + extra, width);
  for (const std::string& note : memory.notes) append(lines, wrapped(note, width));
  return lines;
}

// The measured map from level `depth` on: one box per group. A chip has dozens of groups in the last level, so each is
// a word there: "0+1 2+3".
Lines map_lines(const Chip& chip, std::size_t depth, const report::Units& units, int width, const Strokes& strokes) {
  const report::UnitLevel& level = chip.levels[depth];
  const std::vector<report::Units> groups = report::groups_within(level.groups, units);
  if (depth + 1 == chip.levels.size() && !level.numbered) {
    std::vector<std::string> words;
    for (const auto& group : groups) words.push_back(fmt::format("{}", fmt::join(group, "+")));
    return wrapped(fmt::format("{}", fmt::join(words, " ")), width);
  }
  Lines lines;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string number = level.numbered ? fmt::format(" {}", g + 1) : "";
    Lines inside = {cut(fmt::format("{}{}: {} {}s", level.name, number, groups[g].size(), chip.unit_name), width - 4)};
    const bool is_last = depth + 1 == chip.levels.size();
    append(inside, is_last ? wrapped(report::unit_ranges(groups[g]), width - 4)
                           : map_lines(chip, depth + 1, groups[g], width - 4, strokes));
    append(lines, framed(inside, width, strokes));
  }
  return lines;
}

Lines map_lines(const Chip& chip, int width, const Strokes& strokes) {
  report::Units units;
  for (const auto& group : chip.levels.front().groups) units.insert(units.end(), group.begin(), group.end());
  Lines lines = map_lines(chip, 0, units, width, strokes);
  const report::UnitLevel& last = chip.levels.back();
  if (!last.numbered) append(lines, wrapped(fmt::format("+: {}s {}", chip.unit_name, last.shared), width));
  return lines;
}

// Memory shared by several SMs gets its own box. Then comes one SM with its private memory.
Lines unit_lines(const Chip& chip, int width, const Strokes& strokes) {
  const int inner = width - 4;
  Lines shared;
  const std::string heading = chip.units ? fmt::format("{} x {}", *chip.units, chip.unit_name) : chip.unit_name;
  Lines own = {cut(heading + ", each with", inner)};
  for (const PhysicalMemory& memory : chip.in_unit) {
    const std::string extra = memory.instances > 1 ? fmt::format(", {} instances", memory.instances) : "";
    if (memory.shared_by.empty()) {
      append(own, framed(described(memory, extra, inner - 4), inner, strokes));
    } else {
      append(shared,
             framed(described(memory, fmt::format("{}, one per {}", extra, memory.shared_by), inner), width, strokes));
    }
  }
  append(shared, framed(own, width, strokes));
  return shared;
}

// Memory outside the SMs; the farthest is the outermost box.
Lines chip_lines(const Chip& chip, std::size_t depth, int width, const Strokes& strokes) {
  if (depth == 0) {
    Lines lines = chip.levels.empty() ? Lines{} : map_lines(chip, width, strokes);
    append(lines, unit_lines(chip, width, strokes));
    return lines;
  }
  const PhysicalMemory& memory = chip.on_chip[depth - 1];
  std::string extra;
  if (memory.instances > 1)
    extra = memory.is_parted ? fmt::format(", in {} partitions", memory.instances)
                             : fmt::format(", {} instances", memory.instances);
  Lines lines = described(memory, extra, width - 4);
  append(lines, chip_lines(chip, depth - 1, width - 4, strokes));
  return framed(lines, width, strokes);
}

// Expects a visible report.
std::string tree_text(const Topology& topology, const TerminalStyle& style) {
  constexpr int kWidest = 100;  // wider boxes are harder to follow
  constexpr int kNarrowest = 40;
  const Chip chip = report::chip_of(topology);
  const Strokes& strokes = style.unicode ? kUnicode : kAscii;
  const int width = std::clamp(style.width, kNarrowest, kWidest);
  std::string text = report::paint(topology.name, report::Tone::kStrong, style.colour);
  if (topology.simulated) text += "  " + report::paint("SIMULATED", report::Tone::kAlert, style.colour);
  text += "\n";
  // Each nested box takes four columns. If space is short, only the table shows the outer memories.
  constexpr std::size_t kDeepest = 6;
  constexpr int kLeastInside = 32;
  const auto room = static_cast<std::size_t>((width - kLeastInside) / 4);
  for (const std::string& line : chip_lines(chip, std::min({chip.on_chip.size(), kDeepest, room}), width, strokes)) {
    text += line + "\n";
  }
  for (const std::string& warning : topology.warnings) {
    text += report::paint(report::wrap("Warning: ", warning, width), report::Tone::kAlert, style.colour);
  }
  if (!topology.complete) {
    text += report::paint("INCOMPLETE: this discovery ended early.", report::Tone::kAlert, style.colour) + "\n";
  }
  return text;
}

}  // namespace

std::string to_tree(const Topology& topology, const TerminalStyle& style) {
  return tree_text(report::visible_report(topology), style);
}

}  // namespace gputopo
