#include "probe/code/fetch_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

double sum_of_squares(const std::vector<double>& values) {
  const double mean = stats::mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

double explained_by(const std::vector<double>& cycles, std::size_t period) {
  double within = 0;
  for (std::size_t first = 0; first < period; ++first) {
    std::vector<double> group;
    for (std::size_t i = first; i < cycles.size(); i += period) group.push_back(cycles[i]);
    within += sum_of_squares(group);
  }
  const auto count = static_cast<double>(cycles.size());
  const double of_all = sum_of_squares(cycles) / (count - 1);
  return of_all == 0 ? 0 : 1 - within / (count - static_cast<double>(period)) / of_all;
}

}  // namespace

Decision<std::size_t> decide_fetch_period(const std::vector<double>& cycles, const FetchPeriodParameters& parameters) {
  const auto [least, most] = std::ranges::minmax_element(cycles);
  if (*most - *least < parameters.least_range_cycles) {
    return {
        {},
        {},
        fmt::format("shifting the start address of the code blocks changes the time of one pass through them by only "
                    "{:.1f} cycles, too little to show the fetch size",
                    *most - *least)};
  }
  for (std::size_t period = 2; period <= cycles.size() / 2; ++period) {
    const double explained = explained_by(cycles, period);
    if (explained < parameters.explained) continue;
    return {
        period,
        fmt::format("as the start address of the code blocks increases, the time of one pass through them has a period "
                    "of {} instructions, which explains {:.0f}% of the variance",
                    period, 100 * explained),
        {}};
  }
  return {
      {},
      {},
      fmt::format("as the start address of the code blocks increases, the time of one pass through them has no period "
                  "of up to {} instructions",
                  cycles.size() / 2)};
}

}  // namespace gputopo::probe
