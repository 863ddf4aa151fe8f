#include "probe/capacity/clear_memory_loads_decision.h"

#include <algorithm>
#include <vector>

namespace gputopo::probe {

double largest_without_clear_misses(std::span<const FootprintHits> sweep, double noise,
                                    const ClearMemoryLoadsParameters& parameters) {
  double largest = sweep.empty() ? 0 : sweep.front().bytes;
  for (const FootprintHits& footprint : sweep) {
    if (1 - footprint.hits > parameters.hardly_any + noise) break;
    largest = footprint.bytes;
  }
  return largest;
}

MemoryLoads memory_loads_of(std::span<const FootprintHits> beyond, double noise) {
  std::vector<double> inverse;
  std::vector<double> part;
  for (const FootprintHits& footprint : beyond) {
    inverse.push_back(1 / footprint.bytes);
    part.push_back(std::max(0.0, 1 - footprint.hits - noise));
  }
  const stats::Line line = stats::fit_line(inverse, part);
  MemoryLoads found;
  found.distinguishable_part = line.intercept;
  if (found.distinguishable_part <= 0) return found;
  std::vector<double> capacities;
  for (std::size_t i = 0; i < inverse.size(); ++i) capacities.push_back((1 - part[i] / line.intercept) / inverse[i]);
  found.capacity = {-line.slope / line.intercept, stats::mean_interval(capacities)};
  found.capacity.interval.low = std::min(found.capacity.interval.low, found.capacity.bytes);
  found.capacity.interval.high = std::max(found.capacity.interval.high, found.capacity.bytes);
  return found;
}

bool explains_all(const MemoryLoads& memory, double lines, const ClearMemoryLoadsParameters& parameters) {
  const double half_width = (memory.capacity.interval.high - memory.capacity.interval.low) / 2;
  return lines > parameters.min_lines && memory.distinguishable_part > 0 &&
         memory.distinguishable_part < parameters.nearly_all_told &&
         half_width < parameters.max_relative_error * memory.capacity.bytes;
}

}  // namespace gputopo::probe
