// Atomic additions of whole warps: how long one takes, and how many there are per cycle.
#include <fmt/format.h>

#include <algorithm>

#include "probe/access.h"
#include "probe/access_trial.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kWordBytes = 4;
// Enough to keep the units busy, few enough that all lanes of a large GPU on one address end in time.
constexpr std::uint32_t kThroughputAccesses = 64;

AccessProgram atomics(const Lab& lab, Space space, bool one_address, std::uint32_t warps, bool every_sm) {
  AccessProgram program{.op = AccessOp::kAtomicAdd,
                        .space = space,
                        .bytes = kWordBytes,
                        .warps = warps,
                        .every_sm = every_sm,
                        .warm_accesses = kAccessUnroll,
                        .accesses = warps == 1 ? kTimedAccesses : kThroughputAccesses};
  if (one_address) return program;
  program.lane_stride_bytes = kWordBytes;
  program.warp_stride_bytes = lab.info().warp_size * kWordBytes;
  return program;
}

AccessProgram with_bytes(AccessProgram program, std::uint32_t blocks) {
  if (program.lane_stride_bytes != 0) program.bytes = std::uint64_t{program.warp_stride_bytes} * program.warps * blocks;
  return program;
}

}  // namespace

Attribute measure_atomic_latency(Lab& lab, Space space) {
  // One warp on each SM: L2 is nearer to some than to others, and so are its slices.
  const bool every_sm = space != Space::kShared;
  const std::uint32_t blocks = every_sm ? lab.info().sm_count : 1;
  const std::vector<AccessTrial> trials = run_trials(
      lab, {with_bytes(atomics(lab, space, false, 1, every_sm), blocks), atomics(lab, space, true, 1, false)});
  const AccessResult& copy = trials[0].copies.front();
  // Which slices the words lie in differs from run to run, and with it the mean: any SM's is as good an answer.
  stats::Interval interval = trials[0].interval();
  if (every_sm) interval = {std::min(interval.low, copy.least_cycles), std::max(interval.high, copy.most_cycles)};
  Attribute attribute = measured(lab, rounded(trials[0].cycles()), "cycles", interval, "dependent_atomics_of_a_warp");
  if (every_sm) {
    attribute.details.emplace_back("nearest_sm_cycles", rounded(copy.least_cycles));
    attribute.details.emplace_back("farthest_sm_cycles", rounded(copy.most_cycles));
  }
  attribute.details.emplace_back("one_address_cycles", rounded(trials[1].cycles()));
  return attribute;
}

Attribute measure_atomic_throughput(Lab& lab, Space space) {
  const bool every_sm = space != Space::kShared;
  // What all SMs share is loaded by all of them.
  const std::uint32_t blocks = every_sm ? lab.info().sm_count : 1;
  const std::uint32_t warps = most_warps(lab);
  const std::vector<AccessTrial> trials = run_trials(
      lab,
      {with_bytes(atomics(lab, space, false, warps, every_sm), blocks), atomics(lab, space, true, warps, every_sm)});
  const auto operations = [&](const AccessTrial& trial) {
    std::vector<double> per_cycle;
    for (const double rate : trial.rates()) per_cycle.push_back(rate * lab.info().warp_size * blocks);
    return per_cycle;
  };
  const std::vector<double> many = operations(trials[0]);
  const stats::Interval interval = stats::mean_interval(many);
  const double median = stats::median(many);
  Attribute attribute = measured(lab, rounded(median), every_sm ? "ops/clk" : "ops/clk/SM",
                                 stats::Interval{std::min(interval.low, median), std::max(interval.high, median)},
                                 "atomics_of_all_warps");
  attribute.details.emplace_back("one_address_ops_per_clock", rounded(stats::median(operations(trials[1]))));
  attribute.details.emplace_back("latency_under_load_cycles", rounded(trials[0].cycles()));
  attribute.details.emplace_back("sms", static_cast<std::int64_t>(blocks));
  attribute.details.emplace_back("warps_per_sm", static_cast<std::int64_t>(warps));
  return attribute;
}

}  // namespace gputopo::probe
