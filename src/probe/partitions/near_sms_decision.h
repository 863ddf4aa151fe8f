// Which SMs are near the same L2 partition, from what every SM's accesses of the same lines take.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct NearSmsDecisionParameters {
  // SMs of one partition must correlate more than SMs of two by this much; on an H200 it is 1.7. More: partitions that
  // differ little are not told; less: noise is taken for partitions.
  double least_contrast = 0.6;
  // An SM is odd when its mean is this many standard deviations from the median of all, and this part of it. More:
  // fewer SMs are named.
  double odd_deviations = 6;
  double odd_part = 0.05;
};

// By SM and line, raw cycles.
using SmByLineCycles = std::vector<std::vector<double>>;
// Rows of such a matrix, each group ascending, by their first.
using RowGroups = std::vector<std::vector<std::size_t>>;

struct NearSms {
  RowGroups groups;
  double correlation_within = 0;   // the mean of the group whose SMs are least alike
  double correlation_between = 0;  // the mean of the two groups that are most alike
};

// As many groups as there are partitions. SMs of one are as far from where each line is at home, so that what a line
// takes there, against what it takes on average, rises and falls together.
[[nodiscard]] Decision<NearSms> decide_near_sms(const SmByLineCycles& cycles, std::size_t partitions,
                                                const NearSmsDecisionParameters& parameters = {});

// Those whose loads all take much longer, or less, than those of the others: places in `means_cycles`.
[[nodiscard]] std::vector<std::size_t> odd_sms(std::span<const double> means_cycles,
                                               const NearSmsDecisionParameters& parameters = {});

// The lines in the order of the group that loads them fastest, and within it those first that another takes longest
// for: so drawn, the matrix shows its blocks.
[[nodiscard]] std::vector<std::size_t> lines_by_nearness(const SmByLineCycles& cycles, const RowGroups& groups);

}  // namespace gputopo::probe
