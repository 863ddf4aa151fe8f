#include "report/drawing/memory_box.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/drawing/draw.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"
#include "report/words/units.h"
#include "report/words/value_text.h"

namespace gputopo::report {
namespace {

constexpr double kLeastHeight = 34;  // also for a box without text

// "per 2 SMs: 32 KiB": the text beside a memory's title.
std::string figures_of(const PhysicalMemory& memory) {
  std::string figures = memory.figures();
  if (memory.shared_by.empty()) return figures;
  return fmt::format("per {}{}{}", memory.shared_by, figures.empty() ? "" : ": ", figures);
}

// ", 2 partitions", ", 4 instances"; empty for one.
std::string count_of(const PhysicalMemory& memory) {
  if (memory.instances <= 1) return "";
  return fmt::format(", {} {}", memory.instances, memory.is_parted ? "partitions" : "instances");
}

struct BoxLine {
  std::string text;
  const char* classes;
};

// Wraps between figures, so that a number keeps its unit: "60 MiB, 283.9 cycles near," and "9.13 TB/s".
std::vector<std::string> packed(const std::string& text, int characters) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t comma = text.find(", ", begin);
    const std::size_t end = comma == std::string::npos ? text.size() : comma + 1;
    const std::string figure = text.substr(begin, end - begin);
    if (!lines.empty() && lines.back().size() + 1 + figure.size() <= static_cast<std::size_t>(characters)) {
      lines.back() += " " + figure;
    } else {
      lines.push_back(figure);
    }
    begin = std::min(end + 1, text.size());
  }
  return lines;
}

// Layout of a memory: one box per instance, as high as capacity and text require. Narrow boxes have their text above.
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
  [[nodiscard]] const std::vector<BoxLine>& lines() const { return lines_; }

 private:
  static constexpr double kPadding = 10;

  // A shared cache has several names, one per line.
  void add_lines(const PhysicalMemory& memory) {
    const double room_px = (is_narrow_ ? width_ : part()) - 16;
    const auto add = [&](const std::string& text, const char* classes, double font_px) {
      if (text.empty()) return;
      const auto characters = static_cast<int>(characters_in(room_px, font_px));
      for (const std::string& line : wrapped_lines(text, characters)) lines_.push_back({line, classes});
    };
    constexpr double kTitlePx = 13.5;  // bold text is wider
    for (const MemoryElement* element : memory.elements) add(element->title, "title", kTitlePx);
    const auto characters = static_cast<int>(characters_in(room_px, 12));
    for (const std::string& line : packed(memory.figures() + (is_narrow_ ? count_of(memory) : ""), characters)) {
      add(line, "small faint", 12);  // the frame names the owner
    }
    for (const std::string& note : memory.notes) add(note, "small faint", 12);
  }

  double width_;
  int instances_;
  bool is_narrow_ = false;
  std::vector<BoxLine> lines_;
  double boxes_top_ = 0;
  double boxes_height_ = 0;
};

// The visible text of a memory; its label is complete.
Markup names_in_box(const PhysicalMemory& memory, const BoxPlace& place, double x, double y) {
  Markup text;
  for (int i = 1; i < memory.instances && !place.is_narrow(); ++i) {
    const std::string number = memory.is_parted ? fmt::format("partition {}", i + 1) : std::to_string(i + 1);
    text += svg_text(x + place.left(i) + 8, y + 17, "small faint", fitted(number, place.part() - 8, 12));
  }
  double line_y = y + 17;
  for (const BoxLine& line : place.lines()) {
    text += svg_text(x + 8, line_y, line.classes, line.text);
    line_y += kLineHeight;
  }
  return text;
}

// Hover text: every value of an element with interval, method and source, one per line.
std::string described(const MemoryElement& element) {
  std::string text = element.title;
  for (const auto& [id, attribute] : element.attributes) {
    if (needs_no_reason(attribute)) continue;
    text += fmt::format("\n{}: ", readable(id));
    if (!attribute.available()) {
      text += fmt::format("unavailable, {}", why_absent(attribute));
      continue;
    }
    text += brief_value_text(attribute) + extent_text(id);
    const std::string interval = interval_text(attribute);
    if (!interval.empty()) text += fmt::format(" {}", interval);
    text += fmt::format(", {}", to_string(attribute.source));
    if (const std::string method = method_text(attribute); !method.empty()) text += " by " + method;
    for (const std::string& flag : attribute.flags) text += fmt::format("; flagged: {}", readable(flag));
  }
  return text;
}

}  // namespace

double memory_height(const PhysicalMemory& memory, double width) { return BoxPlace(memory, width).height(); }

double total_height(const std::vector<PhysicalMemory>& memories, double width) {
  double height = 0;
  for (const PhysicalMemory& memory : memories) height += memory_height(memory, width) + kGap;
  return height;
}

Markup memory_box(const PhysicalMemory& memory, double x, double y, double width,
                  const std::vector<std::string>& colours) {
  const BoxPlace place(memory, width);
  std::vector<std::string> ids;
  std::string description;
  for (const MemoryElement* element : memory.elements) {
    ids.push_back(element->id);
    description += (description.empty() ? "" : "\n\n") + described(*element);
  }
  std::vector<std::string> said = {fmt::format("{}: {}{}", memory.title(), figures_of(memory), count_of(memory))};
  said.insert(said.end(), memory.notes.begin(), memory.notes.end());
  Markup text = markup("<g class=\"part\" tabindex=\"0\" role=\"img\" aria-label=\"{}\" data-elements=\"{}\">\n",
                       fmt::format("{}", fmt::join(said, "; ")), fmt::format("{}", fmt::join(ids, " ")));
  text += markup("<title>{}</title>\n", description);
  // The area that reacts to the pointer has no gaps.
  text += markup("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"hit\"/>\n", px(x), px(y), px(width),
                 px(place.height()));
  for (int i = 0; i < memory.instances; ++i) {
    text +=
        svg_box(x + place.left(i), y + place.boxes_top(), place.part(), place.boxes_height(),
                colours[std::min(static_cast<std::size_t>(i), colours.size() - 1)] + (memory.bytes ? "" : " unknown"));
  }
  return text + "</g>\n<g class=\"names\" aria-hidden=\"true\">\n" + names_in_box(memory, place, x, y) + "</g>\n";
}

}  // namespace gputopo::report
