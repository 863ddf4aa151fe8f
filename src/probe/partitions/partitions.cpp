#include "probe/partitions/partitions.h"

#include <fmt/format.h>

#include <cmath>

#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/capacity/sampled_residency.h"
#include "probe/partitions/count_decision.h"
#include "probe/partitions/sides_decision.h"

namespace gputopo::probe {
namespace {

struct PartitionsParameters {
  // Footprint that stays in L2 completely, in capacities, so that what is not near is far. Larger values are nearer to
  // evicting something; smaller values leave fewer lines to tell by.
  double fitting_capacities = 0.9;
  // Footprint that fills every set, in capacities. If sets of few ways are full in one partition but not yet in all,
  // it takes more to fill both.
  double filling_capacities = 4;
  // Divides the samples of a size: half a partition needs far fewer, and uneven sets matter more than chance.
  std::uint64_t samples_divisor = 16;
  // Fraction of the near part that may be farther lines: copies, and quick hits. Simulated L2s of any shape: a tenth.
  double counted_as_near = 0.12;
  // Fraction of what is near, or seen, that may not be found, because sets fill unevenly.
  double not_found = 0.03;
};
constexpr PartitionsParameters kPartitionsParameters;

NearPart find_near_part(ProbeRunner& runner, const Cache& l2, std::optional<double> reported_bytes) {
  const double total_bytes = reported_bytes.value_or(l2.size_bytes.value_or(l2.held_bytes()));
  // All of it is equally far, or no difference shows.
  if (l2.last_level == l2.first_level)
    return {.ratio = 1, .ratio_of_all = 1, .partitions = 1, .bytes = total_bytes, .interval = {}};
  const std::uint64_t stride = l2.line_or_fetch_bytes();
  const double near_limit = l2.survey->levels[l2.last_level - 1].high_cycles;
  const auto resident = [&](double limit, double capacities) {
    return sampled_residency(runner, l2, limit, total_bytes, capacities, stride,
                             runner.parameters().residency_samples / kPartitionsParameters.samples_divisor);
  };
  const auto whole = [&](double capacities) { return resident(l2.hit_limit_cycles(), capacities).bytes; };
  const SampledResidency near = resident(near_limit, kPartitionsParameters.fitting_capacities);
  const PartitionCount of_all =
      count_partitions({.whole = total_bytes, .near = near.bytes, .is_seen = !reported_bytes});
  PartitionCount count = of_all;
  // If sets fill unevenly, part of the footprint does not stay. Then the near part counts against what is resident.
  if (!count.partitions) {
    count = first_whole(count, count_partitions({whole(kPartitionsParameters.fitting_capacities), near.bytes}));
  }
  if (!count.partitions) {
    const double filled = whole(kPartitionsParameters.filling_capacities);
    count = first_whole(
        count, count_partitions({filled, resident(near_limit, kPartitionsParameters.filling_capacities).bytes}));
  }
  runner.log(
      fmt::format("partitions: {:.0f} of {:.0f} B have the near latency; ratio of the whole to the near part: {:.2f}",
                  near.bytes, total_bytes, count.ratio));
  return {.ratio = count.ratio,
          .ratio_of_all = of_all.ratio,
          .partitions = count.partitions,
          .bytes = near.bytes,
          .interval = near.interval};
}

}  // namespace

Partitions find_partitions(ProbeRunner& runner, const Cache& l2, std::optional<double> reported_bytes,
                           const SmsByPartition* sides, const std::string& no_sides_reason) {
  require_exceeded(l2, "so its capacity is not known");
  PartitionsEvidence evidence{.no_sides_reason = no_sides_reason};
  if (sides != nullptr) {
    evidence.sides.emplace();
    for (const auto& sms : sides->sms) evidence.sides->push_back(sms.size());
  }
  Partitions partitions;
  try {
    partitions.near = find_near_part(runner, l2, reported_bytes);
  } catch (const Inconclusive& error) {
    if (sides == nullptr) throw;
    runner.log(fmt::format("partitions: {}", error.what()));
  }
  evidence.near_ratio = partitions.near.ratio;
  evidence.ratio_of_all = partitions.near.ratio_of_all;
  evidence.by_near_size = partitions.near.partitions;
  PartitionsFound found = value_or_throw(runner, "partitions", decide_partitions(evidence));
  partitions.count = found.partitions;
  partitions.flags = std::move(found.flags);
  partitions.method = sides != nullptr ? "sides_by_first_loads" : "near_part_of_resident";
  partitions.conditions = runner.conditions();
  if (partitions.conditions.is_empty()) partitions.conditions = l2.survey->conditions;
  if (sides != nullptr) {
    partitions.conditions.add(sides->conditions);
    partitions.first_load_cycles = sides->first_load_cycles;
    const double far_cycles = l2.survey->levels[l2.first_level].mode_cycles + sides->first_load_cycles;
    partitions.far_is_beyond = l2.last_level == l2.first_level && far_cycles > l2.hit_limit_cycles();
  }
  return partitions;
}

Attribute to_attribute(const Partitions& partitions) {
  Attribute attribute = measured_exactly(partitions.conditions, partitions.count, "", partitions.method);
  attribute.flags = partitions.flags;
  const NearPart& near = partitions.near;
  if (near.bytes > 0) attribute.add_detail("near_bytes", std::round(near.bytes));
  if (near.interval.high > 0) {
    attribute.add_detail("near_low_bytes", std::round(near.interval.low));
    attribute.add_detail("near_high_bytes", std::round(near.interval.high));
  }
  if (partitions.first_load_cycles > 0) {
    attribute.add_detail("first_load_cycles", rounded_to_tenth(partitions.first_load_cycles));
  }
  return attribute;
}

std::optional<SizeByPartitions> size_by_partitions(const Partitions& partitions, const std::optional<SeenBytes>& seen) {
  constexpr const char* kMethod = "near_part_times_partitions";
  if (partitions.count < 2) return std::nullopt;
  const auto count = static_cast<double>(partitions.count);
  if (partitions.far_is_beyond && seen) {
    return SizeByPartitions{{count * seen->bytes, {count * seen->interval.low, count * seen->interval.high}}, kMethod};
  }
  const NearPart& near = partitions.near;
  // The near part must be one of that many parts; otherwise it includes lines of others.
  if (!(near.interval.high > 0) || near.partitions != partitions.count) {
    if (!seen) return std::nullopt;
    const double seen_part = seen_with_copies(partitions.count) / count;
    return SizeByPartitions{
        {seen->bytes, {seen->interval.low, seen->interval.high / seen_part * (1 + kPartitionsParameters.not_found)}},
        "seen_by_one_sm"};
  }
  if (seen && !sees_copies(seen->bytes / near.bytes, partitions.count)) return std::nullopt;
  return SizeByPartitions{{count * near.bytes,
                           {count * near.interval.low * (1 - kPartitionsParameters.counted_as_near),
                            count * near.interval.high * (1 + kPartitionsParameters.not_found)}},
                          kMethod};
}

}  // namespace gputopo::probe
