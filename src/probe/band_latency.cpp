// Latency of a level behind others.
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kSegmentLoads = 128;

// The mean of the loads in the band as they were timed; nothing where they are too few.
std::optional<double> timed_mean(const stats::Histogram& histogram, double low, double high, double timer) {
  // The slowest hundredth is left out: outliers would pull the mean.
  constexpr double kKept = 0.99;
  const double kept = std::min(high, stats::histogram_quantile(histogram, kKept) + kHistogramBinCycles);
  const stats::BandSummary band = stats::summarise_band(histogram, low, kept);
  constexpr std::uint64_t kLeastLoads = 8;
  if (band.count < kLeastLoads) return std::nullopt;
  return band.mean - timer;
}

}  // namespace

void add_untimed_chain(std::vector<ChaseStep>& steps, const ChaseArray& array) {
  std::uint64_t done = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) done += steps[i].loads;
  constexpr std::uint32_t kSegments = 33;
  for (std::uint32_t segment = 0; segment < kSegments; ++segment, done += kSegmentLoads) {
    steps.push_back({.kind = StepKind::kWarm, .loads = kSegmentLoads, .first = done % array.element_count()});
  }
}

double untimed_latency(const ChaseResult& copy, std::size_t first_step) {
  std::vector<double> segments;
  for (std::size_t i = first_step; i < copy.steps.size(); ++i) {
    segments.push_back(static_cast<double>(copy.steps[i].total_cycles) / static_cast<double>(copy.steps[i].loads));
  }
  return stats::median(segments);
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
  if (latencies.means_cycles.empty()) throw Inconclusive("too few loads hit this level to give a latency");
  return latencies;
}

BandLatencies band_latencies(Lab& lab, const Survey& survey, const ChaseArray& array, double low_cycles,
                             double high_cycles) {
  const Site& site = survey.site;
  std::vector<ChaseStep> steps = {warm_step(site, array),
                                  {.kind = StepKind::kCounted, .loads = lab.parameters().survey_loads}};
  const std::size_t untimed = steps.size();
  add_untimed_chain(steps, array);
  const std::vector<ChaseResult> copies =
      lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, make_program(site, {array}, steps)));
  BandLatencies latencies = timed_band_latencies(copies, 1, low_cycles, high_cycles, survey.timer_cycles);
  // Untimed where nearly all loads are of this level: exact to a fraction of a cycle, which a histogram is not.
  constexpr double kMostNearer = 0.05;
  constexpr double kMostFarther = 0.01;  // no more than outliers, which the median of the segments leaves out
  const double nearer = stats::fraction_below(latencies.histogram, low_cycles);
  latencies.untimed =
      nearer <= kMostNearer && stats::fraction_below(latencies.histogram, high_cycles) >= 1 - kMostFarther;
  if (!latencies.untimed) return latencies;
  const double nearer_cycles =
      nearer == 0 ? 0 : stats::summarise_band(latencies.histogram, 0, low_cycles).mean - survey.timer_cycles;
  latencies.means_cycles.clear();
  for (const ChaseResult& copy : copies) {
    latencies.means_cycles.push_back((untimed_latency(copy, untimed) - nearer * nearer_cycles) / (1 - nearer));
  }
  return latencies;
}

}  // namespace gputopo::probe
