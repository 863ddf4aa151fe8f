#include "report/drawing/sm_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "report/drawing/draw.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

constexpr double kFoot = 17;  // height of a group's shared cache
constexpr double kThinFoot = 5;
constexpr int kHeatSteps = 8;

// Collects cells by kind, one path per kind.
class Cells {
 public:
  explicit Cells(const Chip& chip) {
    for (std::size_t part = 0; part < chip.parts.groups.size(); ++part) {
      for (const std::uint32_t unit : chip.parts.groups[part]) part_of_[unit] = part;
    }
    if (chip.heat.empty()) return;
    const auto [least, greatest] = std::ranges::minmax(chip.heat, {}, &UnitLatency::cycles);
    for (const auto& [unit, cycles] : chip.heat) {
      const double span = greatest.cycles - least.cycles;
      step_of_[unit] = span > 0 ? std::lround((cycles - least.cycles) / span * (kHeatSteps - 1)) : 0;
    }
  }

  void add(std::uint32_t unit, const std::string& path) {
    const auto part = part_of_.find(unit);
    by_part_[part == part_of_.end() ? "cell" : fmt::format("cell of-part-{}", part->second + 1)] += path;
    all_ += path;
    if (const auto step = step_of_.find(unit); step != step_of_.end()) by_step_[step->second] += path;
  }

  [[nodiscard]] Markup text(bool with_heat) const {
    Markup text;
    for (const auto& [classes, path] : by_part_) text += markup("<path class=\"{}\" d=\"{}\"/>\n", classes, path);
    if (!with_heat || by_step_.empty()) return text;
    text += markup("<g class=\"heat\" aria-hidden=\"true\"><path class=\"cell inner\" d=\"{}\"/>\n", all_);
    for (const auto& [step, path] : by_step_) {
      text += svg_dots(heat_opacity(step), path);
    }
    return text + "</g>\n";
  }

  // Pale enough that SM numbers stay readable on every cell.
  static double heat_opacity(long step) {
    constexpr double kLeast = 0.04;
    constexpr double kMost = 0.5;
    return kLeast + (kMost - kLeast) * static_cast<double>(step) / (kHeatSteps - 1);
  }

 private:
  std::map<std::uint32_t, std::size_t> part_of_;
  std::map<std::uint32_t, long> step_of_;
  std::map<std::string, std::string> by_part_;
  std::map<long, std::string> by_step_;
  std::string all_;
};

class MapDrawing {
 public:
  MapDrawing(const Chip& chip, bool with_heat) : chip_(chip), with_heat_(with_heat) {}

  // Draws the groups of level `depth` that contain `units`; returns the height.
  double draw(std::size_t depth, const Units& units, double x, double y, double width) {
    const std::vector<Units> groups = groups_within(chip_.drawn[depth].groups, units);
    if (depth + 1 == chip_.drawn.size() && (depth > 0 || groups.front().size() <= kMaxInCluster)) {
      return clusters(groups, !feet(depth).empty(), x, y, width);
    }
    return frames(depth, groups, x, y, width);
  }

  UnitGrid take() { return std::move(grid_); }

 private:
  static constexpr std::size_t kMaxInCluster = 4;
  static constexpr double kPadding = 5;
  static constexpr double kLeastCell = 17;  // room for its number

  // Caches that each group of the level shares.
  [[nodiscard]] std::vector<const PhysicalMemory*> feet(std::size_t depth) const {
    std::vector<const PhysicalMemory*> found;
    for (const auto* memories : {&chip_.in_unit, &chip_.on_chip}) {
      for (const PhysicalMemory& memory : *memories) {
        if (level_of(chip_, memory) == depth) found.push_back(&memory);
      }
    }
    return found;
  }

  // "Constant L1.5 cache" becomes "Constant L1.5".
  static std::string shortened(std::string title) {
    for (const std::string_view word : {" cache", " data", " memory"}) {
      if (title.ends_with(word)) title.erase(title.size() - word.size());
    }
    return title;
  }

  Markup foot(const PhysicalMemory& memory, double x, double y, double width) const {
    constexpr double kTextPx = 10.5;
    const std::string size = memory.bytes ? human_bytes(*memory.bytes) : "";
    std::string text = size;
    for (const std::string& title : {memory.elements.front()->title, shortened(memory.elements.front()->title)}) {
      const std::string whole = size.empty() ? title : fmt::format("{} {}", title, size);
      if (whole.size() > characters_in(width - 8, kTextPx)) continue;
      text = whole;
      break;
    }
    return svg_box(x, y, width, kFoot - 3, memory.is_of_die ? "far" : "near") +
           svg_text(x + 4, y + 10.5, "foot", fitted(text, width - 8, kTextPx));
  }

  // Uses as many columns as leave room for each cell, in rows of similar length.
  [[nodiscard]] std::size_t columns_for(std::size_t depth, const std::vector<Units>& groups, double width) const {
    std::size_t most = 0;
    for (const auto& group : groups) most = std::max(most, group.size());
    constexpr std::size_t kMaxColumns = 8;
    std::size_t columns = std::min(groups.size(), depth == 0 ? kMaxColumns / 2 : kMaxColumns);
    const auto room = [&](std::size_t count) {
      const double inner = (width - kGap * static_cast<double>(count - 1)) / static_cast<double>(count) - 2 * kPadding;
      return inner / (std::ceil(std::sqrt(static_cast<double>(most))) * kLeastCell);
    };
    while (columns > 1 && room(columns) < 1) --columns;
    const std::size_t rows = (groups.size() + columns - 1) / columns;
    return (groups.size() + rows - 1) / rows;
  }

  double frames(std::size_t depth, const std::vector<Units>& groups, double x, double y, double width) {
    const std::size_t columns = columns_for(depth, groups, width);
    const std::size_t rows = (groups.size() + columns - 1) / columns;
    const double gap = depth == 0 ? kGap : kPadding;
    const double frame_width = (width - gap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    const std::vector<const PhysicalMemory*> shared = feet(depth);
    const double feet_height = kFoot * static_cast<double>(shared.size()) + (shared.empty() ? 0 : kPadding);
    double top = y;
    for (std::size_t row = 0; row < rows; ++row) {
      double height = 0;
      Markup inside;
      std::vector<std::pair<std::size_t, double>> placed;
      for (std::size_t g = row * columns; g < std::min(groups.size(), (row + 1) * columns); ++g) {
        const double left = x + static_cast<double>(g - row * columns) * (frame_width + gap);
        placed.emplace_back(g, left);
        const Markup before = std::exchange(grid_.text, {});
        const double own = inner(depth, groups[g], left + kPadding, top + kHeading, frame_width - 2 * kPadding);
        inside += std::exchange(grid_.text, before);
        height = std::max(height, own + kHeading + kPadding + feet_height);
      }
      for (const auto& [g, left] : placed) {
        open_frame(depth, g, groups[g], left, top, frame_width, height);
        double foot_y = top + height - feet_height;
        for (const PhysicalMemory* memory : shared) {
          grid_.text += foot(*memory, left + kPadding, foot_y, frame_width - 2 * kPadding);
          foot_y += kFoot;
        }
      }
      grid_.text += inside;
      top += height + gap;
    }
    return top - gap - y;
  }

  void open_frame(std::size_t depth, std::size_t g, const Units& group, double left, double top, double width,
                  double height) {
    const UnitLevel& level = chip_.drawn[depth];
    const std::string title = level.name + (level.numbered ? fmt::format(" {}", g + 1) : "");
    const std::string count = counted(group.size(), chip_.unit_name);
    grid_.text += markup("<g class=\"group\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\n{1}",
                         fmt::format("{}, {}: {} {}", title, level.shared, count, unit_ranges(group)),
                         svg_box(left, top, width, height, depth == 0 ? "frame" : "inner"));
    grid_.text += svg_text(left + kPadding, top + 13, depth == 0 ? "small strong" : "small faint",
                           heading(fmt::format("{}: {}", title, count), width - 2 * kPadding)) +
                  "</g>\n";
  }

  // Cuts a long name at the front, because its last words say more: "partition 12: 19 SMs".
  static std::string heading(std::string text, double width) {
    constexpr double kBoldPx = 13.5;  // width factor of bold text
    while (text.size() > characters_in(width, kBoldPx)) {
      const std::size_t space = text.find(' ');
      if (space == std::string::npos || text.find(':') < space) break;
      text.erase(0, space + 1);
    }
    return fitted(text, width, kBoldPx);
  }

  double inner(std::size_t depth, const Units& units, double x, double y, double width) {
    if (depth + 1 < chip_.drawn.size()) return draw(depth + 1, units, x, y, width);
    std::vector<Units> each;
    for (const std::uint32_t unit : units) each.push_back({unit});
    return clusters(each, false, x, y, width);
  }

  // Returns the width of a cell and the groups per row: cells are as large as a few rows allow.
  static std::pair<double, std::size_t> cell_for(std::size_t groups, std::size_t most, double width) {
    constexpr double kLargest = 34;
    constexpr double kWidest = 44;
    constexpr double kReadable = 22;
    constexpr std::size_t kFewRows = 3;
    constexpr std::size_t kMostRows = 6;
    const auto per = static_cast<double>(most);
    const auto columns_at = [&](double cell) {
      const double columns = std::floor((width + kBetween) / (per * cell + kBetween));
      return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(columns, 1.0)), 1, groups);
    };
    // Rows of similar length, as wide as possible.
    const auto widened = [&](std::size_t columns) {
      const std::size_t rows = (groups + columns - 1) / columns;
      columns = (groups + rows - 1) / rows;
      const double room = (width - kBetween * static_cast<double>(columns - 1)) / static_cast<double>(columns);
      return std::pair(std::min(room / per, kWidest), columns);
    };
    for (const auto& [least, rows] : {std::pair(kReadable, kFewRows), std::pair(kLeastCell, kMostRows)}) {
      for (double cell = kLargest; cell >= least; cell -= 0.5) {
        const std::size_t columns = columns_at(cell);
        if ((groups + columns - 1) / columns <= rows) return widened(columns);
      }
    }
    return widened(columns_at(kLeastCell));
  }

  // Cells of one group touch; groups are apart. `has_foot`: each group has its own cache.
  double clusters(const std::vector<Units>& groups, bool has_foot, double x, double y, double width) {
    std::size_t most = 1;
    for (const auto& group : groups) most = std::max(most, group.size());
    const auto [cell, columns] = cell_for(groups.size(), most, width);
    constexpr double kLeastCellHeight = 15;
    constexpr double kLargestHeight = 22;
    const double cell_height = std::min(cell, std::clamp(cell * 0.75, kLeastCellHeight, kLargestHeight));
    const double foot_height = has_foot ? kThinFoot : 0;
    Cells cells(chip_);
    Markup labels;
    std::string feet_path;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double left = x + static_cast<double>(g % columns) * (cell * static_cast<double>(most) + kBetween);
      const std::size_t row = g / columns;
      const double top = y + static_cast<double>(row) * (cell_height + foot_height + kBetween);
      for (std::size_t i = 0; i < groups[g].size(); ++i) {
        const double cell_x = left + static_cast<double>(i) * cell;
        cells.add(groups[g][i], path_box(cell_x, top, cell, cell_height));
        constexpr double kRoomForNumber = 15;
        if (cell >= kRoomForNumber) {
          labels += markup("<tspan x=\"{}\" y=\"{}\">{}</tspan>", px(cell_x + cell / 2),
                           px(top + cell_height / 2 + 3.2), groups[g][i]);
        }
        note_cell(cell_x + cell, top);
      }
      if (has_foot) {
        feet_path += path_box(left, top + cell_height, cell * static_cast<double>(groups[g].size()), kThinFoot - 1);
      }
    }
    grid_.text += cells.text(with_heat_);
    if (has_foot) grid_.text += markup("<path class=\"near thin\" d=\"{}\"/>\n", feet_path);
    if (!labels.empty()) grid_.text += markup("<text class=\"number\" aria-hidden=\"true\">{}</text>\n", labels);
    const std::size_t rows = (groups.size() + columns - 1) / columns;
    return static_cast<double>(rows) * (cell_height + foot_height + kBetween) - kBetween;
  }

  // Remembers the cell closest to the enlarged SM.
  void note_cell(double right, double top) {
    const bool is_nearer = right > grid_.first_cell_right + 0.5;
    if (grid_.cells == 0 || (is_nearer && top <= grid_.first_cell_top + 0.5)) {
      grid_.first_cell_right = right;
      grid_.first_cell_top = top;
    }
    ++grid_.cells;
  }

  static constexpr double kBetween = 4;
  static constexpr double kHeading = 18;

  const Chip& chip_;
  bool with_heat_;
  UnitGrid grid_;
};

// Legend of the cells' colors, to the right of the heading.
Markup legends(const Chip& chip, bool with_heat, double right, double y) {
  constexpr std::size_t kColours = 2;
  constexpr double kSwatch = 12;
  Markup text;
  const bool is_framed =
      std::ranges::any_of(chip.drawn, [&](const UnitLevel& level) { return level.name == chip.parts.name; });
  if (chip.parts.groups.size() == kColours && !is_framed) {
    text += "<g class=\"cool\">\n";
    constexpr double kEach = 92;
    for (std::size_t part = 0; part < kColours; ++part) {
      const double left = right - kEach * static_cast<double>(kColours - part) + 6;
      const Units& group = chip.parts.groups[part];
      text += markup("<g class=\"group\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\n",
                     fmt::format("{} {}, {}: {} {}", chip.parts.name, part + 1, chip.parts.shared,
                                 counted(group.size(), chip.unit_name), unit_ranges(group)));
      text += markup("<path class=\"cell of-part-{}\" d=\"{}\"/>\n", part + 1,
                     path_box(left, y - kSwatch + 2, kSwatch, kSwatch));
      text += svg_text(left + kSwatch + 4, y, "small faint", fmt::format("partition {}", part + 1)) + "</g>\n";
    }
    text += "</g>\n";
  }
  if (with_heat && !chip.heat.empty()) {
    const auto [least, greatest] = std::ranges::minmax(chip.heat, {}, &UnitLatency::cycles);
    const std::string words = fmt::format("L2 latency, {} (light) to {} (dark)", human_value(least.cycles, "cycles"),
                                          human_value(greatest.cycles, "cycles"));
    text +=
        markup("<g class=\"heat\"><text x=\"{}\" y=\"{}\" class=\"small faint\" text-anchor=\"end\">{}</text></g>\n",
               px(right), px(y), words);
  }
  return text;
}

UnitGrid unit_map(const Chip& chip, bool with_heat, double x, double y, double width) {
  Units units;
  std::vector<std::string> parts;
  for (const auto& group : chip.drawn.front().groups) units.insert(units.end(), group.begin(), group.end());
  for (const UnitLevel& level : chip.drawn) {
    parts.push_back(counted(level.groups.size(), level.name));
    const auto [least, most] = std::ranges::minmax(level.groups, {}, &Units::size);
    if (level.name != "group") continue;
    const std::string range = least.size() == most.size() ? "" : fmt::format("{} to ", least.size());
    parts.back() += fmt::format(" of {}{}", range, most.size());
  }
  MapDrawing drawing(chip, with_heat);
  const double height = drawing.draw(0, units, x, y + 22, width);
  UnitGrid grid = drawing.take();
  const std::string heading = fmt::format("{} in {}", counted(units.size(), chip.unit_name), fmt::join(parts, ", "));
  grid.text = svg_text(x, y + 12, "title", fitted(heading, width, 13)) + legends(chip, with_heat, x + width, y + 12) +
              grid.text;
  grid.height = 22 + height + kGap;
  return grid;
}

}  // namespace

UnitGrid unit_grid(const Chip& chip, bool with_heat, double x, double y, double width) {
  if (!chip.drawn.empty()) return unit_map(chip, with_heat, x, y, width);
  constexpr int kMaxDrawn = 1024;
  const int units = std::clamp(chip.units.value_or(1), 1, kMaxDrawn);
  // Cells are as large as possible while the whole still looks like a chip.
  const double inner = width - 12;
  constexpr double kWider = 3.2;  // width relative to height
  const int columns = std::clamp(static_cast<int>(std::ceil(std::sqrt(units * kWider))), 1, units);
  const double cell = std::min((inner - 3.0 * (columns - 1)) / columns, 44.0);
  const int rows = (units + columns - 1) / columns;
  const double cell_height = std::min(cell, 30.0);
  const double frame_height = rows * (cell_height + 3) - 3 + 12;

  UnitGrid grid;
  grid.text = svg_text(x, y + 12, "title",
                       fmt::format("{} {}{}", chip.units ? std::to_string(*chip.units) : "?", chip.unit_name,
                                   chip.units == 1 ? "" : "s"));
  const double top = y + 22;
  grid.text += svg_box(x, top, width, frame_height, "frame");
  std::string path;
  for (int i = 0; i < units; ++i) {
    const double cell_x = x + 6 + (i % columns) * (cell + 3);
    const int row = i / columns;
    const double cell_y = top + 6 + row * (cell_height + 3);
    path += path_box(cell_x, cell_y, cell, cell_height);
    if (i < columns) {
      grid.first_cell_right = cell_x + cell;
      grid.first_cell_top = cell_y;
    }
  }
  grid.text += markup("<path class=\"cell\" d=\"{}\"/>\n", path);
  grid.height = 22 + frame_height + kGap;
  return grid;
}

}  // namespace gputopo::report
