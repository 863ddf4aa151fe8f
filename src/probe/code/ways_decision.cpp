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
    return {.why_not = fmt::format("{} lengths do not show how steep the edge is", lengths.size())};
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
  decision.basis = fmt::format("{:.2f} instructions more miss with each that is too much, {:.0f} off the line at most",
                               slope.misses_per_instruction, slope.furthest);
  // Random replacement is equally steep for any ways.
  if (slope.furthest > parameters.straight * slope.most_missed || !(slope.ways() >= parameters.least_ways)) {
    decision.why_not =
        "what misses does not grow in one line with the code: it is not the oldest line of a set that is replaced, or "
        "not all sets are alike";
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
    return {.why_not = fmt::format("the edge leads back to {:.0f} instructions and {} fit: not all sets are alike",
                                   slope.begins(), fits)};
  }
  if (!(missed_behind >= parameters.all)) {
    return {.why_not = fmt::format("of {} instructions {:.0f}% miss, of sets of {:.1f} ways all would", behind,
                                   100 * missed_behind, ways)};
  }
  const double off = slope.furthest / slope.most_missed / std::sqrt(static_cast<double>(slope.lengths));
  const double margin = slope.misses_per_instruction * (parameters.miss_tolerance + off);
  const double low = std::ceil(ways - margin);
  const double high = std::floor(ways + margin);
  if (low > high) {
    return {.why_not = fmt::format("the edge is as steep as that of {:.2f} ways: not all sets are alike", ways)};
  }
  const double value = std::clamp(std::round(ways), low, high);
  return {CodeWays{static_cast<std::int64_t>(value), {low, high}}};
}

}  // namespace gputopo::probe
