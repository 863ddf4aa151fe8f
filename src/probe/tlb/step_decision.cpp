#include "probe/tlb/step_decision.h"

#include <algorithm>
#include <span>

#include "probe/bench/paired_histogram.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// Exceeds noise, which is estimated from the differences between neighbors; most have no step between them.
double least_rise(const std::vector<double>& cycles, const TlbStepParameters& parameters) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < cycles.size(); ++i) differences.push_back(cycles[i] - cycles[i - 1]);
  return std::max(parameters.least_rise_cycles,
                  parameters.least_rise_deviations * stats::robust_deviation(differences));
}

// A point above `level` that is followed by another, or by none.
bool rises_at(const std::vector<double>& cycles, std::size_t i, double level, double least) {
  return cycles[i] > level + least && (i + 1 == cycles.size() || cycles[i + 1] > level + least);
}

// The last point of the rise.
std::size_t end_of_rise(const std::vector<double>& cycles, std::size_t begin, double least) {
  std::size_t end = begin;
  while (end + 1 < cycles.size() && cycles[end + 1] > cycles[end] + least / 2) ++end;
  return end;
}

// Median of the points from `begin` to the next rise.
double level_from(const std::vector<double>& cycles, std::size_t begin, double least) {
  std::size_t end = begin + 1;
  while (end < cycles.size() && cycles[end] < cycles[begin] + least) ++end;
  return stats::median(std::span(cycles).subspan(begin, end - begin));
}

}  // namespace

bool stay_in_cache(const stats::Histogram& paired, const stats::Histogram& quiet,
                   const LinesStayParameters& parameters) {
  const PairedHistogramParameters at{.slow_part = parameters.quantile};
  return slow_difference(paired, at) <= slow_difference(quiet, at) + parameters.differs_by;
}

bool has_fallen_back(const TlbRise& rise, const TlbRise& last, const FallBackParameters& parameters) {
  return rise.before_cycles < last.before_cycles + (1 - parameters.part) * last.rise_cycles;
}

TlbRise with_passing(const TlbRise& rise, const TlbRise& passing, const FallBackParameters& parameters) {
  if (has_fallen_back(rise, passing, parameters)) return rise;
  const double all = rise.before_cycles + rise.rise_cycles - passing.before_cycles;
  return {rise.last_before, rise.first_after, passing.before_cycles, all};
}

std::vector<TlbRise> find_tlb_rises(const std::vector<double>& slow_cycles, const TlbStepParameters& parameters) {
  if (slow_cycles.size() < 2) return {};
  const double least = least_rise(slow_cycles, parameters);
  std::vector<TlbRise> rises;
  std::vector<double> plateau = {slow_cycles.front()};
  for (std::size_t i = 1; i < slow_cycles.size(); ++i) {
    const double level = stats::median(plateau);
    if (!rises_at(slow_cycles, i, level, least)) {
      plateau.push_back(slow_cycles[i]);
      continue;
    }
    const std::size_t begin = i;
    i = end_of_rise(slow_cycles, begin, least);
    const double rise = level_from(slow_cycles, i, least) - level;
    // Otherwise it dropped again, as when a few lines conflict in the cache.
    if (rise < least) continue;
    rises.push_back({begin - 1, i, level, rise});
    plateau = {slow_cycles[i]};
  }
  return rises;
}

}  // namespace gputopo::probe
