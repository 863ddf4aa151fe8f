// Latency histograms in the form of devices (program.h: kHistogramBins bins of kHistogramBinCycles cycles).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gputopo::stats {

using Histogram = std::vector<std::uint32_t>;

[[nodiscard]] std::uint64_t total_count(const Histogram& histogram);
// Adds `other` to `sum`, growing it as needed.
void accumulate(Histogram& sum, const Histogram& other);
// Fraction of the loads in bins whose center is below `cycles`; 0 for an empty histogram.
[[nodiscard]] double fraction_below(const Histogram& histogram, double cycles);
// Center of the bin where the cumulative count reaches q; 0 for an empty histogram.
[[nodiscard]] double histogram_quantile(const Histogram& histogram, double q);
// Count, mean and standard deviation (cycles) of the loads whose bin centers lie in [low, high).
struct BandSummary {
  std::uint64_t count = 0;
  double mean = 0;
  double deviation = 0;
};
[[nodiscard]] BandSummary summarise_band(const Histogram& histogram, double low, double high);

}  // namespace gputopo::stats
