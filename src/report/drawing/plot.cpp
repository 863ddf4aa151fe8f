#include "report/drawing/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "report/drawing/draw.h"
#include "report/words/text_table.h"
#include "report/words/units.h"

namespace gputopo::report {
namespace {

constexpr double kPlotWidth = 640;
constexpr double kLeft = 88;
constexpr double kPlotHeight = 240;
constexpr double kBottom = 46;  // below it: ticks and the axis' name
constexpr double kTitleHeight = 34;
constexpr double kPlotLine = 15;  // of text
constexpr double kCharacter = 7;

// What is written stands around the samples: the key and the names of the marks along x above, those across on the
// right.
struct Frame {
  std::vector<const ChartMark*> along;   // the greatest first, which has the lowest line
  std::vector<const ChartMark*> across;  // from below
  std::size_t key_columns = 1;
  double key_top = 0;
  double top = 0;
  double bottom = 0;
  double right = 0;
  double height = 0;
};

// Names beside the plot: a few words a line.
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

// Maps values to pixels.
class Scale {
 public:
  Scale(double least, double greatest, bool logarithmic, double from, double to)
      : least_(least), greatest_(greatest), logarithmic_(logarithmic), from_(from), to_(to) {
    if (!(greatest_ > least_)) {
      const double room = least_ == 0 ? 1 : std::abs(least_) * 0.1;
      if (!logarithmic_) least_ -= room;
      greatest_ += room;
    }
  }
  [[nodiscard]] double operator()(double value) const {
    const double part = logarithmic_ ? std::log(std::max(value, least_) / least_) / std::log(greatest_ / least_)
                                     : (value - least_) / (greatest_ - least_);
    return from_ + std::clamp(part, 0.0, 1.0) * (to_ - from_);
  }
  [[nodiscard]] bool holds(double value) const { return value >= least_ && value <= greatest_; }

  [[nodiscard]] std::vector<double> ticks(bool bytes, int most) const {
    std::vector<double> result;
    if (logarithmic_) {
      constexpr double kFewDecades = 100;  // powers of ten would be one tick or two
      const double base = bytes || greatest_ / least_ < kFewDecades ? 2 : 10;
      const double decades = std::log(greatest_ / least_) / std::log(base);
      const double step = std::max(1.0, std::ceil(decades / most));
      for (double e = std::ceil(std::log(least_) / std::log(base) - 1e-9); std::pow(base, e) <= greatest_ * 1.0001;
           e += step) {
        result.push_back(std::pow(base, e));
      }
      if (result.size() >= 2) return result;
      result.clear();
    }
    const double rough = (greatest_ - least_) / most;
    const double base =
        bytes && rough >= 1 ? std::pow(2, std::floor(std::log2(rough))) : std::pow(10, std::floor(std::log10(rough)));
    double step = base;
    for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
      step = base * factor;
      if (step >= rough) break;
    }
    for (double tick = std::ceil(least_ / step - 1e-9) * step; tick <= greatest_ + step * 1e-6; tick += step) {
      if (!(tick + step > tick)) break;  // values so close that no number lies between them
      result.push_back(std::abs(tick) < step * 1e-6 ? 0 : tick);
    }
    return result;
  }

 private:
  double least_;
  double greatest_;
  bool logarithmic_;
  double from_;
  double to_;
};

struct PlotRange {
  double least = INFINITY;
  double greatest = -INFINITY;
  void add(double value, bool positive_only) {
    if (!std::isfinite(value) || (positive_only && value <= 0)) return;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  [[nodiscard]] bool empty() const { return !(least <= greatest); }
};

bool fits(const Series& series, const Chart& chart, const Attribute& attribute, std::size_t row) {
  return std::all_of(series.where.begin(), series.where.end(), [&](const auto& condition) {
    const std::vector<double>* column = find_column(attribute, chart, condition.first);
    return column != nullptr && (*column)[row] == condition.second;
  });
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

// The names of the axes.
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

// The names of marks across, each at its line or as near as the one below lets it.
Markup names_across(const Frame& frame, const Scale& y) {
  Markup text;
  double free_above = frame.bottom + kPlotLine / 2;  // the lowest edge that the next name may have
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

// Above the plot, the name of the rightmost mark lowest.
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

// The rows and columns of a map stand in the order of the table: neighbours there belong together.
std::map<double, std::size_t> places(const std::vector<double>& values) {
  std::map<double, std::size_t> place;
  for (const double value : values) place.try_emplace(value, place.size());
  return place;
}

// Rows of likes stand beside one another: their numbers, which go to and fro, would be ticks that nobody can follow.
bool goes_one_way(const std::map<double, std::size_t>& place) {
  const auto goes = [&](auto compare) {
    return std::ranges::is_sorted(place, compare, &std::pair<const double, std::size_t>::second);
  };
  return goes(std::less<>()) || goes(std::greater<>());
}

// What the colours of a map range over: parts of something from none to all of it, so that noise is of one colour.
PlotRange strengths_of(const Chart& chart, const std::vector<double>& weights) {
  PlotRange range;
  for (const double weight : weights) range.add(weight, false);
  if (chart.weight.unit.empty() && !range.empty()) {
    range.add(0, false);
    range.add(1, false);
  }
  return range;
}

Markup map_axes(const Chart& chart, const Frame& frame, const Attribute& attribute) {
  const std::vector<double> weights = drawn_column(attribute, chart, chart.weight.column);
  Markup labels;
  for (const bool down : {false, true}) {
    const Axis& axis = down ? chart.y : chart.x;
    const std::map<double, std::size_t> place = places(drawn_column(attribute, chart, axis.column));
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
    const std::string name = axis_label(axis) + (is_ordered ? "" : ", likes together");
    labels += down ? name_down(frame, name) : name_along(frame, name);
  }
  const PlotRange range = strengths_of(chart, weights);
  if (!range.empty()) {
    labels +=
        text_at(frame.right, 20, "end", "small faint",
                fmt::format("{}: light {}, dark {}", chart.weight.label, human_value(range.least, chart.weight.unit),
                            human_value(range.greatest, chart.weight.unit)));
  }
  return labels;
}

// Cells of one strength are one path: a few paths instead of thousands of elements.
Markup cells(const Chart& chart, const Frame& frame, const Attribute& attribute, const Scale& x, const Scale& y) {
  const std::vector<double> xs = drawn_column(attribute, chart, chart.x.column);
  const std::vector<double> ys = drawn_column(attribute, chart, chart.y.column);
  const std::vector<double> weights = drawn_column(attribute, chart, chart.weight.column);
  const bool is_map = chart.plot == Plot::kMap;
  // A footprint's loads are parts of all of its loads; a map's values lie between the least and the greatest.
  std::map<double, double> total;
  for (std::size_t r = 0; r < xs.size(); ++r) total[xs[r]] += weights[r];
  const PlotRange range = strengths_of(chart, weights);
  const std::map<double, std::size_t> across = places(xs);
  const std::map<double, std::size_t> down = places(ys);

  constexpr std::size_t kStrengths = 10;
  std::array<std::string, kStrengths> paths;
  const double map_width = (frame.right - kLeft) / static_cast<double>(across.size());
  const double map_height = (kPlotHeight) / static_cast<double>(down.size());
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> strength_at;  // of a map, by row and column
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
  // Neighbours of one strength are one rectangle.
  for (auto cell = strength_at.begin(); cell != strength_at.end();) {
    const auto [row, column] = cell->first;
    const std::size_t strength = cell->second;
    std::size_t length = 0;
    while (cell != strength_at.end() && cell->first == std::pair(row, column + length) && cell->second == strength) {
      ++length;
      ++cell;
    }
    const double width = map_width * static_cast<double>(length);
    paths.at(strength) +=
        fmt::format("M{} {}h{}v{}h-{}z", px(kLeft + static_cast<double>(column) * map_width),
                    px(frame.bottom - static_cast<double>(row + 1) * map_height), px(width), px(map_height), px(width));
  }
  Markup text;
  for (std::size_t s = 0; s < kStrengths; ++s) {
    if (paths.at(s).empty()) continue;
    text += markup("<path class=\"dots\" fill-opacity=\"{}\" d=\"{}\"/>\n",
                   px(0.12 + 0.88 * static_cast<double>(s) / (kStrengths - 1)), paths.at(s));
  }
  return text;
}

Markup bars(const Chart& chart, const Frame& frame, const Attribute& attribute, const Scale& x, const Scale& y) {
  const std::vector<double> xs = drawn_column(attribute, chart, chart.x.column);
  const std::vector<double> counts = drawn_column(attribute, chart, chart.series.front().column);
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
    text += markup("<path class=\"series series-{}\" stroke-width=\"3\" d=\"M{} {}h16\"/>\n", s % 8 + 1, px(left),
                   px(at - 4));
    text += text_at(left + 20, at, "start", "small", chart.series[s].label);
  }
  return text;
}

Markup lines(const Chart& chart, const Attribute& attribute, const Scale& x, const Scale& y) {
  const std::vector<double> xs = drawn_column(attribute, chart, chart.x.column);
  Markup text;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    const Series& series = chart.series[s];
    const std::vector<double> ys = drawn_column(attribute, chart, series.column);
    if (ys.empty()) continue;
    std::vector<std::pair<double, double>> points;
    for (std::size_t r = 0; r < xs.size(); ++r) {
      if (std::isfinite(xs[r]) && std::isfinite(ys[r]) && fits(series, chart, attribute, r)) {
        points.emplace_back(xs[r], ys[r]);
      }
    }
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string path;
    std::string dots;
    for (const auto& [px_x, px_y] : points) {
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px(x(px_x)), px(y(px_y)));
      dots += fmt::format("M{} {}h.01", px(x(px_x)), px(y(px_y)));
    }
    const std::size_t colour = s % 8 + 1;
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

// What the axis along y holds.
PlotRange y_range(const Chart& chart, const Attribute& attribute) {
  PlotRange range;
  const auto add = [&](const std::string& name) {
    for (const double value : drawn_column(attribute, chart, name)) range.add(value, chart.y.logarithmic);
  };
  if (chart.series.empty()) {
    add(chart.y.column);
    return range;
  }
  for (const Series& series : chart.series) add(series.column);
  for (const ChartMark& mark : chart.marks) {
    if (mark.across) range.add(mark.value, chart.y.logarithmic);
  }
  const bool starts_at_nothing = chart.plot == Plot::kBars || range.least < kStartsAtNothing * range.greatest;
  if (!chart.y.logarithmic && range.least > 0 && starts_at_nothing) range.least = 0;
  // A bar of one must have a height.
  if (chart.y.logarithmic && chart.plot == Plot::kBars) range.least /= 2;
  return range;
}

Markup samples_svg(const Chart& chart, const Frame& frame, const Attribute& attribute, const Scale& x, const Scale& y) {
  switch (chart.plot) {
    case Plot::kBars:
      return bars(chart, frame, attribute, x, y);
    case Plot::kDensity:
    case Plot::kMap:
      return cells(chart, frame, attribute, x, y);
    case Plot::kLine:
    case Plot::kPoints:
    case Plot::kNone:
      break;
  }
  return lines(chart, attribute, x, y) + (chart.series.size() > 1 ? key(chart, frame) : Markup());
}

Markup plot_body(const Chart& chart, const Attribute& attribute) {
  PlotRange xs;
  for (const double value : drawn_column(attribute, chart, chart.x.column)) xs.add(value, chart.x.logarithmic);
  const PlotRange ys = y_range(chart, attribute);
  const Frame frame = frame_of(chart);
  Markup text = text_at(kLeft, 20, "start", "title", chart.title);
  if (xs.empty() || ys.empty()) {
    return text + text_at(kPlotWidth / 2, frame.height / 2, "middle", "small", "no samples that can be drawn");
  }
  // Evidence of an edge stands next to it: where marks are outside of the samples they are not drawn.
  const Scale x(xs.least, xs.greatest, chart.x.logarithmic, kLeft + 6, frame.right - 6);
  const Scale y(ys.least, ys.greatest, chart.y.logarithmic, frame.bottom, frame.top + 6);
  text += chart.plot == Plot::kMap ? map_axes(chart, frame, attribute) : axes(chart, frame, x, y);
  return text + samples_svg(chart, frame, attribute, x, y) + marks_svg(chart, frame, x, y);
}

}  // namespace

Markup plots_svg(const std::vector<PlotOf>& plots, const std::vector<std::string>& notes) {
  double height = 0;
  Markup body;
  for (const PlotOf& plot : plots) {
    const Markup own = plot_body(*plot.chart, *plot.attribute);
    body += height == 0 ? own : markup("<g transform=\"translate(0 {})\">\n{}</g>\n", px(height), own);
    height += frame_of(*plot.chart).height;
  }
  double y = height + kPlotLine - 5;
  for (const std::string& note : notes)
    body += text_at(kPlotLine, std::exchange(y, y + kPlotLine), "start", "small warning", note);
  return svg_opening(plots.empty() ? "" : plots.front().chart->title, kPlotWidth,
                     height + kPlotLine * static_cast<double>(notes.size())) +
         body + "</svg>\n";
}

Markup plot_svg(const Chart& chart, const Attribute& attribute) { return plots_svg({{&chart, &attribute}}, {}); }

}  // namespace gputopo::report
