#include "kernel_model/prediction_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernel_model/prediction.h"
#include "kernel_model/prediction_text.h"
#include "report/drawing/draw.h"
#include "report/words/units.h"

namespace gputopo::kernel_model {
namespace {

using report::fitted;
using report::Markup;
using report::markup;
using report::px;
using report::svg_text;

constexpr double kWidth = 900;
constexpr double kHeight = 480;
constexpr double kLeft = 92;
constexpr double kRight = 640;
constexpr double kTop = 66;
constexpr double kBottom = 424;
constexpr report::ProgramText kMiddle = " text-anchor=\"middle\"";

struct LogAxis {
  double least;
  double greatest;
  double from;
  double to;
  [[nodiscard]] double place(double value) const {
    return from + (to - from) * std::log(value / least) / std::log(greatest / least);
  }
};

LogAxis axis_around(double least, double greatest, double from, double to) {
  constexpr double kRoom = 2;
  return {std::pow(10, std::floor(std::log10(least / kRoom))), std::pow(10, std::ceil(std::log10(greatest * kRoom))),
          from, to};
}

Markup line(double x1, double y1, double x2, double y2, const std::string& classes, int stroke_width = 0) {
  if (stroke_width > 0) {
    return markup("<path d=\"M{} {}L{} {}\" class=\"{}\" stroke-width=\"{}\"/>\n", px(x1), px(y1), px(x2), px(y2),
                  classes, stroke_width);
  }
  return markup("<path d=\"M{} {}L{} {}\" class=\"{}\"/>\n", px(x1), px(y1), px(x2), px(y2), classes);
}

std::string rate_text(const Ceiling& ceiling) {
  return report::human_value(ceiling.rate, ceiling.is_memory() ? "B/s" : ceiling.unit + "/s");
}

Markup axes(const LogAxis& x, const LogAxis& y) {
  Markup text;
  constexpr double kDecade = 10;
  constexpr double kRounding = 1.001;
  for (double at = x.least; at <= x.greatest * kRounding; at *= kDecade) {
    text += line(x.place(at), kTop, x.place(at), kBottom, "grid");
    text += svg_text(x.place(at), kBottom + 18, "small faint", report::significant(at, 3), kMiddle);
  }
  for (double at = y.least; at <= y.greatest * kRounding; at *= kDecade) {
    text += line(kLeft, y.place(at), kRight, y.place(at), "grid");
    text +=
        svg_text(kLeft - 8, y.place(at) + 4, "small faint", report::human_value(at, "FLOP/s"), " text-anchor=\"end\"");
  }
  text += markup("<path d=\"M{0} {1}V{2}H{3}\" class=\"axis\"/>\n", px(kLeft), px(kTop), px(kBottom), px(kRight));
  return text + svg_text((kLeft + kRight) / 2, kBottom + 40, "small",
                         "intensity: floating-point operations per byte of each level", kMiddle);
}

// Draws the GPU's ceilings and the kernel's point on each slanted one.
Markup ceilings_text(const Prediction& prediction, const LogAxis& x, const LogAxis& y, double highest,
                     double performance) {
  Markup text;
  double legend_y = kTop + 12;
  std::size_t number = 0;
  constexpr std::size_t kColours = 8;
  for (const Ceiling& ceiling : prediction.ceilings) {
    if (!ceiling.is_memory() && ceiling.unit != "FLOP") continue;
    const std::string colour = fmt::format("series series-{}", number++ % kColours + 1);
    std::string words = fmt::format("{} {}", ceiling.name, rate_text(ceiling));
    if (ceiling.is_memory()) {
      const double at = intensity(prediction.ceilings, ceiling);
      // From the point where the slant enters the plot to the point where arithmetic bounds it.
      const double begin = std::max(x.least, y.least / ceiling.rate);
      const double end = std::min(x.greatest, highest / ceiling.rate);
      if (begin < end) {
        text +=
            line(x.place(begin), y.place(begin * ceiling.rate), x.place(end), y.place(end * ceiling.rate), colour, 2);
      }
      text += markup("<circle cx=\"{}\" cy=\"{}\" r=\"5\" class=\"{}\" stroke-width=\"3\"/>\n", px(x.place(at)),
                     px(y.place(performance)), colour);
      words += fmt::format(", {} FLOP/B", report::significant(at, 3));
    } else {
      text += line(kLeft, y.place(ceiling.rate), kRight, y.place(ceiling.rate), colour, 2);
    }
    text += line(kRight + 16, legend_y - 4, kRight + 36, legend_y - 4, colour, 3);
    text += svg_text(kRight + 42, legend_y, "small", fitted(words, kWidth - kRight - 46, 12));
    legend_y += 18;
  }
  return text;
}

double operations_of(const Prediction& prediction) {
  double operations = 0;
  for (const Ceiling& ceiling : prediction.ceilings) {
    if (ceiling.unit == "FLOP") operations += ceiling.work;
  }
  return operations;
}

Markup plot_of(const Prediction& prediction) {
  const double performance = operations_of(prediction) / prediction.seconds;
  double highest = performance;  // highest arithmetic ceiling
  double least_x = INFINITY;
  double greatest_x = 0;
  for (const Ceiling& ceiling : prediction.ceilings) {
    if (ceiling.unit == "FLOP") highest = std::max(highest, ceiling.rate);
  }
  for (const Ceiling& ceiling : prediction.ceilings) {
    if (!ceiling.is_memory() || ceiling.rate <= 0) continue;
    for (const double at : {intensity(prediction.ceilings, ceiling), highest / ceiling.rate}) {
      least_x = std::min(least_x, at);
      greatest_x = std::max(greatest_x, at);
    }
  }
  if (!(least_x > 0) || !(greatest_x > 0)) least_x = greatest_x = 1;  // a kernel without memory traffic
  constexpr double kBelow = 4;
  const LogAxis x = axis_around(least_x, greatest_x, kLeft, kRight);
  const LogAxis y = axis_around(performance / kBelow, highest, kBottom, kTop);
  Markup text = axes(x, y) + ceilings_text(prediction, x, y, highest, performance);
  text += markup("<path d=\"M{} {}H{}\" class=\"edge\"/>\n", px(kLeft), px(y.place(performance)), px(kRight));
  return text + svg_text(kRight + 42, kBottom - 8, "small faint", "circles: predicted kernel");
}

}  // namespace

std::string prediction_to_svg(const Prediction& prediction) {
  const std::string title =
      fmt::format("{} on {}", prediction.kernel.empty() ? "kernel" : prediction.kernel, prediction.gpu);
  const double operations = operations_of(prediction);
  const bool has_point = operations > 0 && prediction.seconds > 0;
  std::string said = fmt::format("predicted: {}", time_text(prediction.seconds));
  if (has_point) said += fmt::format(", {}", report::human_value(operations / prediction.seconds, "FLOP/s"));
  said += ", " + bound_text(prediction);
  Markup text = report::kXmlOpening + report::svg_opening(title, kWidth, kHeight);
  text += svg_text(16, 26, "title", fitted(title, kWidth - 32, 13.5));
  text += svg_text(16, 46, "small faint", fitted(said, kWidth - 32, 12));
  text += has_point ? plot_of(prediction)
                    : svg_text(kLeft, (kTop + kBottom) / 2, "small",
                               "The kernel does no floating-point arithmetic, so it has no point in the roofline.");
  return (text + "</svg>\n").text();
}

}  // namespace gputopo::kernel_model
