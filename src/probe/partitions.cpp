#include "probe/partitions.h"

#include <fmt/format.h>

#include <cmath>

#include "probe/partitions_decision.h"
#include "probe/sampled_residency.h"

namespace gputopo::probe {
namespace {

struct PartitionsParameters {
  // Footprint, in capacities, of which all stays in L2, so that what is not near is far. More: it is nearer to evicting
  // something; less: fewer lines to tell by.
  double fitting_capacities = 0.9;
  // One that fills every set: where sets of few ways are full in one partition and not yet in the whole, it takes more
  // to fill both.
  double filling_capacities = 4;
  // Samples, as a part of those of a size: half a partition more or less is told by far fewer.
  std::uint64_t samples_divisor = 4;
};
constexpr PartitionsParameters kParameters;

// Of one SM.
struct NearPart {
  std::int64_t partitions = 1;
  double bytes = 0;
  stats::Interval interval;
};

NearPart find_near_part(Lab& lab, const Cache& l2, double total_bytes) {
  const std::uint64_t stride = l2.line_or_fetch_bytes();
  const double near_limit = l2.survey->levels[l2.last_level - 1].high_cycles;
  const auto resident = [&](double limit, double capacities) {
    return sampled_residency(lab, l2, limit, total_bytes, capacities, stride,
                             lab.parameters().residency_samples / kParameters.samples_divisor);
  };
  const auto whole = [&](double capacities) { return resident(l2.hit_limit_cycles(), capacities).bytes; };
  const SampledResidency near = resident(near_limit, kParameters.fitting_capacities);
  PartitionCount count = count_partitions({.whole = total_bytes, .near = near.bytes});
  // Where sets fill unevenly not all of the footprint stays: then it counts against what of it is resident at all.
  if (!count.partitions) {
    count = count_partitions({.whole = whole(kParameters.fitting_capacities), .near = near.bytes});
  }
  if (!count.partitions) {
    const double filled = whole(kParameters.filling_capacities);
    count = count_partitions({.whole = filled, .near = resident(near_limit, kParameters.filling_capacities).bytes});
  }
  lab.log(fmt::format("partitions: {:.0f} of {:.0f} B near: {:.2f}", near.bytes, total_bytes, count.ratio));
  if (!count.partitions) {
    throw Inconclusive(fmt::format("{:.0f} of {:.0f} B are near: {:.2f} is no whole number of partitions", near.bytes,
                                   total_bytes, count.ratio));
  }
  return {*count.partitions, near.bytes, near.interval};
}

}  // namespace

Attribute measure_partitions(Lab& lab, const Cache& l2, double total_bytes) {
  require_exceeded(l2, "so its capacity is not known");
  constexpr const char* kMethod = "near_part_of_resident";
  if (l2.last_level == 0) {  // all of it is equally far
    Attribute attribute = measured_exactly(l2.survey->conditions, 1, "", kMethod);
    attribute.add_detail("near_bytes", static_cast<std::int64_t>(total_bytes));
    return attribute;
  }
  const NearPart near = find_near_part(lab, l2, total_bytes);
  Attribute attribute = measured_exactly(lab.conditions(), near.partitions, "", kMethod);
  attribute.add_detail("near_bytes", std::round(near.bytes));
  attribute.add_detail("near_low_bytes", std::round(near.interval.low));
  attribute.add_detail("near_high_bytes", std::round(near.interval.high));
  return attribute;
}

}  // namespace gputopo::probe
