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

// What the cache holds under the carve-out of its survey, the smallest that programs can have, so many times exceeds it
// under all others, wherever its sets overflow. Larger: sweeps take longer.
constexpr double kEnough = 2.5;

// By the survey under another carve-out.
Capacity size_under(Lab& lab, const Cache& cache, const Survey& survey) {
  Cache carved = find_cache(survey, cache.first_level, false);
  if (cache.line) carved.line = Line{.bytes = cache.line->bytes};
  Lab own = lab.another();
  return estimate_capacity(own, carved, kCapacityDecisionParameters);
}

}  // namespace

SizeByCarveOut find_size_by_carve_out(Lab& lab, const Cache& cache, const Capacity& known) {
  SizeByCarveOut found;
  const std::set<std::uint64_t>& of_known = known.conditions.carve_outs_bytes();
  for (const std::uint64_t carve_out : lab.info().carve_outs_bytes) {
    Survey survey = *cache.survey;
    survey.site.carve_out_bytes = std::max<std::uint64_t>(carve_out, 1);  // 0 asks for none
    Lab of_sweep = lab.another();
    sweep_footprints(of_sweep, survey, static_cast<std::uint64_t>(kEnough * cache.held_bytes()));
    const auto in_force = static_cast<double>(*of_sweep.conditions().carve_outs_bytes().rbegin());
    // The device takes a larger one where the smallest cannot hold even the programs' own data.
    if (!found.carve_outs_bytes.empty() && found.carve_outs_bytes.back() == in_force) continue;
    const bool is_known = of_known.size() == 1 && static_cast<double>(*of_known.begin()) == in_force;
    const Capacity capacity = is_known ? known : size_under(lab, cache, survey);
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
