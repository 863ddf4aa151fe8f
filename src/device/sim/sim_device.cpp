#include "device/sim/sim_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "device/sim/limits.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine_check.h"
#include "device/sim/memory/noise.h"
#include "device/sim/memory/simulator.h"
#include "device/sim/memory/slices.h"
#include "device/sim/programs/access.h"
#include "device/sim/programs/bandwidth.h"
#include "device/sim/programs/cluster.h"
#include "device/sim/programs/code_simulator.h"
#include "device/sim/programs/launch.h"
#include "device/sim/programs/occupancy_simulator.h"
#include "device/sim/programs/operation.h"
#include "gputopo/program/unrolled_loads.h"

namespace gputopo::sim {
namespace {

constexpr double kDefaultClockMhz = 1000;
constexpr std::uint64_t kDefaultMaxArrayBytes = 64ull << 30;

MachineSpec with_local(MachineSpec spec) {
  if (const std::optional<SpaceSpec> local = local_space(spec)) spec.spaces[Space::kLocal] = *local;
  return spec;
}

DeviceInfo info_of(const MachineSpec& spec) {
  DeviceInfo info = spec.info;
  info.backend = "sim";
  info.simulated = true;
  info.spaces.clear();
  for (const auto& [space, unused] : spec.spaces) info.spaces.push_back(space);
  if (info.memory_bytes) info.max_array_bytes = *info.memory_bytes - *info.memory_bytes / 16;
  if (info.max_array_bytes == 0) info.max_array_bytes = kDefaultMaxArrayBytes;
  if (info.memory_bytes && !info.memory_free_bytes) info.memory_free_bytes = info.max_array_bytes;
  return info;
}

// Runs work(thread, 0) to work(thread, count - 1) on up to `threads` threads. Rethrows the first exception.
void for_each_index(std::size_t count, unsigned threads, const std::function<void(unsigned, std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto take = [&](unsigned thread) {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(thread, i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned thread = 1; thread < std::min<std::size_t>(threads, count); ++thread)
      helpers.emplace_back(take, thread);
    take(0);
  }
  if (failure) std::rethrow_exception(failure);
}

// The simulators of one host thread, which reuse state from program to program.
struct Worker {
  explicit Worker(const MachineSpec& spec) : simulator(spec), code(spec) {}

  Simulator simulator;
  CodeSimulator code;
};

// Inputs of one simulation. They depend on the program's index and never on the host thread.
struct Run {
  Noise noise;
  std::uint64_t carve_out_bytes = 0;
  std::uint64_t seed = 0;
  std::uint32_t sm = 0;  // SM of a chase; 0 for other programs
};

class SimDevice : public Device {
 public:
  SimDevice(MachineSpec spec, std::uint64_t seed, unsigned threads)
      : spec_(with_local(std::move(spec))), info_(info_of(spec_)), seed_(seed), workers_(std::max(1u, threads)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    for (const Program& program : programs) {
      validate(program);
      std::visit([this](const auto& of_kind) { limits_.check(of_kind); }, program);
    }
    std::vector<std::uint32_t> sms;
    // Consecutive programs with the same arrays stay on one thread, whose simulator runs their common start only once.
    std::vector<std::size_t> groups;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      sms.push_back(next_sm(programs[i]));
      if (i == 0 || !begin_alike(programs[i - 1], programs[i])) groups.push_back(i);
    }
    groups.push_back(programs.size());
    std::vector<ProgramResult> results(programs.size());
    for_each_index(groups.size() - 1, static_cast<unsigned>(workers_.size()), [&](unsigned thread, std::size_t g) {
      std::unique_ptr<Worker>& worker = workers_[thread];
      if (worker == nullptr) worker = std::make_unique<Worker>(spec_);
      for (std::size_t i = groups[g]; i < groups[g + 1]; ++i) {
        if (ended_ && ended_()) throw EndedError("the measurement ended before all programs had run");
        results[i] = answer(programs[i], program_index_ + i, sms[i], *worker);
      }
    });
    program_index_ += programs.size();
    return results;
  }

  void set_stop_condition(std::function<bool()> ended) override { ended_ = std::move(ended); }

  // Skips the programs that could have run meanwhile, because the neighbor's bursts are counted in programs.
  void rest(double seconds) override {
    constexpr double kProgramsPerSecond = 1000;
    program_index_ += static_cast<std::uint64_t>(std::llround(seconds * kProgramsPerSecond));
  }

 private:
  [[nodiscard]] double clock_mhz() const { return info_.sm_clock_max_mhz.value_or(kDefaultClockMhz); }

  [[nodiscard]] ProgramResult answer(const Program& program, std::uint64_t index, std::uint32_t sm,
                                     Worker& worker) const {
    ProgramResult result{.sm_clock_mhz = clock_mhz()};
    std::visit(
        [&](const auto& of_kind) {
          result.shared_carve_out_bytes = limits_.carve_out_for(of_kind);
          Run run{Noise(spec_.noise, seed_, index, spec_.neighbour), result.shared_carve_out_bytes,
                  derive_seed(seed_, ~index), sm};
          result.data = simulate(of_kind, run, worker);
          mark_contention(of_kind, run.noise, result);
        },
        program);
    return result;
  }

  // Marks disturbed programs if the device notices them. Turns change the caches between streams, so all streams count.
  template <typename Kind>
  void mark_contention(const Kind&, const Noise& noise, ProgramResult& result) const {
    const bool stopped = noise.was_stopped() || (std::is_same_v<Kind, StreamProgram> && noise.takes_turns());
    if (!stopped || !spec_.neighbour->noticed) return;
    result.had_contention = true;
    result.undisturbed = false;
  }

  [[nodiscard]] ChaseResult simulate(const ChaseProgram& program, Run& run, Worker& worker) const {
    const Behaviour& behaviour = worker.simulator.run(program, run.carve_out_bytes, run.seed, run.noise);
    ChaseResult result{.sm = run.sm};
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      result.steps.push_back(step_result(program.steps[i].kind, behaviour[i], run.noise));
      add_slices(program, program.steps[i], result.steps.back());
    }
    return result;
  }

  [[nodiscard]] StreamResult simulate(const StreamProgram& program, Run& run, Worker&) const {
    StreamResult result = simulate_stream(spec_, program, run.carve_out_bytes);
    result.seconds /= run.noise.bandwidth_factor();
    if (run.noise.takes_turns()) result.seconds /= spec_.neighbour->bandwidth_share;
    result.cycles = result.seconds * clock_mhz() * 1e6;
    return result;
  }

  [[nodiscard]] InstructionResult simulate(const InstructionProgram& program, Run& run, Worker& worker) const {
    InstructionResult result = worker.code.run(program, run.carve_out_bytes, run.seed, run.noise);
    if (!run.noise.takes_turns()) return result;
    for (std::vector<std::uint64_t>& step : result.pass_cycles) {
      for (std::uint64_t& pass : step) {
        pass += static_cast<std::uint64_t>(run.noise.other_turn(static_cast<double>(pass)));
      }
    }
    return result;
  }

  [[nodiscard]] AccessResult simulate(const AccessProgram& program, Run& run, Worker&) const {
    AccessResult result = simulate_access(spec_, program, run.carve_out_bytes, clock_mhz(), run.noise);
    if (!run.noise.takes_turns()) return result;
    const double stopped = run.noise.other_turn(result.total_cycles);
    result.total_cycles += stopped;
    result.most_cycles += stopped / static_cast<double>(program.accesses);
    result.mean_cycles += stopped / static_cast<double>(program.accesses);
    return result;
  }

  [[nodiscard]] ClusterResult simulate(const ClusterProgram& program, Run& run, Worker&) const {
    return simulate_cluster(spec_, program, run.carve_out_bytes, clock_mhz(), run.seed, run.noise);
  }

  [[nodiscard]] OperationResult simulate(const OperationProgram& program, Run& run, Worker&) const {
    require_cluster(spec_, program.cluster_size);
    OperationResult result = simulate_operation(*spec_.compute, info_, program, run.noise);
    if (!run.noise.takes_turns()) return result;
    for (double& cycles : result.cycles) cycles += run.noise.other_turn(cycles);
    return result;
  }

  [[nodiscard]] OccupancyResult simulate(const OccupancyProgram& program, Run& run, Worker&) const {
    return simulate_occupancy(spec_, info_, program, run.carve_out_bytes);
  }

  [[nodiscard]] LaunchResult simulate(const LaunchProgram& program, Run& run, Worker&) const {
    return simulate_launch(spec_, program, run.noise);
  }

  void add_slices(const ChaseProgram& program, const ChaseStep& step, StepResult& result) const {
    const bool named = program.sm || program.actors[step.actor].sm;
    if (!spec_.slices || !named || result.latencies.empty()) return;
    if (program.arrays[step.array].space != Space::kGlobalBypassL1) return;
    const std::vector<double> cycles = slice_cycles(spec_, program, step, result.latencies.size());
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      result.latencies[i] = static_cast<std::uint32_t>(std::max(1.0, std::round(result.latencies[i] + cycles[i])));
    }
  }

  [[nodiscard]] StepResult step_result(StepKind kind, const StepBehaviour& behaviour, Noise& noise) const {
    const bool is_chain = kind == StepKind::kWarm;
    const std::uint64_t passes = is_chain ? passes_of(behaviour.loads) : behaviour.loads;
    const double loop_cycles = static_cast<double>(passes) * spec_.loop_cycles;
    switch (kind) {
      case StepKind::kWarm:
      case StepKind::kStore: {
        const double cycles = std::max(0.0, noise.total_cycles(behaviour) + loop_cycles);
        return {.loads = behaviour.loads, .total_cycles = static_cast<std::uint64_t>(std::llround(cycles))};
      }
      case StepKind::kTouch:
      case StepKind::kTouchChain: {
        // The loads of the threads overlap.
        const double cycles = std::max(1.0, noise.total_cycles(behaviour) / kTouchThreads);
        return {.loads = behaviour.loads, .total_cycles = static_cast<std::uint64_t>(cycles)};
      }
      case StepKind::kPaired: {
        StepResult result = noise.paired(behaviour);
        result.total_cycles = static_cast<std::uint64_t>(behaviour.paired_cycles + 2 * loop_cycles);
        return result;
      }
      case StepKind::kTimed:
      case StepKind::kCounted:
      case StepKind::kAtomic:
        break;
    }
    StepResult result = noise.timed(behaviour, spec_.timer_cycles);
    result.total_cycles += static_cast<std::uint64_t>(loop_cycles);
    return result;
  }

  // Returns the SM of a chase: the one that it names, SM 0 for other exclusive chases, and each SM in turn for the
  // rest. Other kinds of program never share the GPU on an SM of the device's choice; they get 0.
  std::uint32_t next_sm(const Program& program) {
    const auto* chase = std::get_if<ChaseProgram>(&program);
    if (chase == nullptr) return 0;
    if (chase->sm) return *chase->sm;
    if (chase->actors[0].sm) return *chase->actors[0].sm;
    if (chase->exclusive) return 0;
    const std::uint32_t sm = sm_;
    sm_ = (sm_ + 1) % info_.sm_count;
    return sm;
  }

  // True for chases of the same arrays: a simulator that has run one can reuse state for the other.
  static bool begin_alike(const Program& one, const Program& other) {
    const auto* first = std::get_if<ChaseProgram>(&one);
    const auto* second = std::get_if<ChaseProgram>(&other);
    if (first == nullptr || second == nullptr) return false;
    return std::equal(first->arrays.begin(), first->arrays.end(), second->arrays.begin(), second->arrays.end(),
                      [](const ChaseArray& a, const ChaseArray& b) {
                        return a.space == b.space && a.bytes == b.bytes && a.stride_bytes == b.stride_bytes;
                      });
  }

  MachineSpec spec_;
  DeviceInfo info_;
  Limits limits_{spec_, info_};
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one per host thread, made on first use
  std::uint64_t program_index_ = 0;
  std::function<bool()> ended_;
  std::uint32_t sm_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_sim_device(MachineSpec spec, std::uint64_t seed, unsigned threads) {
  check_machine(spec);
  return std::make_unique<SimDevice>(std::move(spec), seed,
                                     threads != 0 ? threads : std::thread::hardware_concurrency());
}

}  // namespace gputopo::sim
