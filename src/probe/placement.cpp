#include "probe/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/band_latency.h"
#include "probe/intervals.h"

namespace gputopo::probe {
namespace {

struct PlacementParameters {
  // Lines, at most: several for each slice of the largest L2. More: steadier means; the time grows with them.
  std::uint64_t lines = 512;
  // Of the nearer caches an array is to exceed, and of this one it may take.
  double exceeds_nearer = 1.5;
  double of_cache = 0.75;
  // Programs on each SM, of which the median counts. Odd.
  std::size_t copies = 3;
};
constexpr PlacementParameters kPlacement;

std::uint64_t array_bytes(const Cache& cache, std::uint64_t stride_bytes) {
  const double least = kPlacement.exceeds_nearer * static_cast<double>(cache.nearer_bytes);
  const double most = kPlacement.of_cache * cache.held_bytes();
  if (least > most || most < 2.0 * static_cast<double>(stride_bytes)) {
    throw NotSupportedError(fmt::format("no array fits {:.0f} B of this cache and exceeds those before it", most));
  }
  const double wanted = std::clamp(static_cast<double>(kPlacement.lines * stride_bytes), least, most);
  return std::max<std::uint64_t>(2, static_cast<std::uint64_t>(wanted) / stride_bytes) * stride_bytes;
}

}  // namespace

Attribute measure_sm_latencies(Lab& lab, const Cache& cache) {
  const std::uint64_t stride = cache.line_or_fetch_bytes();
  const ChaseArray array = make_array(cache.site(), array_bytes(cache, stride), stride);
  // What the cache copies from farther parts of itself is there after two passes.
  std::vector<ChaseStep> steps = {{.kind = StepKind::kWarm, .loads = 2 * array.element_count()}};
  add_untimed_chain(steps, array);
  ChaseProgram program = make_program(cache.site(), {array}, steps);
  program.exclusive = true;
  SampleTable table = make_table("by_sm", Plot::kPoints, {sm_axis(), values("latency_cycles", "latency", "cycles")});
  for (std::uint32_t sm = 0; sm < lab.info().sm_count; ++sm) {
    program.sm = sm;
    std::vector<double> copies;
    try {
      for (const ChaseResult& copy : lab.chase(std::vector<ChaseProgram>(kPlacement.copies, program))) {
        copies.push_back(untimed_latency(copy, 1));
      }
    } catch (const NotSupportedError&) {
      if (sm == 0) throw;
      continue;  // a number that no SM has
    }
    table.data[0].push_back(sm);
    table.data[1].push_back(rounded(stats::median(copies)));
  }
  const std::vector<double>& cycles = table.data[1];
  const auto [least, most] = std::ranges::minmax_element(cycles);
  if (*least + cache.survey->timer_cycles < cache.hit_floor_cycles()) {
    throw Inconclusive(fmt::format("some loads hit a nearer cache: their mean is {:.1f} cycles", *least));
  }
  Attribute attribute =
      measured(lab.conditions(), std::vector<double>{*least, *most}, "cycles", std::nullopt, "chain_from_every_sm");
  attribute.add_detail("nearest_sm", static_cast<std::int64_t>(table.data[0][least - cycles.begin()]));
  attribute.add_detail("farthest_sm", static_cast<std::int64_t>(table.data[0][most - cycles.begin()]));
  attribute.add_detail("median_cycles", rounded(stats::median(cycles)));
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
