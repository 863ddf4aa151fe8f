// Atomic additions of whole warps: how long one takes, and how many there are per cycle.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "probe/access.h"
#include "probe/access_trial.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

// Enough to keep the units busy, few enough that all lanes of a large GPU on one address end in time.
constexpr std::uint32_t kThroughputAccesses = 64;

std::uint32_t warp_bytes(const Lab& lab) { return lab.info().warp_size * kWordBytes; }

// Each warp adds to as many words in a row as it has lanes, `warp_stride_bytes` from those of the next warp; 0: all
// lanes to one word.
AccessProgram atomics(Space space, std::uint32_t warp_stride_bytes, std::uint32_t warps, std::uint32_t blocks) {
  AccessProgram program{.op = AccessOp::kAtomicAdd,
                        .space = space,
                        .bytes = kWordBytes,
                        .warps = warps,
                        .every_sm = blocks > 1,
                        .warm_accesses = kAccessUnroll,
                        .accesses = warps == 1 ? kTimedAccesses : kThroughputAccesses};
  if (warp_stride_bytes == 0) return program;
  program.bytes = std::uint64_t{warp_stride_bytes} * warps * blocks;
  program.lane_stride_bytes = kWordBytes;
  program.warp_stride_bytes = warp_stride_bytes;
  return program;
}

// Blocks that load what all SMs share, and what one SM has.
std::uint32_t blocks_for(const Lab& lab, Space space) { return space == Space::kShared ? 1 : lab.info().sm_count; }

// Odd multiples of the warp's bytes: each puts the SMs' words into other slices of L2.
constexpr std::array<std::uint32_t, 8> kPlacements = {33, 37, 41, 43, 47, 53, 59, 61};

}  // namespace

Attribute measure_atomic_latency(Lab& lab, Space space) {
  // One warp on each SM: L2 is nearer to some than to others, and so are its slices.
  const std::uint32_t blocks = blocks_for(lab, space);
  std::vector<AccessProgram> programs = {atomics(space, 0, 1, 1)};
  if (blocks == 1) programs.push_back(atomics(space, warp_bytes(lab), 1, 1));
  for (std::size_t i = 0; blocks > 1 && i < kPlacements.size(); ++i) {
    programs.push_back(atomics(space, kPlacements[i] * warp_bytes(lab), 1, blocks));
  }
  const std::vector<AccessTrial> trials = run_trials(lab, programs);
  const std::span placements = std::span(trials).subspan(1);
  std::vector<double> cycles;
  double nearest = std::numeric_limits<double>::infinity();
  double farthest = 0;
  for (const AccessTrial& trial : placements) {
    cycles.push_back(trial.cycles());
    nearest = std::min(nearest, trial.copies.front().least_cycles);
    farthest = std::max(farthest, trial.copies.front().most_cycles);
  }
  const double mean = stats::mean(cycles);
  // Of the mean over placements, where there are several, but no narrower than that of one of them.
  stats::Interval interval = placements.front().interval();
  const double margin = (interval.high - interval.low) / 2;
  if (placements.size() > 1) interval = stats::mean_interval(cycles);
  interval = {std::min(interval.low, mean - margin), std::max(interval.high, mean + margin)};
  Attribute attribute = measured(lab.conditions(), rounded(mean), "cycles", interval, "dependent_atomics_of_a_warp");
  if (blocks > 1) {
    attribute.add_detail("nearest_sm_cycles", rounded(nearest));
    attribute.add_detail("farthest_sm_cycles", rounded(farthest));
  }
  attribute.add_detail("one_address_cycles", rounded(trials.front().cycles()));
  return attribute;
}

Attribute measure_atomic_throughput(Lab& lab, Space space) {
  const std::uint32_t blocks = blocks_for(lab, space);
  const std::uint32_t warps = most_warps(lab);
  std::vector<AccessProgram> programs;
  // In L2 the words of a warp beside those of the next, and further and further from them: how evenly they then lie
  // over the slices is chance.
  constexpr std::array<std::uint32_t, 7> kSpreads = {1, 3, 5, 7, 9, 11, 13};
  for (std::size_t i = 0; i < (blocks > 1 ? kSpreads.size() : 1); ++i) {
    programs.push_back(atomics(space, kSpreads[i] * warp_bytes(lab), warps, blocks));
  }
  programs.push_back(atomics(space, 0, warps, blocks));
  const std::vector<AccessTrial> trials = run_trials(lab, programs);
  const AccessTrial& in_a_row = trials.front();
  const AccessTrial& one_address = trials.back();
  std::vector<double> rates = in_a_row.rates();
  if (blocks > 1) {
    rates.clear();
    for (const AccessTrial& trial : std::span(trials).subspan(1).first(kSpreads.size() - 1)) {
      rates.push_back(trial.rate());
    }
  }
  const double lanes = static_cast<double>(lab.info().warp_size) * blocks;
  std::vector<double> many;
  for (const double rate : rates) many.push_back(rate * lanes);
  const double median = stats::median(many);
  Attribute attribute =
      measured(lab.conditions(), rounded(median), blocks > 1 ? "ops/clk" : "ops/clk/" + lab.unit_name(),
               interval_around(many, median), "atomics_of_all_warps");
  if (blocks > 1) attribute.add_detail("words_in_a_row_ops_per_clock", rounded(in_a_row.rate() * lanes));
  attribute.add_detail("one_address_ops_per_clock", rounded(one_address.rate() * lanes));
  attribute.add_detail("latency_under_load_cycles", rounded(in_a_row.cycles()));
  attribute.add_detail("sms", static_cast<std::int64_t>(blocks));
  attribute.add_detail("warps_per_sm", static_cast<std::int64_t>(warps));
  return attribute;
}

}  // namespace gputopo::probe
