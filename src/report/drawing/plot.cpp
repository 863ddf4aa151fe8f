#include "report/drawing/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "report/drawing/draw.h"
#include "report/drawing/scale.h"
#include "report/words/text_table.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

constexpr double kPlotWidth = 640;
constexpr double kLeft = 88;
constexpr double kPlotHeight = 240;
constexpr double kBottom = 46;  // room below for ticks and the axis name
constexpr double kTitleHeight = 34;
constexpr double kPlotLine = 15;  // height of a text line
constexpr double kCharacter = 7;
constexpr std::size_t kSeriesColours = 8;

// Layout of the texts around the samples: key and names of marks along x on top, names of marks across at the right.
struct Frame {
  std::vector<const ChartMark*> along;   // largest first, on the lowest line
  std::vector<const ChartMark*> across;  // from bottom to top
  std::size_t key_columns = 1;
  double key_top = 0;
  double top = 0;
  double bottom = 0;
  double right = 0;
  double height = 0;
};

// Names beside the plot, a few words per line.
std::vector<std::string> name_lines(const ChartMark& mark) {
  constexpr int kMaxCharacters = 20;
  return wrapped_lines(mark.label, kMaxCharacters);
}

std::size_t longest_label(const Chart& chart) {
  std::size_t longest = 0;
  for (const Series& series : chart.series) longest = std::max(longest, series.label.size());
  return longest;
}

Frame frame_of(const Chart& chart) {
  Frame frame;
  double margin = 16;
  for (const ChartMark& mark : chart.marks) {
    (mark.across ? frame.across : frame.along).push_back(&mark);
    if (!mark.across) continue;
    for (const std::string& line : name_lines(mark)) {
      margin = std::max(margin, 12 + kCharacter * static_cast<double>(line.size()));
    }
  }
  const auto by_value = [](const ChartMark* a, const ChartMark* b) { return a->value < b->value; };
  std::stable_sort(frame.across.begin(), frame.across.end(), by_value);
  std::stable_sort(frame.along.rbegin(), frame.along.rend(), by_value);
  std::size_t key_rows = 0;
  if (chart.series.size() > 1) {
    constexpr double kKeySign = 34;
    const double column = kKeySign + kCharacter * static_cast<double>(longest_label(chart));
    frame.key_columns = static_cast<std::size_t>(std::max((kPlotWidth - kLeft) / column, 1.0));
    key_rows = (chart.series.size() + frame.key_columns - 1) / frame.key_columns;
  }
  frame.key_top = kTitleHeight;
  frame.top = kTitleHeight + kPlotLine * static_cast<double>(key_rows + frame.along.size());
  frame.bottom = frame.top + kPlotHeight;
  frame.right = kPlotWidth - margin;
  frame.height = frame.bottom + kBottom;
  return frame;
}

std::string tick_text(double value, const std::string& unit) {
  return unit == "B" || unit == "B/s" ? human_value(value, unit) : significant(value, 4);
}

std::string axis_label(const Axis& axis) {
  if (axis.label.empty()) return axis.unit;
  const bool in_ticks = axis.unit.empty() || axis.unit == "B" || axis.unit == "B/s";
  return in_ticks ? axis.label : fmt::format("{} ({})", axis.label, axis.unit);
}

Markup text_at(double x, double y, const char* anchor, const char* classes, const std::string& text) {
  return markup("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", px(x), px(y), anchor, classes,
                text);
}

Markup name_along(const Frame& frame, const std::string& name) {
  return text_at((kLeft + frame.right) / 2, frame.height - 8, "middle", "small", name);
}

Markup name_down(const Frame& frame, const std::string& name) {
  return markup("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\" class=\"small\">{}</text>\n",
                px((frame.top + frame.bottom) / 2), name);
}

Markup axes(const Chart& chart, const Frame& frame, const Scale& x, const Scale& y) {
  std::string grid;
  Markup labels;
  for (const double tick : x.ticks(chart.x.unit == "B", 8)) {
    grid += fmt::format("M{} {}V{}", px(x(tick)), px(frame.top), px(frame.bottom));
    labels += text_at(x(tick), frame.bottom + 16, "middle", "small faint", tick_text(tick, chart.x.unit));
  }
  for (const double tick : y.ticks(chart.y.unit == "B", 6)) {
    grid += fmt::format("M{} {}H{}", px(kLeft), px(y(tick)), px(frame.right));
    labels += text_at(kLeft - 6, y(tick) + 4, "end", "small faint", tick_text(tick, chart.y.unit));
  }
  labels += name_along(frame, axis_label(chart.x)) + name_down(frame, axis_label(chart.y));
  return markup("<path class=\"grid\" d=\"{}\"/>\n", grid) + labels;
}

// Names of marks across, each at its line, or as close as the name below allows.
Markup names_across(const Frame& frame, const Scale& y) {
  Markup text;
  double free_above = frame.bottom + kPlotLine / 2;  // the lowest allowed edge of the next name
  for (const ChartMark* mark : frame.across) {
    if (!y.holds(mark->value)) continue;
    const std::vector<std::string> lines = name_lines(*mark);
    const double height = kPlotLine * static_cast<double>(lines.size());
    double line_top = std::min(y(mark->value) + height / 2, free_above) - height;
    free_above = line_top;
    for (const std::string& line : lines) {
      text += text_at(frame.right + 6, line_top + kPlotLine - 4, "start", "small", line);
      line_top += kPlotLine;
    }
  }
  return text;
}

// Names above the plot; the rightmost mark has the lowest line.
Markup names_along(const Frame& frame, const Scale& x) {
  Markup text;
  double at = frame.top - 4;
  for (const ChartMark* mark : frame.along) {
    if (!x.holds(mark->value)) continue;
    const double half = kCharacter * static_cast<double>(mark->label.size()) / 2;
    text += text_at(std::clamp(x(mark->value), kLeft + half, std::max(kLeft + half, kPlotWidth - 4 - half)), at,
                    "middle", "small", mark->label);
    at -= kPlotLine;
  }
  return text;
}

Markup marks_svg(const Chart& chart, const Frame& frame, const Scale& x, const Scale& y) {
  Markup text;
  for (const ChartMark& mark : chart.marks) {
    const Scale& scale = mark.across ? y : x;
    if (!scale.holds(mark.value)) continue;
    const double at = scale(mark.value);
    if (mark.low && mark.high) {
      const double a = scale(*mark.low);
      const double b = scale(*mark.high);
      const auto band = [](double left, double top, double width, double height) {
        return markup("<rect class=\"band\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", px(left), px(top),
                      px(width), px(height));
      };
      text += mark.across ? band(kLeft, std::min(a, b), frame.right - kLeft, std::abs(a - b))
                          : band(std::min(a, b), frame.top, std::abs(a - b), kPlotHeight);
    }
    const char* classes = mark.is_value ? "mark" : "edge";
    text += mark.across
                ? markup("<path class=\"{}\" d=\"M{} {}H{}\"/>\n", classes, px(kLeft), px(at), px(frame.right))
                : markup("<path class=\"{}\" d=\"M{} {}V{}\"/>\n", classes, px(at), px(frame.top), px(frame.bottom));
  }
  return text + names_along(frame, x) + names_across(frame, y);
}

// A map keeps the table's order of rows and columns, in which similar ones are adjacent.
std::map<double, std::size_t> places(const std::vector<double>& values) {
  std::map<double, std::size_t> place;
  for (const double value : values) place.try_emplace(value, place.size());
  return place;
}

// False if grouping similar rows shuffled their numbers, which would make ticks useless.
bool goes_one_way(const std::map<double, std::size_t>& place) {
  const auto goes = [&](auto compare) {
    return std::ranges::is_sorted(place, compare, &std::pair<const double, std::size_t>::second);
  };
  return goes(std::less<>()) || goes(std::greater<>());
}

// Range of a map's colors. Unitless values range from 0 to 1, so that noise has one color.
Range strengths_of(const Chart& chart) {
  Range range = range_of(chart.column(chart.weight.column));
  if (chart.weight.unit.empty() && !range.empty()) {
    range.add(0);
    range.add(1);
  }
  return range;
}

Markup map_axes(const Chart& chart, const Frame& frame) {
  Markup labels;
  for (const bool down : {false, true}) {
    const Axis& axis = down ? chart.y : chart.x;
    const std::map<double, std::size_t> place = places(chart.column(axis.column));
    const double span = down ? kPlotHeight : frame.right - kLeft;
    const double step = span / static_cast<double>(place.size());
    const std::size_t every = (place.size() + 11) / 12;
    const bool is_ordered = goes_one_way(place);
    for (const auto& [value, index] : place) {
      if (index % every != 0 || !is_ordered) continue;
      const double at = (static_cast<double>(index) + 0.5) * step;
      labels += down ? text_at(kLeft - 6, frame.bottom - at + 4, "end", "small faint", tick_text(value, axis.unit))
                     : text_at(kLeft + at, frame.bottom + 16, "middle", "small faint", tick_text(value, axis.unit));
    }
    const std::string name = axis_label(axis) + (is_ordered ? "" : ", grouped by similarity");
    labels += down ? name_down(frame, name) : name_along(frame, name);
  }
  const Range range = strengths_of(chart);
  if (!range.empty()) {
    labels +=
        text_at(frame.right, 20, "end", "small faint",
                fmt::format("{}: light {}, dark {}", chart.weight.label, human_value(range.least, chart.weight.unit),
                            human_value(range.greatest, chart.weight.unit)));
  }
  return labels;
}

// Cells of equal strength share one path: a few paths replace thousands of elements.
Markup cells(const Chart& chart, const Frame& frame, const Scale& x, const Scale& y) {
  const std::vector<double>& xs = chart.column(chart.x.column);
  const std::vector<double>& ys = chart.column(chart.y.column);
  const std::vector<double>& weights = chart.column(chart.weight.column);
  const bool is_map = chart.plot == Plot::kMap;
  // A density plot is relative to all loads of a footprint; a map is relative to its range of values.
  std::map<double, double> total;
  for (std::size_t r = 0; r < xs.size(); ++r) total[xs[r]] += weights[r];
  const Range range = strengths_of(chart);
  const std::map<double, std::size_t> across = places(xs);
  const std::map<double, std::size_t> down = places(ys);

  constexpr std::size_t kStrengths = 10;
  std::array<std::string, kStrengths> paths;
  const double map_width = (frame.right - kLeft) / static_cast<double>(across.size());
  const double map_height = (kPlotHeight) / static_cast<double>(down.size());
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> strength_at;  // for a map, by row and column
  for (std::size_t r = 0; r < xs.size(); ++r) {
    const double span = range.greatest - range.least;
    const double part =
        is_map ? (span > 0 ? (weights[r] - range.least) / span : 1) : std::sqrt(weights[r] / total[xs[r]]);
    if (!std::isfinite(part)) continue;
    const auto strength = std::min(static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kStrengths), kStrengths - 1);
    if (is_map) {
      strength_at[{down.at(ys[r]), across.at(xs[r])}] = strength;
    } else {
      paths.at(strength) += fmt::format("M{} {}h6v4h-6z", px(x(xs[r]) - 3), px(y(ys[r]) - 2));
    }
  }
  // Adjacent cells of equal strength form one rectangle.
  for (auto cell = strength_at.begin(); cell != strength_at.end();) {
    const auto [row, column] = cell->first;
    const std::size_t strength = cell->second;
    std::size_t length = 0;
    while (cell != strength_at.end() && cell->first == std::pair(row, column + length) && cell->second == strength) {
      ++length;
      ++cell;
    }
    const double width = map_width * static_cast<double>(length);
    paths.at(strength) += path_box(kLeft + static_cast<double>(column) * map_width,
                                   frame.bottom - static_cast<double>(row + 1) * map_height, width, map_height);
  }
  Markup text;
  for (std::size_t s = 0; s < kStrengths; ++s) {
    if (paths.at(s).empty()) continue;
    text += svg_dots(0.12 + 0.88 * static_cast<double>(s) / (kStrengths - 1), paths.at(s));
  }
  return text;
}

Markup bars(const Chart& chart, const Frame& frame, const Scale& x, const Scale& y) {
  const std::vector<double>& xs = chart.column(chart.x.column);
  const std::vector<double>& counts = chart.column(chart.series.front().column);
  std::string path;
  for (std::size_t r = 0; r < xs.size(); ++r) {
    path += fmt::format("M{} {}V{}", px(x(xs[r])), px(frame.bottom), px(y(counts[r])));
  }
  return markup("<path class=\"series series-1\" stroke-width=\"2\" d=\"{}\"/>\n", path);
}

Markup key(const Chart& chart, const Frame& frame) {
  const double column = (kPlotWidth - kLeft) / static_cast<double>(frame.key_columns);
  Markup text;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const double left = kLeft + column * static_cast<double>(s % frame.key_columns);
    const std::size_t row = s / frame.key_columns;
    const double at = frame.key_top + kPlotLine * static_cast<double>(row + 1) - 4;
    text += markup("<path class=\"series series-{}\" stroke-width=\"3\" d=\"M{} {}h16\"/>\n", s % kSeriesColours + 1,
                   px(left), px(at - 4));
    text += text_at(left + 20, at, "start", "small", chart.series[s].label);
  }
  return text;
}

Markup lines(const Chart& chart, const Scale& x, const Scale& y) {
  Markup text;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    Points points = points_of(chart, chart.series[s]);
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string path;
    std::string dots;
    for (const auto& [px_x, px_y] : points) {
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px(x(px_x)), px(y(px_y)));
      dots += fmt::format("M{} {}h.01", px(x(px_x)), px(y(px_y)));
    }
    const std::size_t colour = s % kSeriesColours + 1;
    if (chart.plot != Plot::kPoints) {
      text += markup("<path class=\"series series-{}\" stroke-width=\"1.5\" d=\"{}\"/>\n", colour, path);
    }
    constexpr std::size_t kMaxDots = 200;
    if (chart.plot == Plot::kPoints || points.size() <= kMaxDots) {
      text += markup("<path class=\"series series-{}\" stroke-width=\"5\" stroke-linecap=\"round\" d=\"{}\"/>\n",
                     colour, dots);
    }
  }
  return text;
}

Range y_range(const Chart& chart) {
  if (chart.series.empty()) return range_of(chart.column(chart.y.column));
  Range range;
  for (const Series& series : chart.series) range.add(chart.column(series.column));
  for (const ChartMark& mark : chart.marks) {
    if (mark.across) range.add(mark.value);
  }
  const bool starts_at_nothing = chart.plot == Plot::kBars || range.least < kStartsAtNothing * range.greatest;
  if (!chart.y.logarithmic && range.least > 0 && starts_at_nothing) range.least = 0;
  // A bar with count one needs a visible height.
  if (chart.y.logarithmic && chart.plot == Plot::kBars) range.least /= 2;
  return range;
}

Markup samples_svg(const Chart& chart, const Frame& frame, const Scale& x, const Scale& y) {
  switch (chart.plot) {
    case Plot::kBars:
      return bars(chart, frame, x, y);
    case Plot::kDensity:
    case Plot::kMap:
      return cells(chart, frame, x, y);
    case Plot::kLine:
    case Plot::kPoints:
    case Plot::kNone:
      break;
  }
  return lines(chart, x, y) + (chart.series.size() > 1 ? key(chart, frame) : Markup());
}

Markup plot_body(const Chart& chart) {
  const Range xs = range_of(chart.column(chart.x.column));
  const Range ys = y_range(chart);
  const Frame frame = frame_of(chart);
  Markup text = text_at(kLeft, 20, "start", "title", chart.title);
  if (xs.empty() || ys.empty()) {
    return text + text_at(kPlotWidth / 2, frame.height / 2, "middle", "small", "no samples to draw");
  }
  // Samples that surround an edge lie close to it, so marks outside the samples are not drawn.
  const Scale x(xs, chart.x.logarithmic, kLeft + 6, frame.right - 6);
  const Scale y(ys, chart.y.logarithmic, frame.bottom, frame.top + 6);
  text += chart.plot == Plot::kMap ? map_axes(chart, frame) : axes(chart, frame, x, y);
  return text + samples_svg(chart, frame, x, y) + marks_svg(chart, frame, x, y);
}

}  // namespace

Markup plots_svg(std::span<const Chart> charts, const std::vector<std::string>& notes) {
  double height = 0;
  Markup body;
  for (const Chart& chart : charts) {
    const Markup own = plot_body(chart);
    body += height == 0 ? own : markup("<g transform=\"translate(0 {})\">\n{}</g>\n", px(height), own);
    height += frame_of(chart).height;
  }
  double y = height + kPlotLine - 5;
  for (const std::string& note : notes)
    body += text_at(kPlotLine, std::exchange(y, y + kPlotLine), "start", "small warning", note);
  return svg_opening(charts.empty() ? "" : charts.front().title, kPlotWidth,
                     height + kPlotLine * static_cast<double>(notes.size())) +
         body + "</svg>\n";
}

Markup plot_svg(const Chart& chart) { return plots_svg({&chart, 1}, {}); }

}  // namespace gputopo::report
