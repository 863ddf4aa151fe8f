// Latency against warps in flight. Every warp has one load under way; by Little's law the loads under way are the
// throughput times the latency, so latency stays as it is until the throughput is reached, and grows in proportion from
// there on. The knee is where the two meet.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/access.h"
#include "probe/access_trial.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kWarpsInFlight[] = {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32};
// The most warps must take this much longer than one, or the throughput was not reached.
constexpr double kSaturated = 1.1;
// Each lane of a load from L2 or memory asks for a sector of its own, so that few warps reach the throughput.
constexpr std::uint32_t kSectorBytes = 32;
constexpr std::uint32_t kPointerBytes = 8;
// Fits the smallest L1 that any GPU had, and the smallest L2 where the vendor's interface does not tell its size.
constexpr std::uint64_t kSmallL1Bytes = 1 << 10;
constexpr std::uint64_t kSmallL2Bytes = 64 << 10;
// A working set in L2 takes this part of it at most: clear of its edge.
constexpr std::uint64_t kL2Parts = 4;
// From memory no address is loaded twice, so what a launch touches grows with this.
constexpr std::uint32_t kMemoryAccesses = 48;
// Beyond what is touched, in sizes of the last cache: what was written last may still be there.
constexpr std::uint64_t kBeyond = 2;

std::uint32_t lane_bytes(LoadedLevel level) {
  if (level == LoadedLevel::kShared) return kWordBytes;
  return level == LoadedLevel::kL1 ? kPointerBytes : kSectorBytes;
}

AccessProgram program_of(Lab& lab, LoadedLevel level, std::uint32_t warps) {
  AccessProgram program{.warps = warps, .warm_accesses = kWarmAccesses, .accesses = kTimedAccesses};
  const bool on_chip = level == LoadedLevel::kL1 || level == LoadedLevel::kShared;
  program.space = level == LoadedLevel::kL1       ? Space::kGlobal
                  : level == LoadedLevel::kShared ? Space::kShared
                                                  : Space::kGlobalBypassL1;
  program.lane_stride_bytes = lane_bytes(level);
  program.warp_stride_bytes = lab.info().warp_size * program.lane_stride_bytes;
  program.every_sm = !on_chip;
  const std::uint64_t all = std::uint64_t{program.warp_stride_bytes} * warps * (on_chip ? 1 : lab.info().sm_count);
  // Warps that come round to one another's words in a small working set hit there as well.
  const std::uint64_t l2_part = lab.info().l2_bytes.value_or(0) / kL2Parts;
  const std::uint64_t most = level == LoadedLevel::kL1   ? kSmallL1Bytes
                             : level == LoadedLevel::kL2 ? std::max(l2_part, kSmallL2Bytes)
                                                         : all;
  program.bytes = std::min(all, most / program.warp_stride_bytes * program.warp_stride_bytes);
  if (level == LoadedLevel::kL2 && program.bytes >= all) {
    // A warp's next load is from another place, of a few that it comes round to again: some lie over the slices of L2
    // less evenly than others.
    constexpr std::uint64_t kPlaces = 16;
    static_assert(kPlaces < kWarmAccesses);
    program.bytes = std::min(most / all, kPlaces) * all;
    program.hop_bytes = all % program.bytes;
  }
  if (level == LoadedLevel::kDevice) {
    program.warm_accesses = kAccessUnroll;
    program.accesses = kMemoryAccesses;
    program.hop_bytes = all;
    program.bytes = all * (program.warm_accesses + program.accesses) + kBeyond * lab.last_cache_bytes();
    if (program.bytes > lab.info().max_array_bytes) {
      throw NotSupportedError(fmt::format("loads of all SMs that find nothing in L2 need {} bytes; there are {} free",
                                          program.bytes, lab.info().max_array_bytes));
    }
    program.bytes -= program.bytes % kPointerBytes;
  }
  return program;
}

}  // namespace

Attribute measure_loaded_latency(Lab& lab, LoadedLevel level) {
  std::vector<AccessProgram> programs;
  for (const std::uint32_t warps : kWarpsInFlight) {
    if (warps <= most_warps(lab)) programs.push_back(program_of(lab, level, warps));
  }
  const std::vector<AccessTrial> trials = run_trials(lab, programs);
  // Two tables, because they are two curves.
  const Column in_flight = axis("warps_in_flight", "in flight", "warps");
  SampleTable latency = make_table("latency", Plot::kLine, {in_flight, values("latency_cycles", "latency", "cycles")});
  SampleTable throughput =
      make_table("throughput", Plot::kLine, {in_flight, values("loads_per_cycle", "loads per cycle")});
  latency.marks = {"unloaded_cycles", "knee_warps"};
  throughput.marks = {"knee_warps"};
  double peak = 0;
  for (const AccessTrial& trial : trials) {
    for (SampleTable* table : {&latency, &throughput}) table->data[0].push_back(trial.program.warps);
    latency.data[1].push_back(trial.cycles());
    throughput.data[1].push_back(trial.rate());
    peak = std::max(peak, trial.rate());
  }
  const AccessTrial& most = trials.back();
  const double alone = trials.front().cycles();
  const std::uint32_t load_bytes = lab.info().warp_size * lane_bytes(level);
  Attribute attribute = measured(lab.conditions(), rounded(most.cycles()), "cycles", most.interval(), "littles_law");
  attribute.add_detail("warps_in_flight", static_cast<std::int64_t>(most.program.warps));
  attribute.add_detail("unloaded_cycles", rounded(alone));
  attribute.add_detail("bytes_per_load", static_cast<std::int64_t>(load_bytes));
  attribute.add_detail("peak_bytes_per_cycle", rounded(peak * load_bytes));
  if (most.cycles() >= kSaturated * alone) {
    const double knee = peak * alone;
    lab.log(fmt::format("loaded latency: {:.0f} cycles alone, {:.3f} loads per cycle, knee at {:.1f} warps", alone,
                        peak, knee));
    attribute.add_detail("knee_warps", rounded(knee));
    attribute.add_detail("knee_bytes_in_flight", std::round(knee * load_bytes));
  } else {
    attribute.add_detail("knee_at_least_warps", static_cast<std::int64_t>(most.program.warps));
  }
  if (lab.keep_samples()) attribute.samples = {std::move(latency), std::move(throughput)};
  return attribute;
}

}  // namespace gputopo::probe
