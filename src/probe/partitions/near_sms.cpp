#include "probe/partitions/near_sms.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/partitions/near_sms_decision.h"
#include "probe/partitions/sm_by_line.h"

namespace gputopo::probe {
namespace {

struct NearSmsParameters {
  // Lines: several per slice of the largest L2. Larger values give steadier correlations; time grows with them.
  std::size_t lines = 192;
  // Passes, of which the median counts; odd, so that it is one of them.
  std::uint64_t passes = 7;
};
constexpr NearSmsParameters kNearSmsParameters;

SmByLineCycles medians_of_passes(const SmByLine& map) {
  SmByLineCycles rows;
  for (const auto& lines : map.latencies) {
    std::vector<double>& row = rows.emplace_back();
    for (const auto& passes : lines) row.push_back(stats::median(std::vector<double>(passes.begin(), passes.end())));
  }
  return rows;
}

SampleTable table_of_sms(const SmByLine& map, const NearSms& near, const std::vector<double>& means_cycles) {
  SampleTable table =
      make_table("sms", Plot::kPoints,
                 {sm_axis(), series("partition", "partition"), values("latency_cycles", "latency", "cycles")});
  table.marks = {"fastest_sm_cycles", "slowest_sm_cycles"};
  std::vector<std::size_t> group_of(map.sms.size());
  for (std::size_t group = 0; group < near.groups.size(); ++group) {
    for (const std::size_t row : near.groups[group]) group_of[row] = group;
  }
  for (std::size_t row = 0; row < map.sms.size(); ++row) {
    table.data[0].push_back(map.sms[row]);
    table.data[1].push_back(static_cast<double>(group_of[row]));
    table.data[2].push_back(rounded_to_tenth(means_cycles[row]));
  }
  return table;
}

// Sorted by partition, so that the matrix shows blocks. Lines are given by position; where each lies is told once
// instead of for every SM.
std::vector<SampleTable> tables_of_lines(const SmByLine& map, const SmByLineCycles& cycles, const NearSms& near) {
  SampleTable table = make_table(
      "slices", Plot::kMap, {sm_axis(), axis("line", "line"), values("raw_latency_cycles", "raw latency", "cycles")});
  SampleTable places =
      make_table("lines", Plot::kNone, {axis("line", "line"), values("line_offset_bytes", "line offset", "B")});
  const std::vector<std::size_t> lines = lines_by_nearness(cycles, near.groups);
  for (const auto& group : near.groups) {
    for (const std::size_t row : group) {
      for (std::size_t place = 0; place < lines.size(); ++place) {
        table.data[0].push_back(map.sms[row]);
        table.data[1].push_back(static_cast<double>(place));
        table.data[2].push_back(cycles[row][lines[place]]);
      }
    }
  }
  for (std::size_t place = 0; place < lines.size(); ++place) {
    places.data[0].push_back(static_cast<double>(place));
    places.data[1].push_back(static_cast<double>(map.line_bytes[lines[place]]));
  }
  return {std::move(table), std::move(places)};
}

RowGroups rows_of(const SmByLine& map, const SmsByPartition& sides) {
  RowGroups groups(sides.sms.size());
  for (std::size_t row = 0; row < map.sms.size(); ++row) groups[sides.side_of(map.sms[row])].push_back(row);
  return groups;
}

// Adds what atomics say about the sides, how far each SM is from L2, and the map.
void add_atomics(ProbeRunner& runner, const Cache& l2, const SmsByPartition& sides, Attribute& attribute) {
  const SmByLine map = add_from_every_sm(runner, l2, kNearSmsParameters.lines, kNearSmsParameters.passes);
  const SmByLineCycles cycles = medians_of_passes(map);
  const Decision<NearSms> decision = decide_near_sms(cycles, sides.sms.size());
  NearSms near{.groups = rows_of(map, sides)};
  if (decision.value) {
    near.correlation_within = decision.value->correlation_within;
    near.correlation_between = decision.value->correlation_between;
    attribute.add_detail("correlation_within", rounded(near.correlation_within));
    attribute.add_detail("correlation_between", rounded(near.correlation_between));
    if (decision.value->groups != near.groups) {
      attribute.flags.emplace_back(
          "atomics_disagree: the latencies of atomics group the SMs differently than the latencies of loads do");
    }
  } else {
    runner.log("near_sms: atomics cannot confirm the groups of SMs: " + decision.why_not);
  }
  std::vector<double> means_cycles;
  for (const auto& row : cycles) means_cycles.push_back(stats::mean(row) - l2.survey->timer_cycles);
  attribute.add_detail("fastest_sm_cycles", rounded_to_tenth(*std::ranges::min_element(means_cycles)));
  attribute.add_detail("slowest_sm_cycles", rounded_to_tenth(*std::ranges::max_element(means_cycles)));
  for (const std::size_t odd : outlier_sms(means_cycles)) {
    attribute.flags.push_back(
        fmt::format("outlier_sm: atomics of SM {} take {:.0f} cycles; the median of all SMs is {:.0f}", map.sms[odd],
                    means_cycles[odd], stats::median(means_cycles)));
  }
  if (runner.keep_samples()) {
    attribute.samples = tables_of_lines(map, cycles, near);
    attribute.samples.insert(attribute.samples.begin(), table_of_sms(map, near, means_cycles));
  }
}

}  // namespace

Attribute measure_near_sms(ProbeRunner& runner, const Cache& l2, const SmsByPartition& sides) {
  Attribute attribute = measured(sides.conditions, UnitGroups{sides.sms}, "", std::nullopt, "sides_by_first_loads");
  attribute.details = {{"first_load_cycles", rounded_to_tenth(sides.first_load_cycles)}};
  try {
    add_atomics(runner, l2, sides, attribute);
  } catch (const NotSupportedError& error) {
    runner.log(fmt::format("near_sms: the latencies of atomics cannot be measured: {}", error.what()));
  }
  return attribute;
}

}  // namespace gputopo::probe
