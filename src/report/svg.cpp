// The chip as a drawing: the SMs, one of them enlarged, and the memories around them, every box as high as the
// logarithm of its capacity.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gputopo/report.h"
#include "report/chip.h"
#include "report/hierarchy.h"
#include "report/markup.h"
#include "report/text_table.h"
#include "report/units.h"

namespace gputopo {
namespace {

using report::Chip;
using report::escaped;
using report::PhysicalMemory;
using report::px;

constexpr double kWidth = 960;
constexpr double kMargin = 16;
constexpr double kGap = 10;
constexpr double kUnitLeft = 640;  // the enlarged SM stands to the right of the chip
constexpr double kUnitWidth = kWidth - kMargin - kUnitLeft;
constexpr double kPixelsPerDoubling = 8;  // caches of 2 KiB have the least height
constexpr double kLeastBytes = 64;        // what has the height of nothing
constexpr double kLeastHeight = 40;       // of a box without text as well
constexpr double kHeaderHeight = 64;
constexpr double kLineHeight = 16;

// By the mean width of a character of our fonts.
std::size_t characters_in(double width, double font_px) {
  constexpr double kCharacter = 0.56;
  return static_cast<std::size_t>(std::max(width / (kCharacter * font_px), 3.0));
}

// Text cut to a width.
std::string fitted(const std::string& text, double width, double font_px) {
  const std::size_t most = characters_in(width, font_px);
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts_character && ++count > most) return text.substr(0, i) + "\u2026";
  }
  return text;
}

std::string text_at(double x, double y, const char* classes, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", px(x), px(y), classes, escaped(text));
}

std::string rect(double x, double y, double width, double height, const std::string& classes) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" class=\"{}\"/>\n", px(x), px(y),
                     px(width), px(height), classes);
}

// "per 2 SMs: 32 KiB": what is said of a memory beside its title.
std::string figures_of(const PhysicalMemory& memory) {
  std::string figures = memory.figures();
  if (memory.shared_by.empty()) return figures;
  return fmt::format("per {}{}{}", memory.shared_by, figures.empty() ? "" : ": ", figures);
}

// ", 2 parts", ", 4 of them"; empty for one.
std::string count_of(const PhysicalMemory& memory) {
  if (memory.instances <= 1) return "";
  return fmt::format(", {} {}", memory.instances, memory.is_parted ? "parts" : "of them");
}

struct Line {
  std::string text;
  const char* classes;
};

// Where a memory is drawn: a box for each instance, side by side, as high as its capacity and the lines in it demand.
// Where the boxes are too narrow for text it stands above them.
class BoxPlace {
 public:
  BoxPlace(const PhysicalMemory& memory, double width) : width_(width), instances_(memory.instances) {
    constexpr int kMostWithText = 4;
    is_narrow_ = instances_ > kMostWithText;
    add_lines(memory);
    const double text_height = kPadding + kLineHeight * static_cast<double>(lines_.size());
    boxes_height_ = kLeastHeight;
    if (memory.bytes && *memory.bytes > kLeastBytes) {
      boxes_height_ = std::max(boxes_height_, kPixelsPerDoubling * std::log2(*memory.bytes / kLeastBytes));
    }
    if (is_narrow_) {
      boxes_top_ = text_height;
    } else {
      boxes_height_ = std::max(boxes_height_, text_height);
    }
  }

  [[nodiscard]] double height() const { return boxes_top_ + boxes_height_; }
  [[nodiscard]] double boxes_top() const { return boxes_top_; }
  [[nodiscard]] double boxes_height() const { return boxes_height_; }
  [[nodiscard]] double part() const { return (width_ - 4.0 * (instances_ - 1)) / instances_; }
  [[nodiscard]] double left(int instance) const { return instance * (part() + 4); }
  [[nodiscard]] bool is_narrow() const { return is_narrow_; }
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }

 private:
  static constexpr double kPadding = 10;

  // A shared cache has several names, a line each.
  void add_lines(const PhysicalMemory& memory) {
    const double room_px = (is_narrow_ ? width_ : part()) - 16;
    const auto add = [&](const std::string& text, const char* classes, double font_px) {
      if (text.empty()) return;
      const auto characters = static_cast<int>(characters_in(room_px, font_px));
      for (const std::string& line : report::wrapped_lines(text, characters)) lines_.push_back({line, classes});
    };
    constexpr double kTitlePx = 13.5;  // bold text is wider
    for (const MemoryElement* element : memory.elements) add(element->title, "title", kTitlePx);
    add(figures_of(memory) + (is_narrow_ ? count_of(memory) : ""), "small faint", 12);
    for (const std::string& note : memory.notes) add(note, "small faint", 12);
  }

  double width_;
  int instances_;
  bool is_narrow_ = false;
  std::vector<Line> lines_;
  double boxes_top_ = 0;
  double boxes_height_ = 0;
};

// What is written over a memory; its label has all of it.
std::string names_in_box(const PhysicalMemory& memory, const BoxPlace& place, double x, double y) {
  std::string text;
  for (int i = 1; i < memory.instances && !place.is_narrow(); ++i) {
    const std::string number = memory.is_parted ? fmt::format("part {}", i + 1) : std::to_string(i + 1);
    text += text_at(x + place.left(i) + 8, y + 17, "small faint", fitted(number, place.part() - 8, 12));
  }
  double line_y = y + 17;
  for (const Line& line : place.lines()) {
    text += text_at(x + 8, line_y, line.classes, line.text);
    line_y += kLineHeight;
  }
  return text;
}

// One memory: a box for each instance, with what is known of it to read, to hover over and to focus.
std::string memory_box(const PhysicalMemory& memory, double x, double y, double width, const std::string& colour) {
  const BoxPlace place(memory, width);
  std::vector<std::string> ids;
  std::string description;
  for (const MemoryElement* element : memory.elements) {
    ids.push_back(element->id);
    description += (description.empty() ? "" : "\n\n") + report::describe(*element);
  }
  std::vector<std::string> said = {fmt::format("{}: {}{}", memory.title(), figures_of(memory), count_of(memory))};
  said.insert(said.end(), memory.notes.begin(), memory.notes.end());
  std::string text =
      fmt::format("<g class=\"part\" tabindex=\"0\" role=\"img\" aria-label=\"{}\" data-elements=\"{}\">\n",
                  escaped(fmt::format("{}", fmt::join(said, "; "))), escaped(fmt::format("{}", fmt::join(ids, " "))));
  text += fmt::format("<title>{}</title>\n", escaped(description));
  // What can be pointed at has no gaps.
  text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"hit\"/>\n", px(x), px(y), px(width),
                      px(place.height()));
  for (int i = 0; i < memory.instances; ++i) {
    text += rect(x + place.left(i), y + place.boxes_top(), place.part(), place.boxes_height(),
                 colour + (memory.bytes ? "" : " unknown"));
  }
  return text + "</g>\n<g class=\"names\" aria-hidden=\"true\">\n" + names_in_box(memory, place, x, y) + "</g>\n";
}

double total_height(const std::vector<PhysicalMemory>& memories, double width) {
  double height = 0;
  for (const PhysicalMemory& memory : memories) height += BoxPlace(memory, width).height() + kGap;
  return height;
}

// What an SM has for itself, and what it has together with others.
struct UnitFrame {
  std::string title;
  std::vector<PhysicalMemory> memories;
  [[nodiscard]] double height() const { return 28 + kGap + total_height(memories, kUnitWidth - 2 * kGap); }
};

// The SMs as cells; `first_cell` is where the enlarged one is taken from.
struct UnitGrid {
  std::string text;
  double height = 0;
  double first_cell_right = 0;
  double first_cell_top = 0;
  std::size_t cells = 0;  // drawn so far
};

// ---- The measured map: frames within frames, the smallest groups as cells that touch ----

std::string counted(std::size_t count, const std::string& name) {
  return fmt::format("{} {}{}", count, name, count == 1 ? "" : "s");
}

class MapDrawing {
 public:
  MapDrawing(const Chip& chip, double least_cell) : chip_(chip), least_cell_(least_cell) {}

  // Draws the groups of level `depth` that `units` fall into; returns the height.
  double draw(std::size_t depth, const report::Units& units, double x, double y, double width) {
    const std::vector<report::Units> groups = report::groups_within(chip_.levels[depth].groups, units);
    if (depth + 1 == chip_.levels.size() && (depth > 0 || groups.front().size() <= kMaxInCluster)) {
      return clusters(groups, x, y, width);
    }
    return frames(depth, groups, x, y, width);
  }

  [[nodiscard]] const UnitGrid& grid() const { return grid_; }
  UnitGrid take() { return std::move(grid_); }

 private:
  static constexpr std::size_t kMaxInCluster = 4;
  static constexpr double kPadding = 5;

  double frames(std::size_t depth, const std::vector<report::Units>& groups, double x, double y, double width) {
    const report::UnitLevel& level = chip_.levels[depth];
    std::size_t most = 0;
    for (const auto& group : groups) most = std::max(most, group.size());
    // As many side by side as leave each cell room.
    constexpr std::size_t kMaxColumns = 8;
    std::size_t columns = std::min(groups.size(), depth == 0 ? kMaxColumns / 2 : kMaxColumns);
    const auto room = [&](std::size_t count) {
      const double inner = (width - kGap * static_cast<double>(count - 1)) / static_cast<double>(count) - 2 * kPadding;
      return inner / (std::ceil(std::sqrt(static_cast<double>(most))) * least_cell_);
    };
    while (columns > 1 && room(columns) < 1) --columns;
    const std::size_t rows = (groups.size() + columns - 1) / columns;
    columns = (groups.size() + rows - 1) / rows;  // rows of about one length
    const double gap = depth == 0 ? kGap : kPadding;
    const double frame_width = (width - gap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    double top = y;
    for (std::size_t row = 0; row < rows; ++row) {
      double height = 0;
      std::string inside;
      std::vector<std::pair<std::size_t, double>> placed;
      for (std::size_t g = row * columns; g < std::min(groups.size(), (row + 1) * columns); ++g) {
        const double left = x + static_cast<double>(g - row * columns) * (frame_width + gap);
        placed.emplace_back(g, left);
        const std::string before = std::exchange(grid_.text, "");
        const double own = inner(depth, groups[g], left + kPadding, top + 18, frame_width - 2 * kPadding);
        inside += std::exchange(grid_.text, before);
        height = std::max(height, own + 18 + kPadding);
      }
      for (const auto& [g, left] : placed) {
        const std::string number = level.numbered ? fmt::format(" {}", g + 1) : "";
        const std::string title = level.name + number;
        const std::string count = counted(groups[g].size(), chip_.unit_name);
        grid_.text += fmt::format(
            "<g class=\"group\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\n{1}",
            escaped(fmt::format("{}, {}: {} {}", title, level.shared, counted(groups[g].size(), chip_.unit_name),
                                report::unit_ranges(groups[g]))),
            rect(left, top, frame_width, height, depth == 0 ? "frame" : "inner"));
        grid_.text += text_at(left + kPadding, top + 13, depth == 0 ? "small strong" : "small faint",
                              heading(fmt::format("{}: {}", title, count), frame_width - 2 * kPadding)) +
                      "</g>\n";
      }
      grid_.text += inside;
      top += height + gap;
    }
    return top - gap - y;
  }

  // Of a name that is too long the last words tell more: "part 12: 19 SMs".
  static std::string heading(std::string text, double width) {
    constexpr double kBoldPx = 13.5;  // as wide as text of that size that is not bold
    while (text.size() > characters_in(width, kBoldPx)) {
      const std::size_t space = text.find(' ');
      if (space == std::string::npos || text.find(':') < space) break;
      text.erase(0, space + 1);
    }
    return fitted(text, width, kBoldPx);
  }

  double inner(std::size_t depth, const report::Units& units, double x, double y, double width) {
    if (depth + 1 < chip_.levels.size()) return draw(depth + 1, units, x, y, width);
    std::vector<report::Units> each;
    for (const std::uint32_t unit : units) each.push_back({unit});
    return clusters(each, x, y, width);
  }

  // Cells of one group touch; groups keep a distance.
  double clusters(const std::vector<report::Units>& groups, double x, double y, double width) {
    std::size_t most = 1;
    for (const auto& group : groups) most = std::max(most, group.size());
    constexpr double kBetween = 4;
    constexpr double kLargest = 26;
    constexpr double kWider = 1.5;  // than high
    const auto count = static_cast<double>(groups.size());
    const auto per = static_cast<double>(most);
    // The columns that make the block about as wide, against its height, as the room is.
    auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(count * kWider / per)));
    columns = std::clamp<std::size_t>(columns, 1, groups.size());
    const double room = (width - kBetween * static_cast<double>(columns - 1)) / static_cast<double>(columns);
    const double cell = std::min(room / per, kLargest);
    const double cell_height = std::min(cell, 18.0);
    std::string path;
    std::string labels;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double left = x + static_cast<double>(g % columns) * (cell * per + kBetween);
      const std::size_t row = g / columns;
      const double top = y + static_cast<double>(row) * (cell_height + kBetween);
      for (std::size_t i = 0; i < groups[g].size(); ++i) {
        const double cell_x = left + static_cast<double>(i) * cell;
        path += fmt::format("M{} {}h{}v{}h-{}z", px(cell_x), px(top), px(cell), px(cell_height), px(cell));
        constexpr double kReadable = 15;
        if (cell >= kReadable) {
          labels += fmt::format("<tspan x=\"{}\" y=\"{}\">{}</tspan>", px(cell_x + cell / 2),
                                px(top + cell_height / 2 + 2.8), groups[g][i]);
        }
        // The cell nearest to where the enlarged SM stands.
        const double right = cell_x + cell;
        const bool is_nearer = right > grid_.first_cell_right + 0.5;
        if (grid_.cells == 0 || (is_nearer && top <= grid_.first_cell_top + 0.5)) {
          grid_.first_cell_right = right;
          grid_.first_cell_top = top;
        }
        ++grid_.cells;
      }
    }
    grid_.text += fmt::format("<path class=\"cell\" d=\"{}\"/>\n", path);
    if (!labels.empty()) grid_.text += fmt::format("<text class=\"number\" aria-hidden=\"true\">{}</text>\n", labels);
    const std::size_t whole_rows = (groups.size() + columns - 1) / columns;
    const auto rows = static_cast<double>(whole_rows);
    return rows * (cell_height + kBetween) - kBetween;
  }

  const Chip& chip_;
  double least_cell_;
  UnitGrid grid_;
};

UnitGrid unit_map(const Chip& chip, double x, double y, double width) {
  report::Units units;
  std::vector<std::string> parts;
  for (const auto& group : chip.levels.front().groups) units.insert(units.end(), group.begin(), group.end());
  for (const report::UnitLevel& level : chip.levels) parts.push_back(counted(level.groups.size(), level.name));
  constexpr double kLeastCell = 17;  // holds its number
  MapDrawing drawing(chip, kLeastCell);
  const double height = drawing.draw(0, units, x, y + 22, width);
  UnitGrid grid = drawing.take();
  const std::string heading = fmt::format("{} in {}", counted(units.size(), chip.unit_name), fmt::join(parts, ", "));
  grid.text.insert(0, text_at(x, y + 12, "title", fitted(heading, width, 13)));
  grid.height = 22 + height + kGap;
  return grid;
}

UnitGrid unit_grid(const Chip& chip, double x, double y, double width) {
  if (!chip.levels.empty()) return unit_map(chip, x, y, width);
  constexpr int kMaxDrawn = 1024;
  const int units = std::clamp(chip.units.value_or(1), 1, kMaxDrawn);
  // Cells are as large as they can be and still look like a chip.
  const double inner = width - 12;
  constexpr double kWider = 3.2;  // than high
  const int columns = std::clamp(static_cast<int>(std::ceil(std::sqrt(units * kWider))), 1, units);
  const double cell = std::min((inner - 3.0 * (columns - 1)) / columns, 44.0);
  const int rows = (units + columns - 1) / columns;
  const double cell_height = std::min(cell, 30.0);
  const double frame_height = rows * (cell_height + 3) - 3 + 12;

  UnitGrid grid;
  grid.text = text_at(x, y + 12, "title",
                      fmt::format("{} {}{}", chip.units ? std::to_string(*chip.units) : "?", chip.unit_name,
                                  chip.units == 1 ? "" : "s"));
  const double top = y + 22;
  grid.text += rect(x, top, width, frame_height, "frame");
  // One path for all cells: three hundred elements each with its attributes would be most of the file.
  std::string path;
  for (int i = 0; i < units; ++i) {
    const double cell_x = x + 6 + (i % columns) * (cell + 3);
    const int row = i / columns;
    const double cell_y = top + 6 + row * (cell_height + 3);
    path += fmt::format("M{} {}h{}v{}h-{}z", px(cell_x), px(cell_y), px(cell), px(cell_height), px(cell));
    if (i < columns) {
      grid.first_cell_right = cell_x + cell;
      grid.first_cell_top = cell_y;
    }
  }
  grid.text += fmt::format("<path class=\"cell\" d=\"{}\"/>\n", path);
  grid.height = 22 + frame_height + kGap;
  return grid;
}

// How to read the heights.
std::string ruler(double x, double y) {
  return text_at(x, y, "small faint",
                 fmt::format("Height: logarithm of the capacity, {} px for each doubling above {}, and no less "
                             "than the text needs. Dashed: capacity unknown.",
                             px(kPixelsPerDoubling), report::human_bytes(kLeastBytes)));
}

// What must not be overlooked by who sees the drawing alone, a line each.
std::vector<std::string> warning_lines(const Topology& topology) {
  constexpr int kCharacters = 130;  // of a line as wide as the drawing
  std::vector<std::string> lines;
  for (const std::string& warning : report::report_warnings(topology)) {
    const std::string wrapped = report::wrap("Warning: ", warning, kCharacters);
    for (std::size_t begin = 0, end = 0; begin < wrapped.size(); begin = end + 1) {
      end = wrapped.find('\n', begin);
      lines.push_back(wrapped.substr(begin, end - begin));
    }
  }
  return lines;
}

// Of a drawing that stands alone: what is drawn, and what to know of it.
std::string header(const Topology& topology, const std::vector<std::string>& warnings, double height) {
  std::string text = fmt::format("<title>{}</title>\n<style>{}</style>\n", escaped(report::device_title(topology)),
                                 report::svg_style());
  text += fmt::format("<rect width=\"{}\" height=\"{}\" class=\"page\"/>\n", px(kWidth), px(height));
  text += text_at(kMargin, 34, "name", fitted(topology.name, topology.simulated ? 600 : 900, 22));
  text += text_at(
      kMargin, 58, "small faint",
      fitted(fmt::format("{}", fmt::join(report::device_facts(topology), ", ")), topology.complete ? 920 : 780, 12));
  const auto badge = [](double y, int font_px, const char* word) {
    return fmt::format("<text x=\"{}\" y=\"{}\" class=\"alert\" font-size=\"{}\" text-anchor=\"end\">{}</text>\n",
                       px(kWidth - kMargin), px(y), font_px, word);
  };
  if (topology.simulated) text += badge(38, 32, "SIMULATED");
  if (!topology.complete) text += badge(60, 18, "INCOMPLETE");
  double y = kHeaderHeight + 16;
  for (const std::string& line : warnings) {
    text += text_at(kMargin, y, "small warning", fitted(line, kWidth - 2 * kMargin, 12));
    y += kLineHeight;
  }
  return text;
}

}  // namespace

std::string report::chip_svg(const Topology& topology, bool standalone) {
  const Chip chip = chip_of(topology);
  const double chip_width = (chip.in_unit.empty() ? kWidth - kMargin : kUnitLeft - 3 * kGap) - kMargin;
  const std::vector<std::string> warnings = standalone ? warning_lines(topology) : std::vector<std::string>{};
  const double top = kMargin + (standalone ? kHeaderHeight + kLineHeight * static_cast<double>(warnings.size()) : 0);

  const UnitGrid grid = unit_grid(chip, kMargin + kGap, top + kGap, chip_width - 2 * kGap);
  const double chip_height = kGap + grid.height + total_height(chip.on_chip, chip_width - 2 * kGap);
  std::vector<UnitFrame> frames = {{"One " + chip.unit_name, {}}, {"Shared by several " + chip.unit_name + "s", {}}};
  for (const PhysicalMemory& memory : chip.in_unit) frames[memory.shared_by.empty() ? 0 : 1].memories.push_back(memory);
  std::erase_if(frames, [](const UnitFrame& frame) { return frame.memories.empty(); });
  double frames_height = frames.empty() ? 0 : kGap * static_cast<double>(frames.size() - 1);
  for (const UnitFrame& frame : frames) frames_height += frame.height();
  const double bottom = top + std::max(chip_height, frames_height);
  const double height = bottom + 34;

  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" {}class=\"gt\" role=\"group\" "
      "aria-label=\"{}\">\n",
      px(kWidth), px(height), standalone ? fmt::format("width=\"{}\" height=\"{}\" ", px(kWidth), px(height)) : "",
      escaped("The chip: " + device_title(topology)));
  if (standalone) text += header(topology, warnings, height);
  text += rect(kMargin, top, chip_width, chip_height, "frame");
  text += grid.text;
  double y = top + kGap + grid.height;
  for (const PhysicalMemory& memory : chip.on_chip) {
    text += memory_box(memory, kMargin + kGap, y, chip_width - 2 * kGap, memory.is_device_memory ? "memory" : "far");
    y += BoxPlace(memory, chip_width - 2 * kGap).height() + kGap;
  }
  if (!frames.empty()) {
    text += fmt::format("<path class=\"lead\" d=\"M{} {}L{} {}\"/>\n", px(grid.first_cell_right),
                        px(grid.first_cell_top), px(kUnitLeft), px(top));
  }
  double frame_top = top;
  for (const UnitFrame& frame : frames) {
    text += rect(kUnitLeft, frame_top, kUnitWidth, frame.height(), "frame");
    text += text_at(kUnitLeft + kGap, frame_top + 20, "title", frame.title);
    y = frame_top + 28 + kGap / 2;
    for (const PhysicalMemory& memory : frame.memories) {
      text += memory_box(memory, kUnitLeft + kGap, y, kUnitWidth - 2 * kGap, "near");
      y += BoxPlace(memory, kUnitWidth - 2 * kGap).height() + kGap;
    }
    frame_top += frame.height() + kGap;
  }
  const bool is_empty = chip.in_unit.empty() && chip.on_chip.empty();
  text += is_empty ? text_at(kMargin, bottom + 20, "small", "No memory was measured.") : ruler(kMargin, bottom + 20);
  return text + "</svg>\n";
}

std::string to_svg(const Topology& topology) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + report::chip_svg(topology, true);
}

}  // namespace gputopo
