#include "probe/partitions/sides_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/partitions/count_decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

Decision<NearAndFarSms> split_by_first_touch(const FirstTouches& touches, const SidesDecisionParameters& parameters) {
  const double control_cycles = touches.control_cycles;
  const double error_cycles = touches.error_cycles;
  const double same = std::max(parameters.least_cycles, parameters.same_errors * error_cycles);
  std::vector<double> farther;
  for (const FirstTouch& touch : touches.others) {
    if (touch.cycles - control_cycles > same) farther.push_back(touch.cycles - control_cycles);
  }
  NearAndFarSms split;
  Decision<NearAndFarSms> decision;
  if (farther.empty()) {
    if (same > std::max(parameters.least_cycles, parameters.hidden_part * touches.near_cycles)) {
      decision.why_not = fmt::format(
          "the first load of a line takes equally long on all SMs, but noise would hide a difference of {:.1f} cycles",
          same);
      return decision;
    }
    for (const FirstTouch& touch : touches.others) split.near.push_back(touch.sm);
    decision.basis = fmt::format(
        "on every tested SM, the first load of a line takes as long as the second, within {:.1f} cycles", same);
    decision.value = std::move(split);
    return decision;
  }
  split.far_cycles = stats::median(farther);
  if (split.far_cycles < std::max(same, parameters.apart_errors * error_cycles)) {
    decision.why_not = fmt::format(
        "the first load of a line takes about {:.1f} cycles longer on some SMs, which noise of {:.1f} cycles may "
        "explain",
        split.far_cycles, error_cycles);
    return decision;
  }
  for (const FirstTouch& touch : touches.others) {
    const double part = (touch.cycles - control_cycles) / split.far_cycles;
    if (std::abs(part - 0.5) < parameters.empty_part / 2) {
      decision.why_not = fmt::format(
          "on SM {}, the first load of a line takes {:.1f} cycles longer, which is neither near (0 cycles) nor far "
          "({:.1f} cycles)",
          touch.sm, touch.cycles - control_cycles, split.far_cycles);
      return decision;
    }
    (part < 0.5 ? split.near : split.far).push_back(touch.sm);
  }
  decision.basis = fmt::format("the first load of a line takes {:.1f} cycles longer on {} of {} SMs", split.far_cycles,
                               split.far.size(), touches.others.size());
  decision.value = std::move(split);
  return decision;
}

bool sees_copies(double ratio, std::int64_t partitions) {
  const auto count = static_cast<double>(partitions);
  return std::abs(ratio - seen_with_copies(partitions)) < std::abs(ratio - count);
}

bool fits_partitions(double ratio, std::int64_t partitions, const SidesDecisionParameters& parameters) {
  const auto count = static_cast<double>(partitions);
  return std::abs(ratio - count) <= parameters.near_tolerance ||
         std::abs(ratio - seen_with_copies(partitions)) <= parameters.near_tolerance;
}

Decision<PartitionsFound> decide_partitions(const PartitionsEvidence& evidence,
                                            const SidesDecisionParameters& parameters) {
  Decision<PartitionsFound> decision;
  if (!evidence.sides) {
    if (!evidence.by_near_size) {
      decision.why_not = fmt::format(
          "the size of L2 is not a whole multiple of the size of its near partition, and the SMs near each partition "
          "are unknown: {}",
          evidence.no_sides_reason);
      return decision;
    }
    decision.value = PartitionsFound{*evidence.by_near_size,
                                     {fmt::format("unconfirmed: derived only from the size of the near partition; the "
                                                  "SMs near each partition are unknown: {}",
                                                  evidence.no_sides_reason)}};
    return decision;
  }
  const std::size_t sides = evidence.sides->size();
  PartitionsFound found{.partitions = static_cast<std::int64_t>(sides)};
  const bool well_populated =
      std::ranges::all_of(*evidence.sides, [&](std::size_t sms) { return sms >= parameters.sms_of_a_side; });
  const bool agrees = evidence.near_ratio && fits_partitions(*evidence.near_ratio, sides, parameters);
  // If nothing seems far, near and far latencies may be too close to tell apart.
  const bool all_is_near = evidence.near_ratio == 1.0;
  decision.basis = fmt::format(
      "number of partitions: {} according to the SMs' loads, {:.2f} according to the size of the near partition", sides,
      evidence.near_ratio.value_or(0));
  // A partition may have no near SM. Uneven sets also make the near part too small; with few SMs both are as likely.
  const bool may_be_more =
      !well_populated && (evidence.ratio_of_all > static_cast<double>(sides) + parameters.near_tolerance ||
                          (evidence.near_ratio && fits_partitions(*evidence.near_ratio, sides + 1, parameters)));
  if (all_is_near ? well_populated : agrees && !may_be_more) {
    decision.value = std::move(found);
    return decision;
  }
  // With few SMs, a partition that no SM is near shows in sizes only.
  if (evidence.by_near_size && !well_populated && *evidence.by_near_size > found.partitions) {
    found.partitions = *evidence.by_near_size;
    found.flags.push_back(
        fmt::format("too_few_sms: derived from the size of the near partition; the SMs alone show only {}", sides));
  } else if (!well_populated) {
    found.flags.push_back(
        fmt::format("too_few_sms: there may be more partitions than the {} found: with so few SMs, a partition may "
                    "have no SM near it",
                    sides));
  } else {
    found.flags.push_back(fmt::format(
        "near_size_disagrees: the SMs' loads show {} partitions, but the size of the near partition implies {:.2f}",
        sides, evidence.near_ratio.value_or(0)));
  }
  decision.value = std::move(found);
  return decision;
}

}  // namespace gputopo::probe
