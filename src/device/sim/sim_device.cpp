// Runs programs on a MachineSpec, load by load.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/sim/bandwidth.h"
#include "device/sim/hierarchy.h"
#include "device/sim/machine.h"
#include "device/sim/noise.h"

namespace gputopo::sim {
namespace {

constexpr double kDefaultClockMhz = 1000;
constexpr std::uint64_t kDefaultMaxArrayBytes = 64ull << 30;
constexpr std::uint64_t kSmallestAlignment = 64ull << 10;
constexpr std::uint64_t kLargestAlignment = kMixedPeriodBytes;
constexpr std::uint64_t kWarpThreads = 32;
// Loads between two steps of prefetching the host's memory, for caches whose state is large.
constexpr std::uint64_t kPrefetchDistance = 6;

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

// Where the elements of an array lie, in the order of one chain.
class ChainAddresses {
 public:
  // In the order of the elements.
  ChainAddresses(const ChaseArray& array, std::uint64_t base) : ChainAddresses(array, base, Order::kSequential) {}

  ChainAddresses(const ChaseArray& array, std::uint64_t base, std::uint32_t chain)
      : ChainAddresses(array, base, chain == 0 ? array.order : array.second_order) {
    if (!array.elements.empty()) order_ = Order::kShuffled;
    if (order_ == Order::kShuffled) shuffled_ = chain_order(array, chain);
    count_ = array.chain_length();
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Order order() const { return order_; }

  // Of the position-th element visited. The order is a template parameter so that the loop over loads does not ask.
  template <Order kOrder>
  [[nodiscard]] std::uint64_t at(std::uint64_t position) const {
    std::uint64_t index = position;
    if constexpr (kOrder == Order::kReversed) index = count_ - 1 - position;
    if constexpr (kOrder == Order::kShuffled) index = shuffled_[position];
    return base_ + index * stride_ + (2 * index >= count_ ? skew_ : 0);
  }

 private:
  ChainAddresses(const ChaseArray& array, std::uint64_t base, Order order)
      : order_(order),
        base_(base),
        stride_(array.stride_bytes),
        skew_(array.skew_bytes),
        count_(array.element_count()) {}

  Order order_;
  std::uint64_t base_;
  std::uint64_t stride_;
  std::uint64_t skew_;
  std::uint64_t count_;
  std::vector<std::uint32_t> shuffled_;
};

// Keeps the host's memory ahead of a walk along a chain through caches whose state is large.
template <Order kOrder>
class Prefetcher {
 public:
  Prefetcher(const Path& path, const ChainAddresses& chain) : chain_(chain) {
    for (const Path::Stop& stop : path.stops) {
      if (stop.cache->wants_prefetch(kOrder != Order::kShuffled)) caches_.push_back(stop.cache);
    }
  }

  // The load at `position` comes next.
  void prepare(std::uint64_t position) const {
    static_assert(Cache::kPrefetchSteps == 4);
    if (caches_.empty() || position + 4 * kPrefetchDistance >= chain_.count()) return;
    for (const Cache* cache : caches_) {
      cache->prefetch<0>(chain_.at<kOrder>(position + 4 * kPrefetchDistance));
      cache->prefetch<1>(chain_.at<kOrder>(position + 3 * kPrefetchDistance));
      cache->prefetch<2>(chain_.at<kOrder>(position + 2 * kPrefetchDistance));
      cache->prefetch<3>(chain_.at<kOrder>(position + 1 * kPrefetchDistance));
    }
  }

 private:
  const ChainAddresses& chain_;
  std::vector<const Cache*> caches_;
};

class SimDevice : public Device {
 public:
  SimDevice(MachineSpec spec, std::uint64_t seed)
      : spec_(std::move(spec)), info_(info_of(spec_)), seed_(seed), hierarchy_(spec_), noise_(spec_.noise, seed) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    for (const Program& program : programs) {
      validate(program);
      std::visit([this](const auto& p) { check_supported(p); }, program);
    }
    std::vector<ProgramResult> results;
    results.reserve(programs.size());
    for (const Program& program : programs) {
      results.push_back(std::visit([this](const auto& p) { return run_one(p); }, program));
    }
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
    if (program.sm && *program.sm >= info_.sm_count) {
      throw NotSupportedError(fmt::format("{} has no SM {}; it has {}", info_.name, *program.sm, info_.sm_count));
    }
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

  void start_program() {
    noise_.start_program(program_index_);
    ++program_index_;
  }

  ProgramResult run_one(const StreamProgram& program) {
    start_program();
    ProgramResult result{.sm_clock_mhz = clock_mhz(),
                         .shared_carve_out_bytes = carve_out_for(stream_wanted_carve_out(program))};
    StreamResult stream = simulate_stream(spec_, program, result.shared_carve_out_bytes);
    stream.seconds /= noise_.bandwidth_factor();
    stream.cycles = stream.seconds * result.sm_clock_mhz * 1e6;
    result.data = stream;
    return result;
  }

  ProgramResult run_one(const ChaseProgram& program) {
    const std::uint64_t carve_out = carve_out_for(std::max(program.shared_carve_out_bytes, shared_bytes_of(program)));
    hierarchy_.start_program(carve_out, derive_seed(seed_, ~program_index_));
    start_program();
    ChaseResult chase;
    chase.sm = program.sm ? *program.sm : next_sm(program.exclusive);
    const std::vector<std::uint64_t> bases = place_arrays(program);
    // One chain's order is kept for the steps that use it again.
    std::vector<std::array<std::optional<ChainAddresses>, 2>> chains(program.arrays.size());
    for (const ChaseStep& step : program.steps) {
      const ChaseArray& array = program.arrays[step.array];
      if (step.kind == StepKind::kTouch) {
        chase.steps.push_back(touch(array, bases[step.array]));
        continue;
      }
      std::optional<ChainAddresses>& chain = chains[step.array][step.chain];
      if (!chain) chain.emplace(array, bases[step.array], step.chain);
      const Path path = hierarchy_.path_of(array.space, program.actors[step.actor].warp);
      chase.steps.push_back(follow(step, path, *chain, program.timed_cap));
    }
    return {.data = std::move(chase), .sm_clock_mhz = clock_mhz(), .shared_carve_out_bytes = carve_out};
  }

  // Programs that may run side by side are spread over the SMs; one that runs alone starts at the first.
  std::uint32_t next_sm(bool exclusive) {
    if (exclusive) return 0;
    const std::uint32_t sm = sm_;
    sm_ = (sm_ + 1) % info_.sm_count;
    return sm;
  }

  // Where the arrays of a program lie.
  static std::vector<std::uint64_t> place_arrays(const ChaseProgram& program) {
    std::vector<std::uint64_t> bases;
    std::uint64_t next_address = kLargestAlignment;
    for (const ChaseArray& array : program.arrays) {
      if (array.alias_of) {
        bases.push_back(bases[*array.alias_of]);
        continue;
      }
      const std::uint64_t alignment = std::clamp(std::bit_ceil(array.bytes), kSmallestAlignment, kLargestAlignment);
      next_address = (next_address + alignment - 1) & ~(alignment - 1);
      bases.push_back(next_address);
      next_address += array.bytes;
    }
    return bases;
  }

  double noisy_load(const Path& path, std::uint64_t address) {
    if (noise_.is_quiet()) return hierarchy_.load(path, address);
    const Noise::Sample noise = noise_.next();
    if (noise.evicted) hierarchy_.neighbour_load(path);
    return hierarchy_.load(path, address) * noise.factor + noise.added_cycles;
  }

  StepResult follow(const ChaseStep& step, const Path& path, const ChainAddresses& chain, std::uint32_t timed_cap) {
    if (step.kind == StepKind::kWarm) {
      double cycles = 0;
      visit_loads(step, path, chain, [&](double latency) { cycles += latency; });
      cycles += static_cast<double>(step.loads) * spec_.loop_cycles;
      return {.loads = step.loads, .total_cycles = static_cast<std::uint64_t>(std::llround(std::max(0.0, cycles)))};
    }
    StepResult result{.loads = step.loads};
    result.histogram.assign(kHistogramBins, 0);
    const std::uint64_t kept = step.kind == StepKind::kTimed ? std::min<std::uint64_t>(step.loads, timed_cap) : 0;
    result.latencies.reserve(kept);
    std::uint64_t timed_cycles = 0;
    visit_loads(step, path, chain, [&](double latency) {
      const auto raw = static_cast<std::uint32_t>(std::max(1.0, latency + spec_.timer_cycles + 0.5));
      ++result.histogram[std::min(raw / kHistogramBinCycles, kHistogramBins - 1)];
      timed_cycles += raw;
      if (result.latencies.size() < kept) result.latencies.push_back(raw);
    });
    result.total_cycles =
        timed_cycles + static_cast<std::uint64_t>(static_cast<double>(step.loads) * spec_.loop_cycles);
    while (!result.histogram.empty() && result.histogram.back() == 0) result.histogram.pop_back();
    return result;
  }

  // Calls visit(latency) for each load of the step.
  template <typename Visit>
  void visit_loads(const ChaseStep& step, const Path& path, const ChainAddresses& chain, Visit visit) {
    switch (chain.order()) {
      case Order::kSequential:
        return visit_in_order<Order::kSequential>(step, path, chain, visit);
      case Order::kReversed:
        return visit_in_order<Order::kReversed>(step, path, chain, visit);
      case Order::kShuffled:
        return visit_in_order<Order::kShuffled>(step, path, chain, visit);
    }
  }

  template <Order kOrder, typename Visit>
  void visit_in_order(const ChaseStep& step, const Path& path, const ChainAddresses& chain, Visit& visit) {
    const Prefetcher<kOrder> prefetcher(path, chain);
    std::uint64_t position = step.first;
    for (std::uint64_t i = 0; i < step.loads; ++i) {
      prefetcher.prepare(position);
      visit(noisy_load(path, chain.at<kOrder>(position)));
      if (++position == chain.count()) position = 0;
    }
  }

  // Thread t of the block loads elements t, t + kTouchThreads, ...: each warp through its own instance of a cache.
  StepResult touch(const ChaseArray& array, std::uint64_t base) {
    std::vector<Path> path_of_warp;
    for (std::uint32_t warp = 0; warp < kTouchThreads / kWarpThreads; ++warp) {
      path_of_warp.push_back(hierarchy_.path_of(array.space, warp));
    }
    const ChainAddresses elements(array, base);
    const Prefetcher<Order::kSequential> prefetcher(path_of_warp[0], elements);
    double cycles = 0;
    for (std::uint64_t i = 0; i < elements.count(); ++i) {
      prefetcher.prepare(i);
      cycles += noisy_load(path_of_warp[i % kTouchThreads / kWarpThreads], elements.at<Order::kSequential>(i));
    }
    // The threads' loads overlap.
    return {.loads = elements.count(),
            .total_cycles = static_cast<std::uint64_t>(std::max(1.0, cycles / kTouchThreads))};
  }

  MachineSpec spec_;
  DeviceInfo info_;
  std::uint64_t seed_;
  Hierarchy hierarchy_;
  Noise noise_;
  std::uint64_t program_index_ = 0;
  std::uint32_t sm_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_sim_device(MachineSpec spec, std::uint64_t seed) {
  check_machine(spec);
  return std::make_unique<SimDevice>(std::move(spec), seed);
}

}  // namespace gputopo::sim
