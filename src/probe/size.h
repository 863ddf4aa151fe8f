// Capacity of a cache: the parts of the size probe that the carve-outs and the L2 partitions use too.
#pragma once

#include <cstdint>
#include <string>

#include "probe/site.h"

namespace gputopo::probe {

struct Capacity {
  double bytes = 0;
  stats::Interval interval;
  std::string method;
  double resident_bytes = 0;    // read backwards
  double first_miss_bytes = 0;  // the largest footprint without misses; 0 for L2
  double all_miss_bytes = 0;    // the smallest footprint of the survey where nothing hits; 0 if there is none
  double sampled_bytes = 0;     // 0 if not sampled
  Conditions conditions;
};

// Samples of the residency: of the first look, and of the full one where the first contradicts the exact views.
struct Effort {
  std::uint64_t quick_samples = 0;
  std::uint64_t full_samples = 0;
};
[[nodiscard]] Capacity estimate_capacity(Lab& lab, const Cache& cache, const Effort& effort);

struct SampledResidency {
  double bytes = 0;
  stats::Interval interval;
  double old_part = 0;  // of what was loaded longer ago than that, still resident; told of caches behind others only
};

// Bytes that hit below `limit_cycles` after a pass over `factor` times `guess` bytes.
[[nodiscard]] SampledResidency sampled_residency(Lab& lab, const Cache& cache, double limit_cycles, double guess,
                                                 double factor, std::uint64_t stride, std::uint64_t wanted_samples);

// A size at every shared-memory carve-out that the device offers: lists of equal length.
struct SizeByCarveOut {
  std::vector<double> carve_outs_bytes;  // that were in force
  std::vector<double> sizes_bytes;
  std::vector<double> first_misses_bytes;
  std::vector<double> all_misses_bytes;
};
[[nodiscard]] SizeByCarveOut find_size_by_carve_out(Lab& lab, const Cache& cache);
// As details and evidence of a size. Nothing where there is one carve-out only.
void add_to(const SizeByCarveOut& found, bool keep_samples, Attribute& size);

// The sweep of a survey as samples: one row per footprint and latency bin.
[[nodiscard]] SampleTable sweep_table(const Survey& survey);

}  // namespace gputopo::probe
