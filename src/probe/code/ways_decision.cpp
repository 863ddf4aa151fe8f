#include "probe/code/ways_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {

std::vector<std::uint32_t> spread(std::uint32_t first, std::uint32_t last, std::uint32_t count) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < count && first <= last; ++i) {
    const std::uint32_t next = first + i * (last - first) / std::max(1u, count - 1);
    if (found.empty() || next != found.back()) found.push_back(next);
  }
  return found;
}

Decision<CodeSlope> fit_code_slope(std::span<const MissedLength> lengths, const CodeWaysParameters& parameters) {
  if (lengths.size() < parameters.least_lengths) {
    return {.why_not = fmt::format("{} code lengths are too few to show how fast misses grow beyond the capacity",
                                   lengths.size())};
  }
  std::vector<double> x;
  std::vector<double> missed;
  for (const MissedLength& length : lengths) {
    x.push_back(length.length);
    missed.push_back(length.missed);
  }
  const stats::Line line = stats::fit_line(x, missed);
  CodeSlope slope{.misses_per_instruction = line.slope,
                  .intercept = line.intercept,
                  .most_missed = missed.back(),
                  .lengths = lengths.size()};
  for (std::size_t i = 0; i < x.size(); ++i) {
    slope.furthest = std::max(slope.furthest, std::abs(missed[i] - line.intercept - line.slope * x[i]));
  }
  Decision<CodeSlope> decision;
  decision.basis = fmt::format(
      "each instruction beyond the capacity adds {:.2f} misses; largest deviation from the fitted line: {:.0f} misses",
      slope.misses_per_instruction, slope.furthest);
  // Random replacement is equally steep for any ways.
  if (slope.furthest > parameters.straight * slope.most_missed || !(slope.ways() >= parameters.least_ways)) {
    decision.why_not =
        "misses do not grow linearly with the code: replacement is neither LRU nor FIFO, or the sets overflow unevenly";
  } else {
    decision.value = slope;
  }
  return decision;
}

Decision<CodeWays> decide_code_ways(const CodeSlope& slope, std::uint32_t fits, std::uint32_t behind,
                                    double missed_behind, const CodeWaysParameters& parameters) {
  const double ways = slope.ways();
  const double off_begin = std::abs(slope.begins() - fits);
  if (off_begin > std::max(parameters.beginning_instructions, parameters.beginning_part * fits)) {
    return {.why_not = fmt::format("misses extrapolate back to zero at {:.0f} instructions, but {} instructions fit: "
                                   "the sets overflow unevenly",
                                   slope.begins(), fits)};
  }
  if (!(missed_behind >= parameters.all)) {
    return {.why_not =
                fmt::format("in code of {} instructions, {:.0f}% miss, but with sets of {:.1f} ways all would miss",
                            behind, 100 * missed_behind, ways)};
  }
  const double off = slope.furthest / slope.most_missed / std::sqrt(static_cast<double>(slope.lengths));
  const double margin = slope.misses_per_instruction * (parameters.miss_tolerance + off);
  const double low = std::ceil(ways - margin);
  const double high = std::floor(ways + margin);
  if (low > high) {
    return {.why_not = fmt::format("the rate at which misses grow beyond the capacity corresponds to {:.2f} ways, "
                                   "which is not a whole number: the sets overflow unevenly",
                                   ways)};
  }
  const double value = std::clamp(std::round(ways), low, high);
  return {CodeWays{static_cast<std::int64_t>(value), {low, high}}};
}

}  // namespace gputopo::probe
