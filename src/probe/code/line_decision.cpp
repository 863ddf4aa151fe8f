#include "probe/code/line_decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// The steps at `begin` modulo `apart`.
std::vector<double> every(std::span<const double> steps, std::size_t begin, std::size_t apart) {
  std::vector<double> found;
  for (std::size_t at = begin % apart; at < steps.size(); at += apart) found.push_back(steps[at]);
  return found;
}

// The height of each step: this quantile over the lengths.
std::vector<double> steps_at(const std::vector<std::vector<double>>& lengths, double part_of_lengths) {
  std::vector<double> steps;
  for (std::size_t i = 0; i < lengths.front().size(); ++i) {
    std::vector<double> of_lengths;
    for (const std::vector<double>& length : lengths) of_lengths.push_back(length[i]);
    steps.push_back(stats::quantile(of_lengths, part_of_lengths));
  }
  return steps;
}

// The rank test of Mann and Whitney, which a single stair raised by something else does not fool.
bool is_ranked_lower(const std::vector<double>& low, const std::vector<double>& high,
                     const CodeLineParameters& parameters) {
  if (std::min(low.size(), high.size()) < parameters.least_ranked) return false;
  if (stats::median(low) >= parameters.lower_median * stats::median(high)) return false;
  double smaller = 0;
  for (const double a : low) {
    smaller += static_cast<double>(std::ranges::count_if(high, [&](double b) { return a < b; }));
  }
  const auto n = static_cast<double>(low.size());
  const auto m = static_cast<double>(high.size());
  return smaller / (n * m) - 0.5 >= parameters.rank_deviations * std::sqrt((n + m + 1) / (12 * n * m));
}

// Whether lower stairs lie midway between these.
bool has_lower_between(std::span<const double> stairs, std::size_t period, std::size_t place,
                       const CodeLineParameters& parameters) {
  constexpr std::size_t kWithOthers = 4;  // fewest steps to have others between both
  if (period < kWithOthers) return false;
  const std::vector<double> middle = every(stairs, place + period / 2, period);
  if (middle.size() < parameters.least_ranked) return false;
  if (stats::median(middle) < parameters.between_part * stats::median(every(stairs, place, period))) return false;
  double highest_other = 0;
  for (std::size_t i = 0; i < stairs.size(); ++i) {
    if ((i + period - place) % (period / 2) != 0) highest_other = std::max(highest_other, stairs[i]);
  }
  return std::ranges::min(middle) > highest_other;
}

std::vector<double> rises_of(std::span<const double> cycles) {
  std::vector<double> rises;
  for (std::size_t i = 1; i < cycles.size(); ++i) rises.push_back(cycles[i] - cycles[i - 1]);
  return rises;
}

}  // namespace

std::vector<double> staircase_heights(std::span<const double> cycles) {
  std::vector<double> stairs;
  for (std::size_t i = 2; i + 1 < cycles.size(); ++i) {
    const double own = cycles[i] - cycles[i - 1];
    const double before = cycles[i - 1] - cycles[i - 2];
    const double after = cycles[i + 1] - cycles[i];
    stairs.push_back(own - (before + after) / 2);
  }
  return stairs;
}

std::optional<std::size_t> staircase_phase(std::span<const double> stairs, std::size_t period,
                                           const CodeLineParameters& parameters) {
  if (period == 0 || stairs.size() < 2 * period) return std::nullopt;
  // The highest step of each period.
  std::vector<std::size_t> highest(period);
  const std::size_t periods = stairs.size() / period;
  for (std::size_t i = 0; i < periods; ++i) {
    const auto steps = stairs.subspan(i * period, period);
    ++highest[static_cast<std::size_t>(std::ranges::max_element(steps) - steps.begin())];
  }
  const auto most = std::ranges::max_element(highest);
  const double enough = parameters.always * static_cast<double>(periods);
  if (static_cast<double>(*most) < enough) return std::nullopt;
  const auto place = static_cast<std::size_t>(most - highest.begin());
  // If the stairs were closer, some steps between would be as high; if twice as far apart, every second would not be.
  const double height = stats::median(every(stairs, place, period));
  std::vector<double> between(periods, 0.0);  // highest of each period
  for (std::size_t i = 1; i < period; ++i) {
    const std::size_t other = (place + i) % period;
    if (stats::median(every(stairs, other, period)) >= parameters.about_as_high * height) return std::nullopt;
    for (std::size_t j = 0; j < periods; ++j) between[j] = std::max(between[j], stairs[j * period + other]);
  }
  std::size_t alone = 0;
  for (std::size_t i = 0; i < periods; ++i) {
    if (between[i] <= parameters.as_high * std::max(height, stairs[i * period + place])) ++alone;
  }
  if (static_cast<double>(alone) < enough) return std::nullopt;
  const double ones = stats::median(every(stairs, place, 2 * period));
  const double others = stats::median(every(stairs, place + period, 2 * period));
  if (std::min(ones, others) <= parameters.about_as_high * std::max(ones, others)) return std::nullopt;
  return place;
}

bool stairs_alternate(std::span<const double> stairs, std::size_t period, std::size_t place,
                      const CodeLineParameters& parameters) {
  const std::vector<double> ones = every(stairs, place, 2 * period);
  const std::vector<double> others = every(stairs, place + period, 2 * period);
  if (std::min(ones.size(), others.size()) < parameters.least_of_each) return false;
  const auto below = [&](const std::vector<double>& low, const std::vector<double>& high) {
    return std::ranges::max(low) < parameters.lower * std::ranges::min(high);
  };
  return below(ones, others) || below(others, ones) || is_ranked_lower(ones, others, parameters) ||
         is_ranked_lower(others, ones, parameters);
}

Decision<StaircasePeriod> decide_staircase_period(const std::vector<std::vector<double>>& lengths,
                                                  std::size_t block_period, const CodeLineParameters& parameters) {
  Decision<StaircasePeriod> decision{
      .why_not = "the time of a pass does not rise in steps as instructions are added before the code"};
  if (lengths.empty()) return decision;
  std::vector<std::vector<double>> of_lengths;
  std::vector<std::vector<double>> rises;
  for (const std::vector<double>& length : lengths) {
    of_lengths.push_back(staircase_heights(length));
    rises.push_back(rises_of(length));
  }
  const std::vector<double> stairs = steps_at(of_lengths, parameters.several_lengths);
  const std::vector<double> half = steps_at(of_lengths, parameters.half_of_lengths);
  const double fall = -stats::quantile(steps_at(rises, 1 - parameters.several_lengths), 1 - parameters.most_steps);
  decision.basis = fmt::format(
      "as instructions are added before the code, rises in pass time exceed both neighboring rises by {:.1f} cycles; "
      "few fall below them by more than {:.1f} cycles",
      fmt::join(stairs, " "), fall);
  for (std::size_t period = std::bit_floor(lengths.front().size() / parameters.least_stairs); period > 1; period /= 2) {
    const std::optional<std::size_t> place = staircase_phase(stairs, period, parameters);
    if (!place || (period == block_period && !staircase_phase(half, period, parameters))) continue;
    if (fall > parameters.fall * stats::median(every(stairs, *place, period))) continue;
    decision.value = {
        period,
        stairs_alternate(stairs, period, *place, parameters) || has_lower_between(stairs, period, *place, parameters),
        stats::median(every(stairs, *place, period))};
    decision.why_not.clear();
    break;
  }
  return decision;
}

bool is_own_staircase(double height, double line_instructions, double nearest_cycles, double hit_cycles,
                      double miss_cycles, const CodeLineParameters& parameters) {
  const double of_instruction = hit_cycles - nearest_cycles + parameters.own_part * (miss_cycles - hit_cycles);
  return height >= line_instructions * of_instruction;
}

std::int64_t line_of_period(std::size_t period, std::uint32_t step_instructions, double bytes_per_instruction) {
  const double bytes = static_cast<double>(period) * step_instructions * bytes_per_instruction;
  return std::llround(std::exp2(std::round(std::log2(bytes))));
}

}  // namespace gputopo::probe
