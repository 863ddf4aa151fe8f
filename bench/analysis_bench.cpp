// Time of the analysis without a device: level clustering, change points, and the whole analysis of a recorded H200.
#include <benchmark/benchmark.h>

#include <random>

#include "gputopo/discover.h"
#include "stats/change_point.h"
#include "stats/levels.h"

namespace gputopo {
namespace {

// Histograms of the footprints of a survey, for a hierarchy of three levels.
std::vector<stats::Histogram> survey_histograms() {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> jitter(0, 4);
  std::vector<stats::Histogram> histograms;
  for (int footprint = 0; footprint < 48; ++footprint) {
    stats::Histogram histogram(kHistogramBins);
    const double level = footprint < 24 ? 40 : footprint < 40 ? 270 : 640;
    for (int load = 0; load < 8192; ++load) {
      ++histogram[static_cast<std::size_t>(std::max(1.0, level + jitter(generator)) / kHistogramBinCycles)];
    }
    histograms.push_back(std::move(histogram));
  }
  return histograms;
}

void FindLevels(benchmark::State& state) {
  const std::vector<stats::Histogram> histograms = survey_histograms();
  for (auto unused : state) benchmark::DoNotOptimize(stats::find_levels(histograms));
}
BENCHMARK(FindLevels);

void FindChangePoint(benchmark::State& state) {
  std::vector<double> series(static_cast<std::size_t>(state.range(0)), 1.0);
  for (std::size_t i = series.size() / 2; i < series.size(); ++i) series[i] = 2;
  for (auto unused : state) benchmark::DoNotOptimize(stats::find_change_point(series));
}
BENCHMARK(FindChangePoint)->Arg(128)->Arg(4096);

void AnalyseRecordedH200(benchmark::State& state) {
  const auto device = open_device("replay:" GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo", 1);
  for (auto unused : state) benchmark::DoNotOptimize(discover(*device, {}));
}
BENCHMARK(AnalyseRecordedH200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gputopo
