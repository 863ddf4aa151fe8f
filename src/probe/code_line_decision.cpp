#include "probe/code_line_decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// The steps from `begin` on that are `apart`.
double median_of_every(std::span<const double> steps, std::size_t begin, std::size_t apart) {
  std::vector<double> found;
  for (std::size_t at = begin % apart; at < steps.size(); at += apart) found.push_back(steps[at]);
  return stats::median(found);
}

// As high as they are at so many of the lengths.
std::vector<double> stairs_at(const std::vector<std::vector<double>>& lengths, double part_of_lengths) {
  std::vector<double> stairs;
  for (std::size_t i = 0; i < lengths.front().size(); ++i) {
    std::vector<double> of_lengths;
    for (const std::vector<double>& length : lengths) of_lengths.push_back(length[i]);
    stairs.push_back(stats::quantile(of_lengths, part_of_lengths));
  }
  return stairs;
}

}  // namespace

std::vector<double> stairs_of(std::span<const double> cycles) {
  std::vector<double> stairs;
  for (std::size_t i = 2; i + 1 < cycles.size(); ++i) {
    const double own = cycles[i] - cycles[i - 1];
    const double before = cycles[i - 1] - cycles[i - 2];
    const double after = cycles[i + 1] - cycles[i];
    stairs.push_back(own - (before + after) / 2);
  }
  return stairs;
}

bool has_stairs(std::span<const double> stairs, std::size_t period, const CodeLineParameters& parameters) {
  if (period == 0 || stairs.size() < 2 * period) return false;
  // Of each period, its highest step.
  std::vector<std::size_t> highest(period);
  const std::size_t periods = stairs.size() / period;
  for (std::size_t i = 0; i < periods; ++i) {
    const auto steps = stairs.subspan(i * period, period);
    ++highest[static_cast<std::size_t>(std::ranges::max_element(steps) - steps.begin())];
  }
  const auto most = std::ranges::max_element(highest);
  if (static_cast<double>(*most) < parameters.always * static_cast<double>(periods)) return false;
  const auto stair = static_cast<std::size_t>(most - highest.begin());
  // Were the stairs closer, some of those between would be about as high; were they twice as far apart, every second
  // would not be.
  double between = 0;
  for (std::size_t i = 1; i < period; ++i) between = std::max(between, median_of_every(stairs, stair + i, period));
  const double ones = median_of_every(stairs, stair, 2 * period);
  const double others = median_of_every(stairs, stair + period, 2 * period);
  return between < parameters.about_as_high * median_of_every(stairs, stair, period) &&
         std::min(ones, others) > parameters.about_as_high * std::max(ones, others);
}

Decision<std::size_t> decide_stair_period(const std::vector<std::vector<double>>& lengths, std::size_t steps,
                                          std::size_t block_period, const CodeLineParameters& parameters) {
  const std::string none = "what a pass takes does not rise in stairs as code begins earlier";
  if (lengths.empty()) return {.why_not = none};
  const std::vector<double> stairs = stairs_at(lengths, parameters.several_lengths);
  const auto shows = [&](std::size_t apart) {
    return has_stairs(stairs, apart, parameters) &&
           (apart != block_period || has_stairs(stairs_at(lengths, parameters.half_of_lengths), apart, parameters));
  };
  std::size_t period = std::bit_floor(steps / parameters.least_stairs);
  while (period > 1 && !shows(period)) period /= 2;
  Decision<std::size_t> decision{.basis = fmt::format("stairs by steps of the lead: {:.1f}", fmt::join(stairs, " "))};
  if (period > 1) {
    decision.value = period;
  } else {
    decision.why_not = none;
  }
  return decision;
}

std::int64_t line_of_period(std::size_t period, std::uint32_t step_instructions, double bytes_per_instruction) {
  const double bytes = static_cast<double>(period) * step_instructions * bytes_per_instruction;
  return std::llround(std::exp2(std::round(std::log2(bytes))));
}

}  // namespace gputopo::probe
