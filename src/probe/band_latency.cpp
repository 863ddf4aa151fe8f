// Latency of a level behind others.
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::size_t kFirstSegment = 2;
// Segments of the untimed chain, so that outliers spoil some of them and not their median.
constexpr std::uint32_t kSegments = 33;
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

double untimed_mean(const ChaseResult& copy) {
  std::vector<double> segments;
  for (std::size_t i = kFirstSegment; i < copy.steps.size(); ++i) {
    segments.push_back(static_cast<double>(copy.steps[i].total_cycles) / static_cast<double>(copy.steps[i].loads));
  }
  return stats::median(segments);
}

}  // namespace

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
  const std::uint64_t n = array.element_count();
  std::vector<ChaseStep> steps = {warm_step(site, array),
                                  {.kind = StepKind::kCounted, .loads = lab.parameters().survey_loads}};
  for (std::uint64_t segment = 0; segment < kSegments; ++segment) {
    const std::uint64_t done = lab.parameters().survey_loads + segment * kSegmentLoads;
    steps.push_back({.kind = StepKind::kWarm, .loads = kSegmentLoads, .first = done % n});
  }
  const std::vector<ChaseResult> copies =
      lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, make_program(site, {array}, steps)));
  BandLatencies latencies = timed_band_latencies(copies, 1, low_cycles, high_cycles, survey.timer_cycles);
  constexpr double kMostNearer = 0.002;
  constexpr double kMostFarther = 0.01;
  latencies.untimed = stats::fraction_below(latencies.histogram, low_cycles) <= kMostNearer &&
                      stats::fraction_below(latencies.histogram, high_cycles) >= 1 - kMostFarther;
  if (!latencies.untimed) return latencies;
  latencies.means_cycles.clear();
  for (const ChaseResult& copy : copies) latencies.means_cycles.push_back(untimed_mean(copy));
  return latencies;
}

}  // namespace gputopo::probe
