#include "probe/capacity/carve_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "probe/capacity/sampled_residency.h"
#include "probe/capacity/size.h"
#include "probe/survey/survey.h"

namespace gputopo::probe {
namespace {

// Fewer samples than for the size itself: there are ten carve-outs, and each may be a little less certain.
constexpr CapacityDecisionParameters kCapacityDecisionParameters{
    .quick_samples = 3000, .full_samples = 15'000, .resident_capacities = 4, .packs = false};

// Footprint of a sweep, as a multiple of the size under the smaller carve-out. It exceeds the cache wherever its sets
// overflow; otherwise the sweep continues. Larger values make sweeps longer.
constexpr double kEnough = 2.5;

// Carve-outs in force when each one is requested: larger ones if the smallest cannot hold even a program's own data.
std::set<std::uint64_t> carve_outs_in_force(ProbeRunner& runner, const Cache& cache) {
  std::vector<ChaseProgram> programs;
  for (const std::uint64_t carve_out : runner.info().carve_outs_bytes) {
    Site site = cache.site();
    site.carve_out_bytes = std::max<std::uint64_t>(carve_out, 1);  // 0 asks for none
    const ChaseArray array = make_array(site, runner.parameters().tiny_bytes, cache.line_or_fetch_bytes());
    programs.push_back(make_program(site, {array},
                                    {{.kind = StepKind::kWarm, .loads = array.element_count()},
                                     {.kind = StepKind::kCounted, .loads = array.element_count()}}));
  }
  ProbeRunner own = runner.another();
  static_cast<void>(own.chase(programs));
  return own.conditions().carve_outs_bytes();
}

// Size by a sweep under another carve-out, where the cache holds at most `largest_bytes`, or little more.
Capacity size_under(ProbeRunner& runner, const Cache& cache, std::uint64_t carve_out, double largest_bytes) {
  Survey survey = *cache.survey;
  survey.site.carve_out_bytes = carve_out;
  // Sweeps in lines, the unit in which the size changes.
  if (cache.line && cache.nearer_bytes == 0) survey.fetch_bytes = std::max(survey.fetch_bytes, cache.line->bytes);
  ProbeRunner of_sweep = runner.another();
  sweep_footprints(of_sweep, survey, static_cast<std::uint64_t>(kEnough * largest_bytes));
  Cache carved = find_cache(survey, cache.first_level);
  if (cache.line) carved.line = Line{.bytes = cache.line->bytes};
  ProbeRunner own = runner.another();
  return estimate_capacity(own, carved, kCapacityDecisionParameters);
}

// Whether a sample of the resident part agrees with the expected size, and no other carve-out was in force.
bool is_confirmed(ProbeRunner& runner, const Cache& cache, std::uint64_t carve_out, const Capacity& expected) {
  constexpr std::uint64_t kSamples = 15'000;
  // Relative deviation allowed for a sample of this size. Larger values take steps between the ends for a line.
  constexpr double kSame = 0.04;
  if (cache.nearer_bytes > 0) return false;
  Survey survey = *cache.survey;
  survey.site.carve_out_bytes = carve_out;
  Cache carved = cache;
  carved.survey = &survey;
  ProbeRunner own = runner.another();
  const SampledResidency sampled =
      sampled_residency(own, carved, carved.hit_limit_cycles(), expected.bytes,
                        kCapacityDecisionParameters.sampled_capacities, carved.line_or_fetch_bytes(), kSamples);
  const bool agree = sampled.interval.low <= expected.interval.high && expected.interval.low <= sampled.interval.high &&
                     std::abs(sampled.bytes - expected.bytes) <= kSame * expected.bytes &&
                     own.conditions().carve_outs_bytes() == std::set<std::uint64_t>{carve_out};
  runner.log(fmt::format(
      "size: at a carve-out of {} B, the sampled size of {:.0f} B {} with the interpolated size of {:.0f} B", carve_out,
      sampled.bytes, agree ? "agrees" : "does not agree", expected.bytes));
  return agree;
}

void add(SizeByCarveOut& found, double carve_out_bytes, const Capacity& capacity) {
  found.carve_outs_bytes.push_back(carve_out_bytes);
  found.sizes_bytes.push_back(capacity.bytes);
  found.first_misses_bytes.push_back(capacity.first_miss_bytes);
  found.all_misses_bytes.push_back(capacity.all_miss_bytes);
}

// Programs that keep latencies need shared memory of their own, and may get more than others.
double in_force(const Capacity& capacity, std::uint64_t carve_out) {
  const std::set<std::uint64_t>& bytes = capacity.conditions.carve_outs_bytes();
  return static_cast<double>(bytes.empty() ? carve_out : *bytes.rbegin());
}

}  // namespace

Capacity capacity_on_line(std::pair<double, const Capacity&> one, std::pair<double, const Capacity&> other,
                          double carve_out_bytes) {
  const double part = (carve_out_bytes - one.first) / (other.first - one.first);
  const auto between = [&](double a, double b) { return a + part * (b - a); };
  const auto bytes_between = [&](double a, double b) { return a > 0 && b > 0 ? std::round(between(a, b)) : 0; };
  const Capacity& a = one.second;
  const Capacity& b = other.second;
  return {.bytes = std::round(between(a.bytes, b.bytes)),
          .interval = {between(a.interval.low, b.interval.low), between(a.interval.high, b.interval.high)},
          .first_miss_bytes = bytes_between(a.first_miss_bytes, b.first_miss_bytes),
          .all_miss_bytes = bytes_between(a.all_miss_bytes, b.all_miss_bytes)};
}

SizeByCarveOut find_size_by_carve_out(ProbeRunner& runner, const Cache& cache, const Capacity& known) {
  SizeByCarveOut found;
  const std::set<std::uint64_t> carve_outs = carve_outs_in_force(runner, cache);
  if (carve_outs.empty()) return found;
  const auto is_known = [&](std::uint64_t carve_out) {
    return known.conditions.carve_outs_bytes() == std::set<std::uint64_t>{carve_out};
  };
  const auto measure = [&](std::uint64_t carve_out, double largest) {
    return is_known(carve_out) ? known : size_under(runner, cache, carve_out, largest);
  };
  const std::uint64_t last = *carve_outs.rbegin();
  Capacity nearest = measure(*carve_outs.begin(), cache.held_bytes());
  const Capacity least = carve_outs.size() == 1 ? nearest : measure(last, nearest.bytes);
  add(found, in_force(nearest, *carve_outs.begin()), nearest);
  for (const std::uint64_t carve_out : carve_outs) {
    const double before = found.carve_outs_bytes.back();
    const auto bytes = static_cast<double>(carve_out);
    if (carve_out == last || before >= bytes) continue;
    const Capacity expected = capacity_on_line({before, nearest}, {in_force(least, last), least}, bytes);
    if (!is_known(carve_out) && is_confirmed(runner, cache, carve_out, expected)) {
      add(found, bytes, expected);
      found.interpolated_bytes.push_back(bytes);
      nearest = expected;
      continue;
    }
    nearest = measure(carve_out, nearest.bytes);
    if (in_force(nearest, carve_out) > before) add(found, in_force(nearest, carve_out), nearest);
  }
  if (in_force(least, last) > found.carve_outs_bytes.back()) add(found, in_force(least, last), least);
  return found;
}

void add_to(const SizeByCarveOut& found, bool keep_samples, Attribute& size) {
  if (found.carve_outs_bytes.size() < 2) return;
  size.add_detail("carve_outs_bytes", found.carve_outs_bytes);
  size.add_detail("size_by_carve_out_bytes", found.sizes_bytes);
  size.add_detail("first_miss_by_carve_out_bytes", found.first_misses_bytes);
  size.add_detail("all_miss_by_carve_out_bytes", found.all_misses_bytes);
  if (!found.interpolated_bytes.empty()) {
    size.add_detail("interpolated_carve_outs_bytes", found.interpolated_bytes);
  }
  if (!keep_samples) return;
  SampleTable table =
      make_table("by_carve_out", Plot::kLine,
                 {axis("carve_out_bytes", "carve-out", "B"), values("size_bytes", "size", "B"),
                  values("first_miss_bytes", "first miss", "B"), values("all_miss_bytes", "all miss", "B")});
  table.data = {found.carve_outs_bytes, found.sizes_bytes, found.first_misses_bytes, found.all_misses_bytes};
  size.samples.push_back(std::move(table));
}

}  // namespace gputopo::probe
