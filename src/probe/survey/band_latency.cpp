#include "probe/survey/band_latency.h"

#include <fmt/format.h>

namespace gputopo::probe {
namespace {

constexpr BandLatencyParameters kBandLatencyParameters;

}  // namespace

void add_untimed_chain(std::vector<ChaseStep>& steps, const ChaseArray& array) {
  std::uint64_t done = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) done += steps[i].loads;
  const auto add = [&](std::uint64_t loads) {
    steps.push_back({.kind = StepKind::kWarm, .loads = loads, .first = done % array.chain_length()});
    done += loads;
  };
  for (std::uint32_t segment = 0; segment < kBandLatencyParameters.segments; ++segment) {
    for (const std::uint64_t loads : kBandLatencyParameters.single_loads) add(loads);
    for (const std::uint64_t loads : kBandLatencyParameters.unrolled_loads) add(loads);
  }
}

ChainCost untimed_cost(const ChaseResult& copy, std::size_t first_step) {
  std::vector<Segment> segments;
  for (std::size_t i = first_step; i < copy.steps.size(); ++i) {
    segments.push_back({copy.steps[i].loads, static_cast<double>(copy.steps[i].total_cycles)});
  }
  return chain_cost(segments);
}

double untimed_latency(const ChaseResult& copy, std::size_t first_step) {
  const double cycles = untimed_cost(copy, first_step).load_cycles;
  if (!is_possible_latency(cycles)) {
    throw Inconclusive(
        fmt::format("dependent loads take {:.1f} cycles, which is impossible: the program did not wait for them, or "
                    "the clock does not count cycles",
                    cycles));
  }
  return cycles;
}

BandLatencies timed_band_latencies(const std::vector<ChaseResult>& copies, std::size_t step, double low_cycles,
                                   double high_cycles, double timer_cycles) {
  BandLatencies latencies;
  for (const ChaseResult& copy : copies) {
    const stats::Histogram& histogram = copy.steps[step].histogram;
    stats::accumulate(latencies.histogram, histogram);
    const std::optional<double> mean = timed_mean(histogram, low_cycles, high_cycles, timer_cycles);
    if (mean) latencies.means_cycles.push_back(*mean);
  }
  if (latencies.means_cycles.empty()) throw Inconclusive("too few loads hit this level to measure its latency");
  return latencies;
}

BandLatencies band_latencies(ProbeRunner& runner, const Survey& survey, const ChaseArray& array, double low_cycles,
                             double high_cycles) {
  std::vector<ChaseStep> steps = {warm_step(survey.site, array),
                                  {.kind = StepKind::kCounted, .loads = runner.parameters().survey_loads}};
  const std::size_t untimed = steps.size();
  add_untimed_chain(steps, array);
  const ChaseProgram program = make_program(survey.site, {array}, steps);
  const std::vector<ChaseResult> copies = runner.chase(std::vector<ChaseProgram>(runner.parameters().copies, program));
  BandLatencies latencies = timed_band_latencies(copies, 1, low_cycles, high_cycles, survey.timer_cycles);
  latencies.untimed = is_nearly_all_in_band(latencies.histogram, low_cycles, high_cycles);
  if (!latencies.untimed) return latencies;
  std::vector<double> chains;
  for (const ChaseResult& copy : copies) chains.push_back(untimed_latency(copy, untimed));
  latencies.means_cycles = std::move(chains);
  return latencies;
}

}  // namespace gputopo::probe
