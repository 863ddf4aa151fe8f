#include "probe/carve_out.h"

#include <algorithm>
#include <set>

#include "probe/size.h"
#include "probe/survey.h"

namespace gputopo::probe {
namespace {

// Ten carve-outs, each a little less sure than the size itself.
constexpr CapacityDecisionParameters kCapacityDecisionParameters{
    .quick_samples = 3000, .full_samples = 15'000, .resident_capacities = 4, .packs = false};

// What the cache holds under a smaller carve-out, so many times exceeds it wherever its sets overflow; where it does
// not, the sweep goes on. Larger: sweeps take longer.
constexpr double kEnough = 2.5;

// Those that programs get who ask for each that the device offers: a larger one where the smallest cannot hold even
// their own data.
std::set<std::uint64_t> carve_outs_in_force(Lab& lab, const Cache& cache) {
  std::vector<ChaseProgram> programs;
  for (const std::uint64_t carve_out : lab.info().carve_outs_bytes) {
    Site site = cache.site();
    site.carve_out_bytes = std::max<std::uint64_t>(carve_out, 1);  // 0 asks for none
    const ChaseArray array = make_array(site, lab.parameters().tiny_bytes, cache.line_or_fetch_bytes());
    programs.push_back(make_program(site, {array},
                                    {{.kind = StepKind::kWarm, .loads = array.element_count()},
                                     {.kind = StepKind::kCounted, .loads = array.element_count()}}));
  }
  Lab own = lab.another();
  static_cast<void>(own.chase(programs));
  return own.conditions().carve_outs_bytes();
}

// By a sweep under another carve-out, under which the cache holds no more than `largest_bytes`, or little more.
Capacity size_under(Lab& lab, const Cache& cache, std::uint64_t carve_out, double largest_bytes) {
  Survey survey = *cache.survey;
  survey.site.carve_out_bytes = carve_out;
  // Lines are what it holds more or fewer of.
  if (cache.line && cache.nearer_bytes == 0) survey.fetch_bytes = std::max(survey.fetch_bytes, cache.line->bytes);
  Lab of_sweep = lab.another();
  sweep_footprints(of_sweep, survey, static_cast<std::uint64_t>(kEnough * largest_bytes));
  Cache carved = find_cache(survey, cache.first_level, false);
  if (cache.line) carved.line = Line{.bytes = cache.line->bytes};
  Lab own = lab.another();
  return estimate_capacity(own, carved, kCapacityDecisionParameters);
}

}  // namespace

SizeByCarveOut find_size_by_carve_out(Lab& lab, const Cache& cache, const Capacity& known) {
  SizeByCarveOut found;
  const std::set<std::uint64_t>& of_known = known.conditions.carve_outs_bytes();
  for (const std::uint64_t carve_out : carve_outs_in_force(lab, cache)) {
    const bool is_known = of_known.size() == 1 && *of_known.begin() == carve_out;
    const double largest = found.sizes_bytes.empty() ? cache.held_bytes() : found.sizes_bytes.back();
    const Capacity capacity = is_known ? known : size_under(lab, cache, carve_out, largest);
    // Programs that keep latencies need shared memory of their own, and may get more than these.
    const std::set<std::uint64_t>& of_size = capacity.conditions.carve_outs_bytes();
    const auto in_force = static_cast<double>(of_size.empty() ? carve_out : *of_size.rbegin());
    if (!found.carve_outs_bytes.empty() && found.carve_outs_bytes.back() >= in_force) continue;
    found.carve_outs_bytes.push_back(in_force);
    found.sizes_bytes.push_back(capacity.bytes);
    found.first_misses_bytes.push_back(capacity.first_miss_bytes);
    found.all_misses_bytes.push_back(capacity.all_miss_bytes);
  }
  return found;
}

void add_to(const SizeByCarveOut& found, bool keep_samples, Attribute& size) {
  if (found.carve_outs_bytes.size() < 2) return;
  size.add_detail("carve_outs_bytes", found.carve_outs_bytes);
  size.add_detail("size_by_carve_out_bytes", found.sizes_bytes);
  size.add_detail("first_miss_by_carve_out_bytes", found.first_misses_bytes);
  size.add_detail("all_miss_by_carve_out_bytes", found.all_misses_bytes);
  if (!keep_samples) return;
  SampleTable table =
      make_table("by_carve_out", Plot::kLine,
                 {axis("carve_out_bytes", "carve out", "B"), values("size_bytes", "size", "B"),
                  values("first_miss_bytes", "first miss", "B"), values("all_miss_bytes", "all miss", "B")});
  table.data = {found.carve_outs_bytes, found.sizes_bytes, found.first_misses_bytes, found.all_misses_bytes};
  size.samples.push_back(std::move(table));
}

}  // namespace gputopo::probe
