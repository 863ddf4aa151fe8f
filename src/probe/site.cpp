#include "probe/site.h"

#include <fmt/format.h>

#include <cmath>

namespace gputopo::probe {

ChaseArray make_array(const Site& site, std::uint64_t bytes, std::uint64_t stride_bytes, Order second_order,
                      std::uint64_t seed) {
  ChaseArray array;
  array.space = site.space;
  array.stride_bytes = stride_bytes;
  array.bytes = std::max(site.clamp(bytes) / stride_bytes, std::uint64_t{1}) * stride_bytes;
  array.second_order = second_order;
  array.seed = seed;
  return array;
}

ChaseProgram make_program(const Site& site, std::vector<ChaseArray> arrays, std::vector<ChaseStep> steps) {
  ChaseProgram program;
  program.arrays = std::move(arrays);
  program.actors = {ChaseActor{}};
  program.steps = std::move(steps);
  program.exclusive = site.exclusive;
  program.shared_carve_out_bytes = site.carve_out_bytes;
  return program;
}

ChaseStep warm_step(const Site& site, const ChaseArray& array, std::uint32_t index) {
  return {.kind = site.exclusive ? StepKind::kTouch : StepKind::kWarm, .array = index, .loads = array.element_count()};
}

void require_exceeded(const Cache& cache, const std::string& consequence) {
  if (cache.was_exceeded()) return;
  const std::uint64_t limit = cache.site().limit_bytes;
  if (limit != 0) {
    throw NotSupportedError(fmt::format("arrays in the {} space hold at most {} B and all of that fits, {}",
                                        to_string(cache.site().space), limit, consequence));
  }
  throw Inconclusive(fmt::format("every footprint up to {} B fits, {}", cache.fits_bytes, consequence));
}

double hit_fraction(const StepResult& step, double limit_cycles) {
  return stats::fraction_below(step.histogram, limit_cycles);
}

double median_hit_fraction(const std::vector<ChaseResult>& copies, std::size_t step, double limit_cycles) {
  std::vector<double> fractions;
  fractions.reserve(copies.size());
  for (const ChaseResult& copy : copies) fractions.push_back(hit_fraction(copy.steps.at(step), limit_cycles));
  return stats::median(fractions);
}

Attribute measured(const Conditions& conditions, Value value, std::string unit, std::optional<stats::Interval> interval,
                   std::string method) {
  Attribute attribute;
  attribute.value = std::move(value);
  attribute.unit = std::move(unit);
  attribute.source = Source::kMeasured;
  if (interval) {
    attribute.low = interval->low;
    attribute.high = interval->high;
  }
  attribute.method = std::move(method);
  attribute.conditions = conditions.named();
  return attribute;
}

Attribute measured_exactly(const Conditions& conditions, std::int64_t value, std::string unit, std::string method) {
  const auto exact = static_cast<double>(value);
  return measured(conditions, value, std::move(unit), stats::Interval{exact, exact}, std::move(method));
}

}  // namespace gputopo::probe
