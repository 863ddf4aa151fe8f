// Size at every shared-memory carve-out: on GPUs whose L1 and shared memory are one array, what one takes the other
// lacks. So the least and the most of it are measured, and what is between lies on a straight line: a sample of what
// stays resident under each says whether it does, and what does not is measured.
//
// What fools it is what fools the size (views_decision.h); a device that takes a larger carve-out than asked for,
// which is why those in force count; and steps of some percent between the ends, which a sample does not see.
#pragma once

#include <utility>
#include <vector>

#include "probe/capacity/views_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// A size at every shared-memory carve-out that the device offers: lists of equal length.
struct SizeByCarveOut {
  std::vector<double> carve_outs_bytes;  // that were in force
  std::vector<double> sizes_bytes;
  std::vector<double> first_misses_bytes;
  std::vector<double> all_misses_bytes;
  std::vector<double>
      interpolated_bytes;  // the carve-outs whose sizes lie on a line between others, as a sample agrees
};

// On the straight line through what a cache holds under two carve-outs: its sizes under a third. Nothing where either
// has no first miss, or nothing that misses always, the other has.
[[nodiscard]] Capacity capacity_on_line(std::pair<double, const Capacity&> one,
                                        std::pair<double, const Capacity&> other, double carve_out_bytes);

// `known`: what the cache holds under the carve-out of its survey.
[[nodiscard]] SizeByCarveOut find_size_by_carve_out(Lab& lab, const Cache& cache, const Capacity& known);
// As details and evidence of a size. Nothing where there is one carve-out only.
void add_to(const SizeByCarveOut& found, bool keep_samples, Attribute& size);

}  // namespace gputopo::probe
