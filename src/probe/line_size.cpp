// Line size: how far apart two touched sectors must be to take up two lines.
//
// A footprint of twice a comfortable one is touched once per `stride`. If a line is at most half the stride, only half
// the lines of the footprint are touched, as many as the comfortable footprint has, and they fit; if it is the stride
// or more, all lines are touched, and they do not. Two references with every line touched give the two miss ratios to
// tell apart, so that neither the replacement nor an uneven index matters. The upper half of the footprint is touched
// with and without a shift of half a stride, because which of the two spreads over all sets depends on the index.
#include <fmt/format.h>

#include <cmath>

#include "probe/site.h"

namespace gputopo::probe {
namespace {

// Miss ratio per touched line of an array.
double miss_ratio(Lab& lab, const Cache& cache, std::uint64_t bytes, std::uint64_t stride, std::uint64_t skew) {
  const Site& site = cache.site();
  ChaseArray array = make_array(site, bytes, stride, site.exclusive ? Order::kShuffled : Order::kReversed);
  array.skew_bytes = skew;
  const std::uint64_t n = array.element_count();
  ChaseStep counted{.kind = StepKind::kCounted, .loads = std::min(n, lab.parameters().survey_loads)};
  if (site.exclusive) {
    counted.chain = 1;
    counted.loads = std::min(std::max(n / 8, std::uint64_t{16}), lab.parameters().exclusive_loads);
  }
  const std::uint32_t copies = site.exclusive ? 1 : lab.parameters().copies;
  const ChaseProgram program = make_program(site, {array}, {warm_step(site, array), counted});
  return 1 - median_hit_fraction(lab.chase(std::vector<ChaseProgram>(copies, program)), 1, cache.hit_limit_cycles());
}

}  // namespace

Attribute measure_line_size(Lab& lab, Cache& cache) {
  require_exceeded(cache, "so its lines are never evicted");
  const std::uint64_t fetch = cache.fetch_bytes;
  // The footprint with the clearest difference between once and twice of it; on a cache with uneven sets it is not the
  // largest that fits.
  double contrast = 0;
  double fitting = 0;
  double exceeding = 1;
  std::uint64_t footprint = 0;
  for (const double part : {lab.parameters().comfortable, 0.7, 0.5}) {
    const auto base = static_cast<std::uint64_t>(part * cache.held_bytes()) / fetch * fetch;
    if (base < 2 * fetch || (cache.site().limit_bytes != 0 && 2 * base > cache.site().limit_bytes)) continue;
    const double once = miss_ratio(lab, cache, base, fetch, 0);
    const double twice = miss_ratio(lab, cache, 2 * base, fetch, 0);
    if (twice - once > contrast) {
      contrast = twice - once;
      fitting = once;
      exceeding = twice;
      footprint = 2 * base;
    }
    constexpr double kClear = 0.4;
    if (contrast > kClear) break;
  }
  if (contrast < lab.parameters().least_contrast) {
    throw Inconclusive(fmt::format("twice the footprint misses hardly more often (by {:.2f})", contrast));
  }
  std::uint64_t line = fetch;
  const double middle = (fitting + exceeding) / 2;
  NamedValues ratios;
  for (std::uint64_t stride = 2 * fetch; stride <= 2 * lab.parameters().line_limit_bytes; stride *= 2) {
    const double plain = miss_ratio(lab, cache, footprint, stride, 0);
    const double skewed =
        stride / 2 >= kMinimumStrideBytes ? miss_ratio(lab, cache, footprint, stride, stride / 2) : plain;
    const double ratio = std::min(plain, skewed);
    ratios.emplace_back(fmt::format("miss_ratio_stride_{}", stride), std::round(ratio * 1000) / 1000);
    lab.log(fmt::format("line: footprint {} stride {}: {:.3f} ({:.3f} fits, {:.3f} exceeds)", footprint, stride, ratio,
                        fitting, exceeding));
    if (ratio < middle) break;
    line = stride;
  }
  if (line > lab.parameters().line_limit_bytes) {
    throw Inconclusive(fmt::format("strides up to {} B still touch every line", 2 * lab.parameters().line_limit_bytes));
  }
  cache.line_bytes = line;
  const auto value = static_cast<double>(line);
  Attribute attribute =
      measured(lab, static_cast<std::int64_t>(line), "B", stats::Interval{value, value}, "sparse_footprint");
  attribute.details = std::move(ratios);
  return attribute;
}

}  // namespace gputopo::probe
