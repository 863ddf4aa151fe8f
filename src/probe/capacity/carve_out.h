// Size at every shared-memory carve-out. On GPUs whose L1 and shared memory are one array, each lacks what the other
// takes. The largest and the smallest size are measured, and those between should lie on a straight line. A sample of
// the resident part under each carve-out checks this, and sizes off the line are measured.
//
// What fools it: whatever fools the size (views_decision.h); a device that takes a larger carve-out than requested,
// which is why those in force count; steps of a few percent between the ends, which a sample does not see.
#pragma once

#include <utility>
#include <vector>

#include "probe/capacity/views_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// A size at every shared-memory carve-out that the device offers: lists of equal length, except the last.
struct SizeByCarveOut {
  std::vector<double> carve_outs_bytes;  // those in force
  std::vector<double> sizes_bytes;
  std::vector<double> first_misses_bytes;
  std::vector<double> all_misses_bytes;
  std::vector<double> interpolated_bytes;  // carve-outs with interpolated sizes, confirmed by a sample
};

// Linear interpolation between two carve-outs. First-miss and all-miss footprints stay 0 unless both ends have them.
[[nodiscard]] Capacity capacity_on_line(std::pair<double, const Capacity&> one,
                                        std::pair<double, const Capacity&> other, double carve_out_bytes);

// `known`: capacity under the carve-out of the cache's survey.
[[nodiscard]] SizeByCarveOut find_size_by_carve_out(ProbeRunner& runner, const Cache& cache, const Capacity& known);
// Adds them as details and evidence of a size. Adds nothing if there is only one carve-out.
void add_to(const SizeByCarveOut& found, bool keep_samples, Attribute& size);

}  // namespace gputopo::probe
