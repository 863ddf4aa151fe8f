// L2 partitions: an SM reaches its own partition at the near latency; what it holds of a large footprint there, against
// the whole, is one over the number of partitions.
#include <fmt/format.h>

#include <cmath>

#include "probe/size.h"

namespace gputopo::probe {

Attribute measure_partitions(Lab& lab, const Cache& l2, double total_bytes) {
  require_exceeded(l2, "so its capacity is not known");
  if (l2.last_level == 0) {
    Attribute attribute = measured_exactly(l2.survey->conditions, 1, "", "near_part_of_resident");
    attribute.add_detail("near_bytes", static_cast<std::int64_t>(total_bytes));
    return attribute;
  }
  const std::uint64_t stride = l2.line_or_fetch_bytes();
  const double near_limit = l2.survey->levels[l2.last_level - 1].high_cycles;
  const auto resident = [&](double limit, double capacities) {
    return sampled_residency(lab, l2, limit, total_bytes, capacities, stride, lab.parameters().residency_samples / 4);
  };
  constexpr double kWhole = 0.25;
  const auto is_whole = [](double x) { return x >= 1 - kWhole && std::abs(x - std::round(x)) <= kWhole; };
  constexpr double kFits = 0.9;  // all of it stays in L2, so what is not near is far
  const SampledResidency near = resident(near_limit, kFits);
  double ratio = total_bytes / near.bytes;
  // Where sets fill unevenly not all of the footprint stays: then it counts against what of it is resident at all. And
  // where sets of few ways are full in one partition and not yet in the whole, it takes more to fill both.
  if (!is_whole(ratio)) ratio = resident(l2.hit_limit_cycles(), kFits).bytes / near.bytes;
  constexpr double kFills = 4;
  if (!is_whole(ratio)) ratio = resident(l2.hit_limit_cycles(), kFills).bytes / resident(near_limit, kFills).bytes;
  const double rounded = std::round(ratio);
  lab.log(fmt::format("partitions: {:.0f} of {:.0f} B near: {:.2f}", near.bytes, total_bytes, ratio));
  if (!is_whole(ratio)) {
    throw Inconclusive(fmt::format("{:.0f} of {:.0f} B are near: {:.2f} is no whole number of partitions", near.bytes,
                                   total_bytes, ratio));
  }
  Attribute attribute =
      measured_exactly(lab.conditions(), static_cast<std::int64_t>(rounded), "", "near_part_of_resident");
  attribute.add_detail("near_bytes", std::round(near.bytes));
  attribute.add_detail("near_low_bytes", std::round(near.interval.low));
  attribute.add_detail("near_high_bytes", std::round(near.interval.high));
  return attribute;
}

}  // namespace gputopo::probe
