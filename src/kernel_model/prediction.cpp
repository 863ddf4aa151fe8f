#include "kernel_model/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gputopo/error.h"
#include "kernel_model/demand.h"
#include "kernel_model/figures.h"
#include "report/words/device_facts.h"
#include "report/words/values.h"

namespace gputopo::kernel_model {
namespace {

double parts_of(double whole, double part) { return std::ceil(whole / part); }

// A grid with fewer blocks than the SMs have room for spreads over as many SMs as possible.
Placement place(const Gpu& gpu, const Kernel& kernel, Prediction& prediction) {
  const auto blocks = static_cast<double>(kernel.grid_blocks);
  prediction.active_sms = std::min(gpu.sms, blocks);
  prediction.blocks_per_sm = std::min(static_cast<double>(prediction.occupancy.blocks), parts_of(blocks, gpu.sms));
  const auto warps = static_cast<double>(prediction.occupancy.warps_per_block);
  return {prediction.active_sms, kernel.block_threads / warps, blocks * warps};
}

HongKimInput input_of(Figures& figures, const Gpu& gpu, const Kernel& kernel, const Placement& placement,
                      const Prediction& prediction) {
  HongKimInput input;
  input.memory = periods_of(figures, gpu, kernel, placement);
  input.traffic = traffic_of(figures, gpu, kernel, placement);
  for (LevelTraffic& traffic : input.traffic) {
    // Idle SMs do not contribute their own levels' bandwidth.
    const ElementInfo* level = find_element(traffic.level);
    if (level != nullptr && level->scope == Scope::kSm) traffic.bytes_per_second *= placement.active_sms / gpu.sms;
  }
  input.barriers = kernel.barriers;
  input.warps_per_block = static_cast<double>(prediction.occupancy.warps_per_block);
  input.blocks_per_sm = prediction.blocks_per_sm;
  input.active_sms = placement.active_sms;
  input.grid_blocks = static_cast<double>(kernel.grid_blocks);
  input.clock_hz = gpu.clock_hz;
  input.comp_cycles =
      computation_cycles(work_of(figures, gpu, kernel), kernel.ilp, input.warps_per_block * input.blocks_per_sm);
  return input;
}

std::vector<Ceiling> ceilings_of(Figures& figures, const Gpu& gpu, const Kernel& kernel, const Placement& placement) {
  std::vector<Ceiling> ceilings = peaks_of(figures, gpu, kernel, placement);
  for (const LevelTraffic& traffic : traffic_of(figures, gpu, kernel, placement)) {
    ceilings.push_back({traffic.level, "B", traffic.bytes * placement.warps, traffic.bytes_per_second});
  }
  return roofline(std::move(ceilings));
}

// Names what limits the memory side.
std::string memory_bound(const HongKim& model) {
  if (model.mwp == model.warps) return "memory latency (too few warps)";
  // If the bandwidth's MWP is at most 2% above that of the departure delay, the bandwidth is the limit.
  constexpr double kAlike = 1.02;
  if (model.mwp_peak_bandwidth <= model.mwp_without_bandwidth * kAlike) return "bandwidth of " + model.mwp_level;
  return "departure delay of " + model.delay_level;
}

std::vector<Bound> bounds_of(const Prediction& prediction, double issue_cycles) {
  const HongKim& model = prediction.model;
  std::vector<Bound> bounds;
  if (model.mem_cycles > 0) bounds.push_back({memory_bound(model), model.memory_cycles() / prediction.clock_hz});
  if (model.comp_cycles > 0) {
    constexpr double kAlike = 1.0001;
    const bool is_issue = model.comp_cycles <= issue_cycles * kAlike;
    bounds.push_back({is_issue ? "instruction issue" : "instruction latency (too few warps, or too little ILP)",
                      model.computing_cycles() / prediction.clock_hz});
  }
  for (const Ceiling& ceiling : prediction.ceilings) {
    const std::string name = (ceiling.is_memory() ? "bandwidth of " : "peak of ") + ceiling.name;
    if (std::ranges::find(bounds, name, &Bound::name) == bounds.end()) bounds.push_back({name, ceiling.seconds()});
  }
  std::ranges::stable_sort(bounds, std::ranges::greater{}, &Bound::seconds);
  return bounds;
}

std::vector<std::string> notes_of(const Topology& topology, const Figures& figures, const Prediction& prediction) {
  std::vector<std::string> notes = report::notices(topology);
  for (const std::string& doubt : figures.doubts()) notes.push_back("the report flags " + doubt);
  const double waves = prediction.model.repetitions;
  constexpr double kManyWaves = 8;
  if (waves > 1 && waves < kManyWaves && waves != std::floor(waves)) {
    notes.push_back(fmt::format("{:.1f} waves of blocks: the last may take as long as a full one", waves));
  }
  return notes;
}

}  // namespace

Prediction predict(const Topology& topology, const Kernel& kernel) {
  Figures figures(topology);
  const Gpu gpu = gpu_of(figures, topology);
  const SmLimits limits = sm_limits(figures, kernel);
  Prediction result;
  result.kernel = kernel.name;
  result.gpu = report::device_title(topology);
  result.grid_blocks = kernel.grid_blocks;
  result.block_threads = kernel.block_threads;
  result.clock_hz = gpu.clock_hz;
  result.max_warps = static_cast<double>(limits.warps);
  result.occupancy =
      occupancy(limits, {kernel.block_threads, kernel.registers_per_thread.value_or(0), kernel.shared_bytes_per_block});
  // A missing limit still counts as 1 here. The fit is therefore judged only after require_all().
  const bool fits = result.occupancy.blocks > 0;
  if (!fits) result.occupancy.blocks = 1;
  result.occupancy.warps_per_block = std::max<std::uint64_t>(result.occupancy.warps_per_block, 1);
  const Placement placement = place(gpu, kernel, result);
  const HongKimInput input = input_of(figures, gpu, kernel, placement, result);
  result.ceilings = ceilings_of(figures, gpu, kernel, placement);
  double issue_cycles = 0;
  for (const Work& work : work_of(figures, gpu, kernel)) issue_cycles += work.count * work.issue_cycles;
  figures.require_all();
  if (!fits) {
    throw FormatError(fmt::format("a block of the kernel does not fit on an SM of this GPU: it exceeds the limit on {}",
                                  to_string(result.occupancy.limit)));
  }
  result.model = hong_kim(input);
  result.bounds = bounds_of(result, issue_cycles);
  if (result.bounds.empty())
    throw FormatError("the kernel has no instructions, loads or stores: add 'instructions' or 'memory'");
  result.seconds = std::max(result.model.cycles / gpu.clock_hz, result.bounds.front().seconds);
  result.notes = notes_of(topology, figures, result);
  return result;
}

}  // namespace gputopo::kernel_model
