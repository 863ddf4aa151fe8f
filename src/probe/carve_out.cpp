// Size at every shared-memory carve-out: on GPUs whose L1 and shared memory are one array, what one takes the other
// lacks.
#include "probe/size.h"

namespace gputopo::probe {

void measure_size_by_carve_out(Lab& lab, const Cache& cache, Attribute& size) {
  std::vector<double> carve_outs;
  std::vector<double> sizes;
  std::vector<double> first_misses;
  std::vector<double> all_misses;
  for (const std::uint64_t carve_out : lab.info().carve_outs_bytes) {
    Survey survey = *cache.survey;
    survey.site.carve_out_bytes = carve_out;
    sweep_footprints(lab, survey);
    const auto in_force = static_cast<double>(lab.carve_out_bytes());
    // The device takes a larger one where the smallest cannot hold even the programs' own data.
    if (!carve_outs.empty() && carve_outs.back() == in_force) continue;
    Cache carved = find_cache(survey, cache.first_level, false);
    carved.line_bytes = cache.line_bytes;
    // Ten carve-outs, each a little less sure than the size itself.
    constexpr Effort kEffort{.quick_samples = 3000, .full_samples = 30000};
    const Capacity capacity = estimate_capacity(lab, carved, kEffort);
    carve_outs.push_back(in_force);
    sizes.push_back(capacity.bytes);
    first_misses.push_back(capacity.first_miss_bytes);
    all_misses.push_back(capacity.all_miss_bytes);
  }
  if (carve_outs.size() < 2) return;
  size.add_detail("carve_outs_bytes", std::move(carve_outs));
  size.add_detail("size_by_carve_out_bytes", std::move(sizes));
  size.add_detail("first_miss_by_carve_out_bytes", std::move(first_misses));
  size.add_detail("all_miss_by_carve_out_bytes", std::move(all_misses));
}

}  // namespace gputopo::probe
