#include "stats/histogram.h"

#include <cmath>
#include <numeric>

#include "gputopo/program.h"

namespace gputopo::stats {
namespace {

// Latencies are whole cycles, so a bin of width w that starts at b holds b .. b+w-1.
double bin_centre(std::size_t bin) {
  return static_cast<double>(bin) * kHistogramBinCycles + (kHistogramBinCycles - 1) / 2.0;
}

}  // namespace

std::uint64_t total_count(const Histogram& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0});
}

void accumulate(Histogram& sum, const Histogram& other) {
  if (sum.size() < other.size()) sum.resize(other.size());
  for (std::size_t bin = 0; bin < other.size(); ++bin) sum[bin] += other[bin];
}

double fraction_below(const Histogram& histogram, double cycles) {
  const BandSummary below = summarise_band(histogram, 0, cycles);
  const std::uint64_t total = total_count(histogram);
  return total == 0 ? 0 : static_cast<double>(below.count) / static_cast<double>(total);
}

double histogram_quantile(const Histogram& histogram, double q) {
  const double wanted = q * static_cast<double>(total_count(histogram));
  double seen = 0;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    seen += histogram[bin];
    if (histogram[bin] > 0 && seen >= wanted) return bin_centre(bin);
  }
  return 0;
}

BandSummary summarise_band(const Histogram& histogram, double low, double high) {
  BandSummary summary;
  double sum = 0;
  double squares = 0;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    const double centre = bin_centre(bin);
    if (histogram[bin] == 0 || centre < low || centre >= high) continue;
    summary.count += histogram[bin];
    sum += centre * histogram[bin];
    squares += centre * centre * histogram[bin];
  }
  if (summary.count > 0) {
    const auto n = static_cast<double>(summary.count);
    summary.mean = sum / n;
    summary.deviation = std::sqrt(std::max(0.0, squares / n - summary.mean * summary.mean));
  }
  return summary;
}

}  // namespace gputopo::stats
