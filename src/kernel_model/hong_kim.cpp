#include "kernel_model/hong_kim.h"

#include <algorithm>
#include <limits>
#include <map>

namespace gputopo::kernel_model {
namespace {

// Equations 10 to 15, with levels in place of coalesced and uncoalesced accesses. Returns the number of periods.
double sum_up(const std::vector<MemoryPeriods>& memory, HongKim& result) {
  double count = 0;
  std::map<std::string, double> departures;  // total of all periods, by level
  for (const MemoryPeriods& periods : memory) {
    count += periods.count;
    result.mem_cycles += periods.count * periods.cycles();
    departures[periods.level] += periods.count * periods.transactions * periods.departure_cycles;
  }
  for (const auto& [level, departure] : departures) {
    if (departure / count <= result.departure_delay) continue;
    result.departure_delay = departure / count;
    result.delay_level = level;
  }
  if (count > 0) result.mem_l = result.mem_cycles / count;
  return count;
}

// Equations 6 and 7, for the level with the lowest MWP.
void bound_by_bandwidth(const HongKimInput& input, double count, HongKim& result) {
  result.mwp_peak_bandwidth = std::numeric_limits<double>::infinity();
  for (const LevelTraffic& traffic : input.traffic) {
    if (traffic.bytes <= 0) continue;
    const double bandwidth_per_warp = input.clock_hz * (traffic.bytes / count) / result.mem_l;
    const double mwp = traffic.bytes_per_second / (bandwidth_per_warp * input.active_sms);
    if (mwp >= result.mwp_peak_bandwidth) continue;
    result.mwp_peak_bandwidth = mwp;
    result.mwp_level = traffic.level;
  }
}

}  // namespace

std::string_view to_string(Case which) {
  constexpr std::string_view kNames[] = {"few_warps", "memory", "compute"};
  return kNames[static_cast<std::size_t>(which)];
}

double computation_cycles(const std::vector<Work>& work, double ilp, double warps) {
  double cycles = 0;
  for (const Work& kind : work) {
    cycles += kind.count * std::max(kind.issue_cycles, kind.latency_cycles / (ilp * warps));
  }
  return cycles;
}

HongKim hong_kim(const HongKimInput& input) {
  HongKim result;
  result.warps = input.warps_per_block * input.blocks_per_sm;
  result.repetitions = std::max(1.0, input.grid_blocks / (input.blocks_per_sm * input.active_sms));
  result.comp_cycles = input.comp_cycles;
  const double periods = sum_up(input.memory, result);
  if (result.mem_cycles <= 0) {
    result.cwp_full = result.cwp = 1;
    result.cycles = result.computing_cycles();
    return result;
  }
  const double n = result.warps;
  result.mwp_without_bandwidth =
      result.departure_delay > 0 ? result.mem_l / result.departure_delay : std::numeric_limits<double>::infinity();
  bound_by_bandwidth(input, periods, result);
  result.mwp = std::min({result.mwp_without_bandwidth, result.mwp_peak_bandwidth, n});
  const double comp = result.comp_cycles;
  result.cwp_full = comp > 0 ? (result.mem_cycles + comp) / comp : std::numeric_limits<double>::infinity();
  result.cwp = std::min(result.cwp_full, n);

  const double comp_period = comp / periods;
  double cycles = 0;
  if (result.mwp == n && result.cwp == n) {
    result.which = Case::kFewWarps;
    cycles = result.mem_cycles + comp + comp_period * (result.mwp - 1);
  } else if (result.cwp >= result.mwp) {
    result.which = Case::kMemory;
    // MWP below 1: the warp's own transactions queue up, and no computation overlaps them.
    cycles = result.mem_cycles * n / result.mwp + comp_period * std::max(0.0, result.mwp - 1);
  } else {
    result.which = Case::kCompute;
    cycles = result.mem_l + comp * n;
  }
  result.barrier_cycles = result.departure_delay * std::max(0.0, result.mwp - 1) * input.barriers *
                          input.blocks_per_sm * result.repetitions;
  result.cycles = cycles * result.repetitions + result.barrier_cycles;
  return result;
}

}  // namespace gputopo::kernel_model
