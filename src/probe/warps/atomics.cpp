#include "probe/warps/atomics.h"

#include <algorithm>
#include <array>
#include <span>

#include "probe/bench/access_trial.h"
#include "probe/survey/site.h"
#include "probe/warps/atomics_decision.h"

namespace gputopo::probe {
namespace {

struct AtomicsParameters {
  // Atomics of each warp of a full SM: enough to keep the units busy, but few enough that a launch ends in time if all
  // lanes of a large GPU add to one address.
  std::uint32_t throughput_accesses = 64;
  // The same if all lanes add to one word, which serializes them.
  std::uint32_t one_word_accesses = 16;
  // Odd multiples of a warp's bytes: each puts the SMs' words into other slices of L2. More of them steady the mean.
  std::array<std::uint32_t, 8> latency_placements = {33, 37, 41, 43, 47, 53, 59, 61};
  // Distances between the words of neighboring warps: adjacent, then farther and farther apart. How evenly the words
  // spread over the slices is chance.
  std::array<std::uint32_t, 7> throughput_spreads = {1, 3, 5, 7, 9, 11, 13};
};
constexpr AtomicsParameters kAtomicsParameters;

std::uint32_t warp_bytes(const ProbeRunner& runner) { return runner.info().warp_size * kWordBytes; }

// Each warp adds to as many consecutive words as it has lanes, `warp_stride_bytes` from those of the next warp. 0: all
// lanes add to one word.
AccessProgram atomics(Space space, std::uint32_t warp_stride_bytes, std::uint32_t warps, std::uint32_t blocks) {
  AccessProgram program{.op = AccessOp::kAtomicAdd,
                        .space = space,
                        .bytes = kWordBytes,
                        .warps = warps,
                        .every_sm = blocks > 1,
                        .warm_accesses = kAccessUnroll,
                        .accesses = warps == 1 ? kAccessTrial.timed_accesses : kAtomicsParameters.throughput_accesses};
  if (warp_stride_bytes == 0) return program;
  program.bytes = std::uint64_t{warp_stride_bytes} * warps * blocks;
  program.lane_stride_bytes = kWordBytes;
  program.warp_stride_bytes = warp_stride_bytes;
  return program;
}

// All SMs together load L2; one block loads the shared memory of its SM.
std::uint32_t blocks_for(const ProbeRunner& runner, Space space) {
  return space == Space::kShared ? 1 : runner.info().sm_count;
}

AtomicReading reading_of(const AccessTrial& trial) {
  return {.cycles = trial.cycles(),
          .interval = trial.interval(),
          .least_cycles = trial.copies.front().least_cycles,
          .most_cycles = trial.copies.front().most_cycles};
}

}  // namespace

Attribute measure_atomic_latency(ProbeRunner& runner, Space space) {
  // One warp on each SM, because the distances to L2 and its slices differ between SMs.
  const std::uint32_t blocks = blocks_for(runner, space);
  std::vector<AccessProgram> programs = {atomics(space, 0, 1, 1)};
  if (blocks == 1) {
    programs.push_back(atomics(space, warp_bytes(runner), 1, 1));
  } else {
    for (const std::uint32_t placement : kAtomicsParameters.latency_placements) {
      programs.push_back(atomics(space, placement * warp_bytes(runner), 1, blocks));
    }
  }
  const std::vector<AccessTrial> trials = run_trials(runner, programs);
  std::vector<AtomicReading> placements;
  for (const AccessTrial& trial : std::span(trials).subspan(1)) placements.push_back(reading_of(trial));
  const AtomicLatency latency = atomic_latency_of(placements);
  Attribute attribute =
      measured(runner.conditions(), rounded(latency.cycles), "cycles", latency.interval, "dependent_atomics_of_a_warp");
  if (blocks > 1) {
    attribute.add_detail("nearest_sm_cycles", rounded(latency.nearest_cycles));
    attribute.add_detail("farthest_sm_cycles", rounded(latency.farthest_cycles));
  }
  attribute.add_detail("one_address_cycles", rounded(trials.front().cycles()));
  return attribute;
}

Attribute measure_atomic_throughput(ProbeRunner& runner, Space space) {
  const std::uint32_t blocks = blocks_for(runner, space);
  const std::uint32_t warps = max_warps(runner);
  std::vector<AccessProgram> programs;
  const auto spreads = std::span(kAtomicsParameters.throughput_spreads)
                           .first(blocks > 1 ? kAtomicsParameters.throughput_spreads.size() : 1);
  for (const std::uint32_t spread : spreads) {
    programs.push_back(atomics(space, spread * warp_bytes(runner), warps, blocks));
  }
  programs.push_back(atomics(space, 0, warps, blocks));
  programs.back().accesses = kAtomicsParameters.one_word_accesses;
  const std::vector<AccessTrial> trials = run_trials(runner, programs);
  const AccessTrial& in_a_row = trials.front();
  const AccessTrial& one_address = trials.back();
  // Shared memory has the rates of the copies; L2 has those of the placements, except the one with neighboring warps.
  std::vector<double> rates = in_a_row.rates();
  if (blocks > 1) {
    rates.clear();
    for (std::size_t i = 1; i < spreads.size(); ++i) rates.push_back(trials[i].rate());
  }
  const double lanes = static_cast<double>(runner.info().warp_size) * blocks;
  const AtomicThroughput throughput = atomic_throughput_of(rates, lanes);
  Attribute attribute =
      measured(runner.conditions(), rounded(throughput.ops_per_clock),
               blocks > 1 ? "ops/clk" : "ops/clk/" + runner.unit_name(), throughput.interval, "atomics_of_all_warps");
  if (blocks > 1) attribute.add_detail("words_in_a_row_ops_per_clock", rounded(in_a_row.rate() * lanes));
  attribute.add_detail("one_address_ops_per_clock", rounded(one_address.rate() * lanes));
  attribute.add_detail("latency_under_load_cycles", rounded(in_a_row.cycles()));
  attribute.add_detail("sms", static_cast<std::int64_t>(blocks));
  attribute.add_detail("warps_per_sm", static_cast<std::int64_t>(warps));
  return attribute;
}

}  // namespace gputopo::probe
