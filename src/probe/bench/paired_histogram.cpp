#include "probe/bench/paired_histogram.h"

#include <algorithm>

#include "gputopo/program.h"

namespace gputopo::probe {
namespace {

// Differences are whole cycles, so a bin begins half a cycle before its first difference.
double bin_begin(std::size_t bin) { return static_cast<double>(bin) * kHistogramBinCycles - 0.5 - kPairedZeroCycles; }

}  // namespace

double part_below(const stats::Histogram& paired, double cycles) {
  double below = 0;
  for (std::size_t bin = 0; bin < paired.size(); ++bin) {
    below += paired[bin] * std::clamp((cycles - bin_begin(bin)) / kHistogramBinCycles, 0.0, 1.0);
  }
  return below / std::max(1.0, static_cast<double>(stats::total_count(paired)));
}

double slow_difference(const stats::Histogram& paired, const PairedHistogramParameters& parameters) {
  const double wanted = parameters.slow_part * static_cast<double>(stats::total_count(paired));
  double seen = 0;
  for (std::size_t bin = 0; bin < paired.size(); ++bin) {
    if (paired[bin] > 0 && seen + paired[bin] >= wanted) {
      const double part = (wanted - seen) / paired[bin];
      return bin_begin(bin) + part * kHistogramBinCycles;
    }
    seen += paired[bin];
  }
  return 0;
}

double added_by_translation(const stats::Histogram& paired, double max_cycles,
                            const PairedHistogramParameters& parameters) {
  const double kept = parameters.kept_part;
  const double low = std::max(stats::histogram_quantile(paired, 1 - kept), kPairedZeroCycles - max_cycles);
  const double high = std::min(stats::histogram_quantile(paired, kept), kPairedZeroCycles + max_cycles);
  return stats::summarise_band(paired, low, high + kHistogramBinCycles).mean - kPairedZeroCycles;
}

}  // namespace gputopo::probe
