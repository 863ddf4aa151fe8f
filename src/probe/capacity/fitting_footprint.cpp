#include "probe/capacity/fitting_footprint.h"

#include <fmt/format.h>

#include "probe/capacity/fitting_footprint_decision.h"

namespace gputopo::probe {
namespace {

ChaseProgram walk_of(const ProbeRunner& runner, const Site& site, const ChaseArray& array,
                     const FittingFootprintParameters& parameters) {
  const std::uint64_t n = array.element_count();
  const std::uint64_t loads =
      std::max(2 * n, std::clamp(4 * n, parameters.min_loads, runner.parameters().survey_loads));
  return make_program(site, {array},
                      {{.kind = StepKind::kWarm, .loads = 2 * n}, {.kind = StepKind::kCounted, .loads = loads}});
}

}  // namespace

SizeView view_fits(ProbeRunner& runner, const Cache& cache, std::uint64_t stride_bytes) {
  constexpr FittingFootprintParameters kParameters;
  const std::uint32_t copies = runner.parameters().copies;
  const std::uint64_t exceeds = exceeding_footprint(cache.survey->footprints_bytes, cache.fits_bytes, stride_bytes);
  FittingSearch search(cache.fits_bytes, exceeds, stride_bytes, cache.noise, kParameters);
  while (true) {
    std::vector<ChaseProgram> programs;
    for (const std::uint64_t bytes : search.next_footprints()) {
      const ChaseArray array = make_array(cache.site(), bytes, stride_bytes);
      programs.insert(programs.end(), copies, walk_of(runner, cache.site(), array, kParameters));
    }
    if (programs.empty()) return search.found();
    const std::vector<ChaseResult> results = runner.chase(programs);
    std::vector<FootprintMisses> footprints;
    for (std::size_t first = 0; first < results.size(); first += copies) {
      const std::vector<ChaseResult> point(results.begin() + static_cast<std::ptrdiff_t>(first),
                                           results.begin() + static_cast<std::ptrdiff_t>(first + copies));
      const double hits = median_hit_fraction(point, 1, cache.hit_limit_cycles());
      const auto loads = static_cast<double>(point.front().steps[1].loads);
      footprints.push_back({programs[first].arrays.front().bytes, 1 - hits, loads});
    }
    search.add(footprints);
    runner.log(fmt::format("size: {:.0f} B fit, {:.0f} B do not", search.found().bytes, search.found().interval.high));
  }
}

}  // namespace gputopo::probe
