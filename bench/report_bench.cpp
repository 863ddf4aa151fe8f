// Time to render a full report of the recorded H200, by format. The goal for all formats together is below 300 ms.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "gputopo/device.h"
#include "gputopo/discover.h"
#include "gputopo/report.h"

namespace gputopo {
namespace {

// Written and read again, as for `show`.
const Topology& full_report() {
  static const Topology kReport = [] {
    const auto device = open_device("replay:" GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo", 1);
    DiscoverOptions options;
    options.full = true;
    return read_json(to_json(discover(*device, options)));
  }();
  return kReport;
}

void rendering(benchmark::State& state, std::string (*render)(const Topology&)) {
  const Topology& report = full_report();
  std::size_t bytes = 0;
  for (auto unused : state) {
    const std::string text = render(report);
    bytes = text.size();
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

std::string terminal(const Topology& topology) { return to_terminal(topology, {}); }
std::string tree(const Topology& topology) { return to_tree(topology, {}); }
std::string reread(const Topology& topology) { return read_json(to_json(topology)).name; }
std::string all(const Topology& topology) {
  std::string text;
  for (auto* render : {to_html, to_markdown, to_svg, to_csv, to_json, terminal, tree}) text += render(topology);
  return text;
}

BENCHMARK_CAPTURE(rendering, html, to_html)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, markdown, to_markdown)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, svg, to_svg)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, csv, to_csv)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, json, to_json)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, terminal, terminal)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, tree, tree)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, json_written_and_read, reread)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(rendering, all_formats, all)->Unit(benchmark::kMillisecond);

// `gputopo get` with a cached value, in a new process each time. The goal is below 20 ms.
void kept_answer(benchmark::State& state) {
  static constexpr const char* kAsked = "XDG_CACHE_HOME=\"${TMPDIR:-/tmp}/gputopo-bench\" " GPUTOPO_BINARY
                                        " get l2.latency --device sim:h200 >/dev/null 2>&1";
  if (std::system(kAsked) != 0) state.SkipWithError("gputopo get failed");
  for (auto unused : state) benchmark::DoNotOptimize(std::system(kAsked));
}
BENCHMARK(kept_answer)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace gputopo
