#include "probe/warps/loaded_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "probe/bench/access_trial.h"
#include "probe/bench/value_or_throw.h"
#include "probe/survey/site.h"
#include "probe/warps/loaded_latency_decision.h"

namespace gputopo::probe {
namespace {

struct LoadedLatencyParameters {
  // Numbers of warps to measure. More of them show the knee more closely in the plot but do not change its value.
  std::array<std::uint32_t, 13> warps_in_flight = {1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32};
  // Each lane of a load from L2 or memory requests its own sector, so that few warps reach the throughput.
  std::uint32_t sector_bytes = 32;
  // Fit the smallest L1 of any GPU, and the smallest L2 if the vendor's interface does not report its size.
  std::uint64_t small_l1_bytes = 1 << 10;
  std::uint64_t small_l2_bytes = 64 << 10;
  // Divisor of L2: a working set takes at most this part of it, clear of its edge.
  std::uint64_t l2_parts = 4;
  // Places in L2 that a warp's loads take in turn, because some places spread over the slices less evenly than others.
  std::uint64_t l2_places = 16;
  // Timed loads from memory. They load no address twice, so a launch touches more memory with larger values.
  std::uint32_t memory_accesses = 48;
  // Footprint beyond what is touched, in sizes of the last cache: what was written last may still be there.
  std::uint64_t beyond_caches = 2;
};
constexpr LoadedLatencyParameters kLoadedLatencyParameters;
static_assert(kLoadedLatencyParameters.l2_places <
              kAccessTrial.warm_accesses);  // all places are in L2 before the timed loads

constexpr std::uint32_t kPointerBytes = 8;

std::uint32_t lane_bytes(LoadedLevel level) {
  if (level == LoadedLevel::kShared) return kWordBytes;
  return level == LoadedLevel::kL1 ? kPointerBytes : kLoadedLatencyParameters.sector_bytes;
}

AccessProgram program_of(ProbeRunner& runner, LoadedLevel level, std::uint32_t warps) {
  AccessProgram program{
      .warps = warps, .warm_accesses = kAccessTrial.warm_accesses, .accesses = kAccessTrial.timed_accesses};
  const bool on_chip = level == LoadedLevel::kL1 || level == LoadedLevel::kShared;
  program.space = level == LoadedLevel::kL1       ? Space::kGlobal
                  : level == LoadedLevel::kShared ? Space::kShared
                                                  : Space::kGlobalBypassL1;
  program.lane_stride_bytes = lane_bytes(level);
  program.warp_stride_bytes = runner.info().warp_size * program.lane_stride_bytes;
  program.every_sm = !on_chip;
  const std::uint64_t all = std::uint64_t{program.warp_stride_bytes} * warps * (on_chip ? 1 : runner.info().sm_count);
  // In a small working set warps return to the words of other warps, which also hit.
  const std::uint64_t l2_part = runner.info().l2_bytes.value_or(0) / kLoadedLatencyParameters.l2_parts;
  const std::uint64_t most = level == LoadedLevel::kL1   ? kLoadedLatencyParameters.small_l1_bytes
                             : level == LoadedLevel::kL2 ? std::max(l2_part, kLoadedLatencyParameters.small_l2_bytes)
                                                         : all;
  program.bytes = std::min(all, most / program.warp_stride_bytes * program.warp_stride_bytes);
  if (level == LoadedLevel::kL2 && program.bytes >= all) {
    program.bytes = std::min(most / all, kLoadedLatencyParameters.l2_places) * all;
    program.hop_bytes = all % program.bytes;
  }
  if (level == LoadedLevel::kDevice) {
    program.warm_accesses = kAccessUnroll;
    program.accesses = kLoadedLatencyParameters.memory_accesses;
    program.hop_bytes = all;
    program.bytes = all * (program.warm_accesses + program.accesses) +
                    kLoadedLatencyParameters.beyond_caches * runner.last_cache_bytes();
    if (program.bytes > runner.info().max_array_bytes) {
      throw NotSupportedError(
          fmt::format("to miss L2, the loads of all SMs need {} bytes of device memory, but only {} bytes are free",
                      program.bytes, runner.info().max_array_bytes));
    }
    program.bytes -= program.bytes % kPointerBytes;
  }
  return program;
}

std::vector<LoadedReading> readings_of(const std::vector<AccessTrial>& trials) {
  std::vector<LoadedReading> readings;
  for (const AccessTrial& trial : trials) {
    readings.push_back(
        {.warps = static_cast<double>(trial.program.warps), .cycles = trial.cycles(), .loads_per_cycle = trial.rate()});
  }
  return readings;
}

// Two tables, because they are two curves.
std::vector<SampleTable> tables_of(const std::vector<LoadedReading>& readings) {
  const Column in_flight = axis("warps_in_flight", "warps in flight", "warps");
  SampleTable latency = make_table("latency", Plot::kLine, {in_flight, values("latency_cycles", "latency", "cycles")});
  SampleTable throughput =
      make_table("throughput", Plot::kLine, {in_flight, values("loads_per_cycle", "loads per cycle")});
  latency.marks = {"unloaded_cycles", "knee_warps", "knee_at_least_warps"};
  throughput.marks = {"knee_warps", "knee_at_least_warps"};
  for (const LoadedReading& reading : readings) {
    latency.data[0].push_back(reading.warps);
    latency.data[1].push_back(reading.cycles);
    throughput.data[0].push_back(reading.warps);
    throughput.data[1].push_back(reading.loads_per_cycle);
  }
  return {std::move(latency), std::move(throughput)};
}

}  // namespace

Attribute measure_loaded_latency(ProbeRunner& runner, LoadedLevel level) {
  std::vector<AccessProgram> programs;
  for (const std::uint32_t warps : kLoadedLatencyParameters.warps_in_flight) {
    if (warps <= max_warps(runner)) programs.push_back(program_of(runner, level, warps));
  }
  const std::vector<AccessTrial> trials = run_trials(runner, programs);
  const std::vector<LoadedReading> readings = readings_of(trials);
  const LoadedLatency found = value_or_throw(runner, "loaded latency", decide_loaded_latency(readings));
  const auto most_warps_tried = static_cast<std::int64_t>(trials.back().program.warps);
  const std::uint32_t load_bytes = runner.info().warp_size * lane_bytes(level);
  Attribute attribute =
      measured(runner.conditions(), rounded(found.loaded_cycles), "cycles", trials.back().interval(), "littles_law");
  attribute.add_detail("warps_in_flight", most_warps_tried);
  attribute.add_detail("unloaded_cycles", rounded(found.unloaded_cycles));
  attribute.add_detail("bytes_per_load", static_cast<std::int64_t>(load_bytes));
  attribute.add_detail("peak_bytes_per_cycle", rounded(found.peak_loads_per_cycle * load_bytes));
  if (found.knee_warps) {
    attribute.add_detail("knee_warps", rounded(*found.knee_warps));
    attribute.add_detail("knee_bytes_in_flight", std::round(*found.knee_warps * load_bytes));
  } else {
    attribute.add_detail("knee_at_least_warps", most_warps_tried);
  }
  if (runner.keep_samples()) attribute.samples = tables_of(readings);
  return attribute;
}

}  // namespace gputopo::probe
