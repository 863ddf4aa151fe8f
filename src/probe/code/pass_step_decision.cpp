#include "probe/code/pass_step_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

struct Point {
  double instructions;
  double cycles;
};

Point mean_of(std::span<const Point> points) {
  Point sum{0, 0};
  for (const Point& point : points) {
    sum.instructions += point.instructions;
    sum.cycles += point.cycles;
  }
  const auto count = static_cast<double>(points.size());
  return {sum.instructions / count, sum.cycles / count};
}

// Two lines of equal slope, by least squares.
struct TwoLines {
  double slope = 0;
  double low = 0;  // of the lower line, at no instructions
  double step = 0;
  double farthest = 0;  // largest distance of a point from its line
};
TwoLines fit(std::span<const Point> before, std::span<const Point> behind) {
  double products = 0;
  double squares = 0;
  for (const auto& points : {before, behind}) {
    const Point mean = mean_of(points);
    for (const Point& point : points) {
      products += (point.instructions - mean.instructions) * (point.cycles - mean.cycles);
      squares += (point.instructions - mean.instructions) * (point.instructions - mean.instructions);
    }
  }
  const double slope = products / squares;
  const auto height = [&](const Point& point) { return point.cycles - slope * point.instructions; };
  const double low = height(mean_of(before));
  const double high = height(mean_of(behind));
  double farthest = 0;
  for (const Point& point : before) farthest = std::max(farthest, std::abs(height(point) - low));
  for (const Point& point : behind) farthest = std::max(farthest, std::abs(height(point) - high));
  return {slope, low, high - low, farthest};
}

double allowed(double step, const PassStepParameters& parameters) {
  return std::max(parameters.uneven_cycles, parameters.uneven_part * step);
}

// The last of the first `count` lengths in which no pass exceeds its line by half of the step.
std::optional<std::size_t> last_without_wait(const std::vector<CodePasses>& lengths, std::size_t count,
                                             const TwoLines& lines) {
  for (std::size_t i = count; i > 0; --i) {
    const CodePasses& length = lengths[i - 1];
    const double most = lines.low + lines.slope * length.instructions + lines.step / 2;
    if (std::ranges::max(length.cycles) < most) return i - 1;
  }
  return std::nullopt;
}

double mean_pass(const CodePasses& length, const PassStepParameters& parameters) {
  return stats::trimmed_mean(length.cycles, parameters.trim);
}

// The step whose two lines are nearest to the points, with `between` lengths on neither line.
std::optional<PassStep> best_step(const std::vector<CodePasses>& lengths, std::span<const Point> points,
                                  std::size_t between, const PassStepParameters& parameters) {
  std::optional<PassStep> best;
  double nearest = 0;
  for (std::size_t behind = parameters.lengths_before + between; behind + parameters.lengths_behind <= points.size();
       ++behind) {
    const double times = points[behind].instructions / points[behind - between - 1].instructions;
    if (between > 0 && times > parameters.most_times) continue;
    const TwoLines lines = fit(points.first(behind - between), points.subspan(behind));
    if (lines.farthest > allowed(lines.step, parameters) || (best && lines.farthest >= nearest)) continue;
    best = PassStep{behind - between - 1, last_without_wait(lengths, behind - between, lines), behind, lines.step,
                    lines.slope};
    nearest = lines.farthest;
  }
  return best;
}

}  // namespace

std::vector<double> longer_jumps(const JumpCurve& far, double next_bytes, const PassStepParameters& parameters) {
  if (far.levels.empty()) return {};
  const double held = far.levels.front().value;
  std::vector<double> longer;
  if (far.levels.size() > 1) longer.push_back(far.levels[1].value - held);
  std::vector<double> in_next;
  for (std::size_t i = 0; i < far.jumps.size(); ++i) {
    const double part = far.footprints_bytes[i] / next_bytes;
    if (part >= parameters.of_next_from && part <= parameters.of_next_to) in_next.push_back(far.cycles_per_jump[i]);
  }
  if (!in_next.empty()) longer.push_back(stats::median(in_next) - held);
  return longer;
}

Decision<PassStep> decide_pass_step(const std::vector<CodePasses>& lengths, const std::vector<double>& jump_cycles,
                                    const PassStepParameters& parameters) {
  std::vector<Point> points;
  for (const CodePasses& length : lengths) {
    points.push_back({static_cast<double>(length.instructions), mean_pass(length, parameters)});
  }
  for (std::size_t between = 0; between <= parameters.lengths_between; ++between) {
    const std::optional<PassStep> best = best_step(lengths, points, between, parameters);
    if (!best) continue;
    if (jump_cycles.empty())
      return {{},
              {},
              "jumps between distant code blocks show no latency plateau, so gputopo cannot compare the step in pass "
              "time with the latency of a jump"};
    const bool is_jump = std::ranges::any_of(jump_cycles, [&](double longer) {
      return best->cycles >= parameters.least_part * longer && best->cycles <= parameters.most_part * longer;
    });
    if (best->cycles < parameters.least_cycles || !is_jump) {
      return {
          {},
          {},
          fmt::format("one pass through longer code takes {:.1f} extra cycles, which are too few or do not match the "
                      "extra latency of a jump to code in the next cache",
                      best->cycles)};
    }
    return {
        best,
        fmt::format(
            "one pass through more than {} instructions takes {:.1f} extra cycles, which match the extra latency of "
            "a jump to code in the next cache, so longer code does not fit in the nearest cache",
            lengths[best->last_before].instructions, best->cycles),
        {}};
  }
  return {{}, {}, "the time of one pass through straight-line code does not rise in a single step as the code grows"};
}

bool is_same_step(const PassStep& step, const CodePasses& before, const CodePasses& behind,
                  const PassStepParameters& parameters) {
  const double instructions = static_cast<double>(behind.instructions) - before.instructions;
  const double rise = mean_pass(behind, parameters) - mean_pass(before, parameters) - step.slope * instructions;
  return std::abs(rise - step.cycles) <= 2 * allowed(step.cycles, parameters);
}

}  // namespace gputopo::probe
