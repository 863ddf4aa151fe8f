#include "probe/latency/surface.h"

#include <algorithm>
#include <cmath>

#include "probe/bench/evidence.h"
#include "stats/histogram.h"

namespace gputopo::probe {
namespace {

ChaseProgram walk(const Site& site, const SurfacePoint& point) {
  const ChaseArray array = make_array(site, point.footprint_bytes, point.stride_bytes, Order::kSequential);
  const std::uint64_t loads = LatencySurfaceParameters{}.loads;
  // After the warm-up, the timed walk starts again at the beginning of the array.
  return make_program(site, {array}, {warm_step(site, array), {.kind = StepKind::kCounted, .loads = loads}});
}

}  // namespace

std::vector<SurfacePoint> surface_points(std::uint64_t largest_bytes, const LatencySurfaceParameters& parameters) {
  std::vector<SurfacePoint> points;
  for (std::uint64_t stride = kMinimumStrideBytes; stride <= parameters.most_stride_bytes;
       stride *= parameters.stride_factor) {
    for (std::uint64_t bytes = parameters.least_bytes; bytes <= largest_bytes; bytes *= 2) {
      const std::uint64_t elements = bytes / stride;
      if (elements >= parameters.least_elements && elements <= parameters.most_elements) {
        points.push_back({bytes, stride});
      }
    }
  }
  return points;
}

SampleTable measure_latency_surface(ProbeRunner& runner, const Site& site, double timer_cycles) {
  std::vector<SurfacePoint> points =
      surface_points(std::min(runner.last_cache_evictor_bytes(), runner.info().max_array_bytes));
  std::vector<ChaseProgram> programs;
  for (const SurfacePoint& point : points) programs.push_back(walk(site, point));
  const std::vector<ChaseResult> results = runner.chase(programs);
  SampleTable table = make_table(
      "latency_surface", Plot::kLine,
      {footprint_axis(), series("stride_bytes", "stride", "B"), values("latency_cycles", "latency", "cycles")});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const StepResult& timed = results[i].steps.back();
    const double mean = stats::summarise_band(timed.histogram, 0, 1e9).mean - timer_cycles;
    table.data[0].push_back(static_cast<double>(points[i].footprint_bytes));
    table.data[1].push_back(static_cast<double>(points[i].stride_bytes));
    table.data[2].push_back(std::round(10 * mean) / 10);
  }
  return table;
}

}  // namespace gputopo::probe
