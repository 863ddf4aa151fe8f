// Which SMs are near the same L2 partition, from the latencies of every SM's accesses to the same lines.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct NearSmsDecisionParameters {
  // Least difference of the correlations within and between partitions; on an H200 it is 1.7. Larger values miss
  // partitions that differ little; smaller values take noise for partitions.
  double least_contrast = 0.6;
  // An SM is odd if its mean is this many standard deviations, and this fraction, away from the median of all. Larger
  // values name fewer SMs.
  double odd_deviations = 6;
  double odd_part = 0.05;
};

// Raw cycles, by SM and line.
using SmByLineCycles = std::vector<std::vector<double>>;
// Rows of such a matrix, ascending within a group; groups are ordered by their first row.
using RowGroups = std::vector<std::vector<std::size_t>>;

struct NearSms {
  RowGroups groups;
  double correlation_within = 0;   // mean of the group whose SMs are least alike
  double correlation_between = 0;  // mean of the two groups that are most alike
};

// Finds as many groups as there are partitions. SMs of one partition are equally far from a line's home, so their
// latencies of each line, relative to its average, rise and fall together.
[[nodiscard]] Decision<NearSms> decide_near_sms(const SmByLineCycles& cycles, std::size_t partitions,
                                                const NearSmsDecisionParameters& parameters = {});

// Positions in `means_cycles` of the SMs whose loads all take much longer, or less, than those of the others.
[[nodiscard]] std::vector<std::size_t> outlier_sms(std::span<const double> means_cycles,
                                                   const NearSmsDecisionParameters& parameters = {});

// Lines by the group that loads them fastest, then by how much longer another takes. The matrix then shows blocks.
[[nodiscard]] std::vector<std::size_t> lines_by_nearness(const SmByLineCycles& cycles, const RowGroups& groups);

}  // namespace gputopo::probe
