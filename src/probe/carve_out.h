// Size at every shared-memory carve-out: on GPUs whose L1 and shared memory are one array, what one takes the other
// lacks. What fools it is what fools the size (capacity_decision.h); and a device that takes a larger carve-out than
// asked for, which is why those in force count.
#pragma once

#include "probe/capacity_decision.h"
#include "probe/site.h"

namespace gputopo::probe {

// A size at every shared-memory carve-out that the device offers: lists of equal length.
struct SizeByCarveOut {
  std::vector<double> carve_outs_bytes;  // that were in force
  std::vector<double> sizes_bytes;
  std::vector<double> first_misses_bytes;
  std::vector<double> all_misses_bytes;
};
// `known`: what the cache holds under the carve-out of its survey.
[[nodiscard]] SizeByCarveOut find_size_by_carve_out(Lab& lab, const Cache& cache, const Capacity& known);
// As details and evidence of a size. Nothing where there is one carve-out only.
void add_to(const SizeByCarveOut& found, bool keep_samples, Attribute& size);

}  // namespace gputopo::probe
