// Answers programs from a MachineSpec: checks them, simulates them on all the host's cores and adds noise.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "device/sim/access.h"
#include "device/sim/bandwidth.h"
#include "device/sim/cluster.h"
#include "device/sim/code.h"
#include "device/sim/machine.h"
#include "device/sim/noise.h"
#include "device/sim/simulator.h"
#include "device/sim/slices.h"

namespace gputopo::sim {
namespace {

constexpr double kDefaultClockMhz = 1000;
constexpr std::uint64_t kDefaultMaxArrayBytes = 64ull << 30;

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

// Runs work(0) to work(count - 1) on up to `threads` threads, each index once; throws what the first that failed threw.
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

// What a thread keeps from program to program.
struct Worker {
  explicit Worker(const MachineSpec& spec) : simulator(spec), code(spec) {}

  Simulator simulator;
  Hierarchy code;  // as instruction programs see it
};

class SimDevice : public Device {
 public:
  SimDevice(MachineSpec spec, std::uint64_t seed, unsigned threads)
      : spec_(std::move(spec)), info_(info_of(spec_)), seed_(seed), workers_(std::max(1u, threads)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    for (const Program& program : programs) {
      validate(program);
      std::visit([this](const auto& p) { check_supported(p); }, program);
    }
    std::vector<ProgramResult> results(programs.size());
    // What begins alike stays together, because a simulator does that once.
    std::vector<std::size_t> groups;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (auto* chase = std::get_if<ChaseProgram>(&programs[i])) {
        const std::optional<std::uint32_t> named = chase->sm ? chase->sm : chase->actors[0].sm;
        results[i].data = ChaseResult{.sm = named ? *named : next_sm(chase->exclusive)};
      }
      if (i == 0 || !begin_alike(programs[i - 1], programs[i])) groups.push_back(i);
    }
    groups.push_back(programs.size());
    for_each_index(groups.size() - 1, static_cast<unsigned>(workers_.size()), [&](unsigned thread, std::size_t g) {
      std::unique_ptr<Worker>& worker = workers_[thread];
      if (worker == nullptr) worker = std::make_unique<Worker>(spec_);
      for (std::size_t i = groups[g]; i < groups[g + 1]; ++i) answer(programs[i], i, *worker, results[i]);
    });
    program_index_ += programs.size();
    return results;
  }

 private:
  void require_space(Space space) const {
    if (!spec_.spaces.contains(space)) {
      throw NotSupportedError(
          fmt::format("{} has no space '{}'; leave out what needs it", info_.name, to_string(space)));
    }
  }

  void check_supported(const ChaseProgram& program) const {
    for (const ChaseArray& array : program.arrays) {
      require_space(array.space);
      if (array.space != Space::kShared && array.bytes > info_.max_array_bytes) {
        throw NotSupportedError(
            fmt::format("an array of {} bytes is larger than the {} that {} allows; use a smaller one", array.bytes,
                        info_.max_array_bytes, info_.name));
      }
    }
    check_shared(shared_bytes_of(program));
    check_sm(program.sm);
    for (const ChaseActor& actor : program.actors) check_sm(actor.sm);
  }

  void check_supported(const StreamProgram& program) const {
    require_space(program.space);
    if (program.space == Space::kShared) {
      check_shared(program.bytes);
      check_shared_per_sm(program.bytes * program.blocks_per_sm);
    } else if (stream_footprint_bytes(program, info_.sm_count) > info_.max_array_bytes) {
      throw NotSupportedError(fmt::format("a stream over {} bytes is more than the {} that {} allows; use fewer",
                                          stream_footprint_bytes(program, info_.sm_count), info_.max_array_bytes,
                                          info_.name));
    }
    check_stream_levels(spec_, program, carve_out_for(stream_wanted_carve_out(program)));
  }

  void check_supported(const InstructionProgram& program) const {
    if (!spec_.code) refuse_silent(spec_, "code", "how instructions arrive");
    for (const CodeStep& step : program.steps) {
      if (step.kind == CodeStepKind::kConstants) require_space(Space::kConstant);
    }
    for (const CodeActor& actor : program.actors) check_sm(actor.sm);
  }

  void check_sm(std::optional<std::uint32_t> sm) const {
    if (sm && *sm >= info_.sm_count) {
      throw NotSupportedError(fmt::format("{} has no SM {}; it has {}", info_.name, *sm, info_.sm_count));
    }
  }

  void check_supported(const AccessProgram& program) const {
    require_space(program.space);
    if (program.space == Space::kShared) {
      check_shared(program.bytes);
    } else if (program.bytes > info_.max_array_bytes) {
      throw NotSupportedError(fmt::format("a working set of {} bytes is more than the {} that {} allows; use fewer",
                                          program.bytes, info_.max_array_bytes, info_.name));
    }
  }

  void check_supported(const ClusterProgram& program) const {
    require_space(Space::kShared);
    check_shared(cluster_shared_bytes(program));
    if (program.op != ClusterOp::kBulkCopy) return;
    require_space(Space::kGlobalBypassL1);
    if (program.bytes > info_.max_array_bytes) {
      throw NotSupportedError(fmt::format("a working set of {} bytes is more than the {} that {} allows; use fewer",
                                          program.bytes, info_.max_array_bytes, info_.name));
    }
  }

  void check_shared(std::uint64_t bytes) const {
    const auto limit =
        info_.shared_bytes_per_block_opt_in ? info_.shared_bytes_per_block_opt_in : info_.shared_bytes_per_block;
    if (limit && bytes > *limit) {
      throw NotSupportedError(fmt::format("{} bytes of shared memory are more than the {} that a block of {} may have",
                                          bytes, *limit, info_.name));
    }
    check_shared_per_sm(bytes);
  }

  void check_shared_per_sm(std::uint64_t bytes) const {
    std::optional<std::uint64_t> limit = info_.shared_bytes_per_sm;
    if (!limit && !info_.carve_outs_bytes.empty()) limit = info_.carve_outs_bytes.back();
    if (limit && bytes > *limit) {
      throw NotSupportedError(
          fmt::format("{} bytes of shared memory are more than the {} of an SM of {}", bytes, *limit, info_.name));
    }
  }

  static std::uint64_t shared_bytes_of(const ChaseProgram& program) {
    std::uint64_t bytes = 0;
    for (const ChaseArray& array : program.arrays) {
      if (array.space == Space::kShared) bytes += array.bytes;
    }
    return bytes;
  }

  static std::uint64_t cluster_shared_bytes(const ClusterProgram& program) {
    const bool bulk = program.op == ClusterOp::kBulkCopy;
    return bulk ? std::uint64_t{program.in_flight} * program.copy_bytes : program.bytes;
  }

  static std::uint64_t access_wanted_carve_out(const AccessProgram& program) {
    const std::uint64_t used = program.space == Space::kShared ? program.bytes : 0;
    return std::max(program.shared_carve_out_bytes, used);
  }

  static std::uint64_t stream_wanted_carve_out(const StreamProgram& program) {
    const std::uint64_t used = program.space == Space::kShared ? program.bytes * program.blocks_per_sm : 0;
    return std::max(program.shared_carve_out_bytes, used);
  }

  // The smallest carve-out that holds what is wanted, or the largest there is.
  [[nodiscard]] std::uint64_t carve_out_for(std::uint64_t wanted) const {
    const auto& choices = info_.carve_outs_bytes;
    if (choices.empty()) return 0;
    const auto fits = std::lower_bound(choices.begin(), choices.end(), wanted);
    return fits == choices.end() ? choices.back() : *fits;
  }

  [[nodiscard]] double clock_mhz() const { return info_.sm_clock_max_mhz.value_or(kDefaultClockMhz); }

  // The answer depends on the program's index and not on the thread.
  void answer(const Program& program, std::size_t place, Worker& worker, ProgramResult& result) const {
    const std::uint64_t index = program_index_ + place;
    Noise noise(spec_.noise, seed_, index);
    result.sm_clock_mhz = clock_mhz();
    if (const auto* stream = std::get_if<StreamProgram>(&program)) return answer_stream(*stream, noise, result);
    if (const auto* code = std::get_if<InstructionProgram>(&program)) {
      result.shared_carve_out_bytes = carve_out_for(0);
      result.data = simulate_code(*spec_.code, worker.code, *code, result.shared_carve_out_bytes,
                                  derive_seed(seed_, ~index), noise);
      return;
    }
    if (const auto* access = std::get_if<AccessProgram>(&program)) {
      result.shared_carve_out_bytes = carve_out_for(access_wanted_carve_out(*access));
      result.data = simulate_access(spec_, *access, result.shared_carve_out_bytes, clock_mhz(), noise);
      return;
    }
    if (const auto* cluster = std::get_if<ClusterProgram>(&program)) {
      // The largest, so that no SM has room for a second block.
      result.shared_carve_out_bytes = carve_out_for(UINT64_MAX);
      result.data = simulate_cluster(spec_, *cluster, result.shared_carve_out_bytes, clock_mhz(),
                                     derive_seed(seed_, ~index), noise);
      return;
    }
    const auto& chase = std::get<ChaseProgram>(program);
    result.shared_carve_out_bytes = carve_out_for(std::max(chase.shared_carve_out_bytes, shared_bytes_of(chase)));
    const Behaviour& behaviour =
        worker.simulator.run(chase, result.shared_carve_out_bytes, derive_seed(seed_, ~index), noise);
    auto& steps = std::get<ChaseResult>(result.data).steps;
    for (std::size_t i = 0; i < chase.steps.size(); ++i) {
      steps.push_back(step_result(chase.steps[i].kind, behaviour[i], noise));
      add_slices(chase, chase.steps[i], steps.back());
    }
  }

  void add_slices(const ChaseProgram& program, const ChaseStep& step, StepResult& result) const {
    if (!spec_.slices || !program.sm || result.latencies.empty()) return;
    if (program.arrays[step.array].space != Space::kGlobalBypassL1) return;
    const std::vector<double> cycles = slice_cycles(spec_, program, step, result.latencies.size());
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      result.latencies[i] = static_cast<std::uint32_t>(std::max(1.0, std::round(result.latencies[i] + cycles[i])));
    }
  }

  void answer_stream(const StreamProgram& program, Noise& noise, ProgramResult& result) const {
    result.shared_carve_out_bytes = carve_out_for(stream_wanted_carve_out(program));
    StreamResult stream = simulate_stream(spec_, program, result.shared_carve_out_bytes);
    stream.seconds /= noise.bandwidth_factor();
    stream.cycles = stream.seconds * result.sm_clock_mhz * 1e6;
    result.data = stream;
  }

  [[nodiscard]] StepResult step_result(StepKind kind, const StepBehaviour& behaviour, Noise& noise) const {
    const double loop_cycles = static_cast<double>(behaviour.loads) * spec_.loop_cycles;
    switch (kind) {
      case StepKind::kWarm:
      case StepKind::kStore: {
        const double cycles = std::max(0.0, noise.total_cycles(behaviour) + loop_cycles);
        return {.loads = behaviour.loads, .total_cycles = static_cast<std::uint64_t>(std::llround(cycles))};
      }
      case StepKind::kTouch: {
        // The threads' loads overlap.
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
        break;
    }
    StepResult result = noise.timed(behaviour, spec_.timer_cycles);
    result.total_cycles += static_cast<std::uint64_t>(loop_cycles);
    return result;
  }

  // Programs that may run side by side are spread over the SMs; one that runs alone starts at the first.
  std::uint32_t next_sm(bool exclusive) {
    if (exclusive) return 0;
    const std::uint32_t sm = sm_;
    sm_ = (sm_ + 1) % info_.sm_count;
    return sm;
  }

  // Whether a simulator that has run one of them has less to do for the other: they load the same arrays.
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
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Worker>> workers_;  // one for each thread, made when it is needed
  std::uint64_t program_index_ = 0;
  std::uint32_t sm_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_sim_device(MachineSpec spec, std::uint64_t seed, unsigned threads) {
  check_machine(spec);
  return std::make_unique<SimDevice>(std::move(spec), seed,
                                     threads != 0 ? threads : std::thread::hardware_concurrency());
}

}  // namespace gputopo::sim
