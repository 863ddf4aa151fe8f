// Draws the chip: SMs, one SM enlarged with what it shares, L2, and memory below. Heights are logarithms of capacities.
#include "report/drawing/svg.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "gputopo/report.h"
#include "report/drawing/chip.h"
#include "report/drawing/draw.h"
#include "report/drawing/memory_box.h"
#include "report/drawing/sm_map.h"
#include "report/drawing/svg_style.h"
#include "report/words/device_facts.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"
#include "report/words/units.h"

namespace gputopo {
namespace {

using report::Chip;
using report::kGap;
using report::kLineHeight;
using report::Markup;
using report::markup;
using report::PhysicalMemory;
using report::px;
using report::UnitGrid;

constexpr double kWidth = 1040;
constexpr double kMargin = 16;
constexpr double kUnitLeft = 716;  // the enlarged SM is to the right of the chip
constexpr double kUnitWidth = kWidth - kMargin - kUnitLeft;
constexpr double kHeaderHeight = 64;

// ---- One SM, inside the frames of what it shares ----

struct UnitFrame {
  std::string title;
  std::size_t sharers = 1;
  std::vector<PhysicalMemory> memories;
};

constexpr double kFrameTitle = 28;
constexpr double kFramePadding = 8;

// "One SM"; "TPC of 2 SMs" if a level of the map has groups of that size; "Shared by 1 to 2 CUs".
std::string frame_title(const Chip& chip, const PhysicalMemory& memory) {
  const std::optional<std::size_t> level = level_of(chip, memory);
  const bool has_name = level && chip.drawn[*level].name != "group" && !chip.drawn[*level].name.ends_with(" partition");
  if (has_name) {
    const auto [least, most] = std::ranges::minmax(chip.drawn[*level].groups, {}, &report::Units::size);
    const std::string range = least.size() == most.size() ? "" : fmt::format("{} to ", least.size());
    return fmt::format("{} of {}{}", chip.drawn[*level].name, range, report::counted(most.size(), chip.unit_name));
  }
  return memory.sharers <= 1 ? "One " + chip.unit_name : "Shared by " + memory.shared_by;
}

// Innermost first.
std::vector<UnitFrame> frames_of(const Chip& chip) {
  std::vector<UnitFrame> frames;
  const auto add = [&](const PhysicalMemory& memory, std::size_t sharers) {
    auto frame = std::ranges::find(frames, sharers, &UnitFrame::sharers);
    if (frame == frames.end()) {
      frames.push_back({frame_title(chip, memory), sharers, {}});
      frame = std::prev(frames.end());
    }
    frame->memories.push_back(memory);
  };
  for (const PhysicalMemory& memory : chip.in_unit) add(memory, memory.sharers);
  for (const PhysicalMemory& memory : chip.on_chip) {
    if (!memory.is_of_die) continue;
    PhysicalMemory one = memory;
    one.instances = 1;
    add(one, chip.drawn.front().groups.front().size());
  }
  std::ranges::stable_sort(frames, {}, &UnitFrame::sharers);
  return frames;
}

double frames_height(const std::vector<UnitFrame>& frames, std::size_t depth, double width) {
  const double inner = width - 2 * kFramePadding;
  const double within = depth > 0 ? frames_height(frames, depth - 1, inner) + kGap : 0;
  return kFrameTitle + within + report::total_height(frames[depth].memories, inner) + kFramePadding - kGap;
}

Markup frames_text(const std::vector<UnitFrame>& frames, std::size_t depth, double x, double y, double width) {
  const double inner = width - 2 * kFramePadding;
  Markup text = report::svg_box(x, y, width, frames_height(frames, depth, width),
                                (frames.size() - depth) % 2 == 1 ? "frame" : "inner");
  text += report::svg_text(x + kFramePadding, y + 19, "title", frames[depth].title);
  y += kFrameTitle;
  if (depth > 0) {
    text += frames_text(frames, depth - 1, x + kFramePadding, y, inner);
    y += frames_height(frames, depth - 1, inner) + kGap;
  }
  for (const PhysicalMemory& memory : frames[depth].memories) {
    text += report::memory_box(memory, x + kFramePadding, y, inner, {memory.is_of_die ? "far" : "near"});
    y += report::memory_height(memory, inner) + kGap;
  }
  return text;
}

Markup ruler(double x, double y) {
  return report::svg_text(
      x, y, "small faint",
      fmt::format("Box height: logarithm of the capacity, {} px per doubling above {}, and at least the height of "
                  "the text. Dashed: capacity unknown.",
                  px(report::kPixelsPerDoubling), report::human_bytes(report::kLeastBytes)));
}

// Important warnings for readers who see only the drawing, one per line.
std::vector<std::string> warning_lines(const Topology& topology) {
  constexpr int kCharacters = 130;  // per line, as wide as the drawing
  std::vector<std::string> lines;
  for (const std::string& warning : topology.warnings) {
    for (std::string& line : report::wrapped_lines(warning, kCharacters, "Warning: ")) lines.push_back(std::move(line));
  }
  return lines;
}

std::string label_of(const Topology& topology) { return "The chip: " + report::device_title(topology); }

// Header of a standalone drawing: the GPU's name and important warnings.
Markup header(const Topology& topology, const std::vector<std::string>& warnings, double height) {
  Markup text = report::svg_opening(report::device_title(topology), kWidth, height, "group", label_of(topology));
  text += report::svg_text(kMargin, 34, "name", report::fitted(topology.name, topology.simulated ? 600 : 900, 22));
  text += report::svg_text(kMargin, 58, "small faint",
                           report::fitted(fmt::format("{}", fmt::join(report::device_facts(topology), ", ")),
                                          topology.complete ? 920 : 780, 12));
  if (topology.simulated) {
    text += report::svg_text(kWidth - kMargin, 38, "alert", "SIMULATED", " font-size=\"32\" text-anchor=\"end\"");
  }
  if (!topology.complete) {
    text += report::svg_text(kWidth - kMargin, 60, "alert", "INCOMPLETE", " font-size=\"18\" text-anchor=\"end\"");
  }
  double y = kHeaderHeight + 16;
  for (const std::string& line : warnings) {
    text += report::svg_text(kMargin, y, "small warning", report::fitted(line, kWidth - 2 * kMargin, 12));
    y += kLineHeight;
  }
  return text;
}

}  // namespace

Markup report::chip_svg(const Topology& topology, bool standalone) {
  const Chip chip = chip_of(topology);
  const std::vector<UnitFrame> frames = frames_of(chip);
  const double chip_width = (frames.empty() ? kWidth - kMargin : kUnitLeft - 2.5 * kGap) - kMargin;
  const std::vector<std::string> warnings = standalone ? warning_lines(topology) : std::vector<std::string>{};
  const double top = kMargin + (standalone ? kHeaderHeight + kLineHeight * static_cast<double>(warnings.size()) : 0);
  const double inner = chip_width - 2 * kGap;

  // Caches are inside the chip's frame, memory is outside.
  std::vector<PhysicalMemory> caches;
  std::vector<PhysicalMemory> beside;
  for (const PhysicalMemory& memory : chip.on_chip) {
    if (!memory.is_of_die) (memory.is_device_memory ? beside : caches).push_back(memory);
  }
  const UnitGrid grid = unit_grid(chip, !standalone, kMargin + kGap, top + kGap, inner);
  const double chip_height = kGap + grid.height + total_height(caches, inner);
  const double frame_height = frames.empty() ? 0 : frames_height(frames, frames.size() - 1, kUnitWidth);
  const double left_height = chip_height + kGap + total_height(beside, chip_width) - kGap;
  const double bottom = top + std::max(left_height, frame_height);
  const double height = bottom + 34;

  Markup text = standalone ? header(topology, warnings, height)
                           : svg_opening_in_page(label_of(topology), kWidth, height, "group");
  text += svg_box(kMargin, top, chip_width, chip_height, "frame");
  text += grid.text;
  double y = top + kGap + grid.height;
  for (const PhysicalMemory& memory : caches) {
    const bool is_coloured = memory.is_parted && chip.parts.groups.size() == static_cast<std::size_t>(memory.instances);
    text += memory_box(memory, kMargin + kGap, y, inner,
                       is_coloured ? std::vector<std::string>{"far", "other", "far"} : std::vector<std::string>{"far"});
    y += memory_height(memory, inner) + kGap;
  }
  y = top + chip_height + kGap;
  for (const PhysicalMemory& memory : beside) {
    text += memory_box(memory, kMargin, y, chip_width, {"memory"});
    y += memory_height(memory, chip_width) + kGap;
  }
  if (!frames.empty()) {
    text += markup("<path class=\"lead\" d=\"M{} {}L{} {}\"/>\n", px(grid.first_cell_right), px(grid.first_cell_top),
                   px(kUnitLeft), px(top));
    text += frames_text(frames, frames.size() - 1, kUnitLeft, top, kUnitWidth);
  }
  const bool is_empty = chip.in_unit.empty() && chip.on_chip.empty();
  text += is_empty ? svg_text(kMargin, bottom + 20, "small", "No memory was measured.") : ruler(kMargin, bottom + 20);
  return text + "</svg>\n";
}

std::string to_svg(const Topology& topology) { return (report::kXmlOpening + report::chip_svg(topology, true)).text(); }

}  // namespace gputopo
