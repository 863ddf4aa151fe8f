// Latency and bandwidth over footprint as character plots: ASCII letters, or braille with eight dots per character.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "file/sanitize.h"
#include "gputopo/report.h"
#include "report/drawing/bandwidth_curve.h"
#include "report/drawing/curve.h"
#include "report/words/device_facts.h"
#include "report/words/hierarchy.h"
#include "report/words/text_table.h"
#include "report/words/units.h"

namespace gputopo {
namespace {

using report::Chart;
using report::ChartMark;
using report::Points;
using report::Range;

constexpr std::size_t kAxisMargin = 7;  // axis labels on the left, and the axis
constexpr int kRows = 16;
constexpr int kLeastRows = 6;

// Content of one character cell: a letter, or the dots of a braille pattern.
struct Glyph {
  char letter = ' ';
  unsigned dots = 0;
};

// Index of a value on a logarithmic axis with `places` positions.
int place_of(double value, const Range& range, int places) {
  if (!(range.greatest > range.least)) return 0;
  const double part = std::log(value / range.least) / std::log(range.greatest / range.least);
  return std::clamp(static_cast<int>(std::lround(part * (places - 1))), 0, places - 1);
}

double value_at(int place, const Range& range, int places) {
  if (places < 2) return range.least;
  return range.least * std::pow(range.greatest / range.least, static_cast<double>(place) / (places - 1));
}

// Interpolates between measured footprints, linearly on logarithmic axes.
double height_at(const Points& points, double footprint) {
  const auto after = std::ranges::lower_bound(points, footprint, {}, &Points::value_type::first);
  if (after == points.begin()) return points.front().second;
  if (after == points.end()) return points.back().second;
  const auto before = std::prev(after);
  const double part = std::log(footprint / before->first) / std::log(after->first / before->first);
  return before->second * std::pow(after->second / before->second, part);
}

class CharacterPlot {
 public:
  CharacterPlot(int columns, int rows, bool braille)
      : columns_(columns), rows_(rows), across_(braille ? 2 : 1), down_(braille ? 4 : 1) {
    glyphs_.assign(static_cast<std::size_t>(rows), std::vector<Glyph>(static_cast<std::size_t>(columns)));
  }

  void draw(const Points& points, char letter, const Range& x, const Range& y) {
    int before = -1;
    int last_column = 0;
    for (int at = 0; at < columns_ * across_; ++at) {
      const double footprint = value_at(at, x, columns_ * across_);
      constexpr double kRounding = 1e-9;
      if (footprint < points.front().first * (1 - kRounding) || footprint > points.back().first * (1 + kRounding)) {
        continue;
      }
      const int height = place_of(height_at(points, footprint), y, rows_ * down_);
      // Fills steep steps, so that the line has no gaps.
      const int from = before < 0 || down_ == 1 ? height : before + (height > before ? 1 : height < before ? -1 : 0);
      for (int up = std::min(from, height); up <= std::max(from, height); ++up) set(at, up, letter);
      before = height;
      last_column = at / across_;
    }
    // A dotted line has its letter at its end.
    if (before >= 0 && down_ > 1) glyph(last_column, before / down_).letter = letter;
  }

  // Draws a vertical line where the plot is empty.
  void mark(int column) {
    for (int row = 0; row < rows_; ++row) {
      Glyph& one = glyph(column, row);
      if (one.letter == ' ' && one.dots == 0) one.letter = ':';
    }
  }

  [[nodiscard]] std::string row(int row) const {
    std::string text;
    for (const Glyph& one : glyphs_[static_cast<std::size_t>(row)]) {
      text += one.letter != ' ' || one.dots == 0 ? std::string(1, one.letter) : braille(one.dots);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

 private:
  Glyph& glyph(int column, int row) { return glyphs_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)]; }

  void set(int across, int up, char letter) {
    Glyph& one = glyph(across / across_, up / down_);
    if (down_ == 1) {
      if (one.letter == ' ') one.letter = letter;
      return;
    }
    // Unicode numbers a pattern's dots down the left column, then down the right one; the lowest pair comes last.
    constexpr unsigned kDots[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};
    one.dots |= kDots[across % 2][up % 4];
  }

  static std::string braille(unsigned dots) {
    const unsigned code = 0x2800 + dots;
    return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
  }

  int columns_;
  int rows_;
  int across_;  // dots per character
  int down_;
  std::vector<std::vector<Glyph>> glyphs_;  // by row from the bottom, then column
};

// Labels every tenth column if the label fits.
std::string ticks(const Range& x, int columns) {
  constexpr int kEvery = 10;
  std::string text;
  for (int column = 0; column < columns; column += kEvery) {
    const std::string label = report::human_value(std::exp2(std::round(std::log2(value_at(column, x, columns)))), "B");
    if (static_cast<int>(label.size()) + column > columns) break;
    text.resize(static_cast<std::size_t>(column), ' ');
    text += label;
  }
  return text;
}

std::string list_of(const std::vector<ChartMark>& marks, bool across) {
  std::vector<std::string> texts;
  for (const ChartMark& mark : marks) {
    if (mark.across != across) continue;
    const std::string label = sanitized_line(mark.label);  // titles come from an untrusted file
    std::string text = across ? label : fmt::format("{} {}", texts.size() + 1, label);
    if (mark.low && mark.high) {
      text += fmt::format(" (first misses at {}, nothing hits at {})", report::human_value(*mark.low, "B"),
                          report::human_value(*mark.high, "B"));
    }
    texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

// Rates in GB/s, because axis labels have five characters.
struct Labels {
  const char* of;
  double unit;
};

Labels labels_of(const Chart& chart) {
  constexpr double kGiga = 1e9;
  return chart.y.unit == "B/s" ? Labels{"GB/s: ", kGiga} : Labels{"cycles: ", 1};
}

std::string plot_text(const Chart& chart, const TerminalStyle& style) {
  const Labels labels = labels_of(chart);
  const Range x = report::range_of(chart.column(chart.x.column));
  const Range y = report::range_of(chart.column(chart.y.column));
  const int columns = std::max(style.width - static_cast<int>(kAxisMargin) - 1, 10);
  constexpr int kAround = 10;  // lines for title, axis and legends
  const int rows = style.height > 0 ? std::clamp(style.height - kAround, kLeastRows, kRows) : kRows;
  CharacterPlot plot(columns, rows, style.unicode);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const char letter = static_cast<char>('a' + i % 26);
    plot.draw(points_of(chart, chart.series[i]), letter, x, y);
    names.push_back(fmt::format("{} {}", letter, chart.series[i].label));
  }
  std::string numbers(static_cast<std::size_t>(columns), ' ');  // mark numbers, above the plot
  char number = '1';
  for (const ChartMark& mark : chart.marks) {
    if (mark.across || number > '9') continue;
    const int column = place_of(mark.value, x, columns);
    plot.mark(column);
    numbers[static_cast<std::size_t>(column)] = number++;
  }
  numbers.erase(numbers.find_last_not_of(' ') + 1);
  std::string text = fmt::format("{:7}{}\n", "", numbers);
  constexpr int kLabelEvery = 3;
  for (int row = rows - 1; row >= 0; --row) {
    const bool has_label = (rows - 1 - row) % kLabelEvery == 0 || row == 0;
    const std::string label = has_label ? report::significant(value_at(row, y, rows) / labels.unit, 3) : "";
    text += fmt::format("{:>5} |{}\n", label, plot.row(row));
  }
  text += fmt::format("{:>5} +{}\n{:7}{}\n\n", "", std::string(static_cast<std::size_t>(columns), '-'), "",
                      ticks(x, columns));
  text += report::wrap(labels.of, fmt::format("{}", fmt::join(names, "; ")), style.width);
  if (const std::string capacities = list_of(chart.marks, false); !capacities.empty()) {
    text += report::wrap("capacities: ", capacities, style.width);
  }
  if (const std::string levels = list_of(chart.marks, true); !levels.empty()) {
    text += report::wrap("latencies: ", levels, style.width);
  }
  return text;
}

}  // namespace

std::string to_plot(const Topology& topology, const TerminalStyle& style) {
  std::string text = report::paint(sanitized_line(report::curve_title(topology)), report::Tone::kStrong, style.colour);
  text += "\n\n";
  if (const std::optional<Chart> curve = report::latency_curve(topology)) {
    text += plot_text(*curve, style);
  } else {
    text += "No sweep over footprints was measured.\n";
  }
  // A screen has room for one plot. Output that is not a screen, and --long, has both.
  const std::optional<Chart> bandwidth = style.height > 0 ? std::nullopt : report::bandwidth_curve(topology);
  if (bandwidth) {
    const std::string title = sanitized_line(report::curve_title(topology, "bandwidth"));
    text += "\n" + report::paint(title, report::Tone::kStrong, style.colour) + "\n\n" + plot_text(*bandwidth, style);
  }
  for (const std::string& warning : topology.warnings) {
    text += report::paint(report::wrap("Warning: ", sanitized_line(warning), style.width), report::Tone::kAlert,
                          style.colour);
  }
  return text;
}

}  // namespace gputopo
