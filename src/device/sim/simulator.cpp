#include "device/sim/simulator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "device/sim/homes.h"

namespace gputopo::sim {
namespace {

constexpr std::uint64_t kSmallestAlignment = 64ull << 10;
constexpr std::uint64_t kLargestAlignment = kMixedPeriodBytes;
constexpr std::uint64_t kWarpThreads = 32;
// Loads between two steps of prefetching the host's memory, for caches whose state is large.
constexpr std::uint64_t kPrefetchDistance = 6;
// A checkpoint pays when the loads before it are at least this many times those after it, whose changes are noted.
constexpr std::uint64_t kCheckpointGain = 2;

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
    if (caches_.empty() || position + 4 * kPrefetchDistance >= chain_.end()) return;
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

// Loads until a neighbour's next one, for programs that have a neighbour.
class Neighbour {
 public:
  explicit Neighbour(Noise& noise) : noise_(noise), loads_left_(noise.loads_to_disturbance()) {}

  // True: it loads before the load that comes next.
  bool comes_first() {
    if (loads_left_-- > 0) return false;
    loads_left_ = noise_.loads_to_disturbance();
    return true;
  }

 private:
  Noise& noise_;
  std::uint64_t loads_left_;
};

// Of a program that takes turns with another process, which has just run for so many cycles: what the other's turn took
// that came then.
double take_turn(double cycles, Hierarchy& hierarchy, Noise& noise) {
  if (!noise.takes_turns()) return 0;
  const double stopped = noise.other_turn(cycles);
  if (stopped > 0) hierarchy.lose_contents();
  return stopped;
}

template <Order kOrder>
StepBehaviour follow_in_order(const ChaseStep& step, const Path& path, const ChainAddresses& chain, std::uint64_t kept,
                              Hierarchy& hierarchy, Noise& noise) {
  StepBehaviour behaviour(step.loads);
  behaviour.first_loads.reserve(kept);
  const bool paired = step.kind == StepKind::kPaired;
  const bool atomic = step.kind == StepKind::kAtomic;
  const Prefetcher<kOrder> prefetcher(path, chain);
  Neighbour neighbour(noise);
  std::uint64_t position = step.first;
  for (std::uint64_t i = 0; i < step.loads; ++i) {
    prefetcher.prepare(position);
    const bool disturbed = neighbour.comes_first();
    if (disturbed) hierarchy.neighbour_load(path);
    const std::uint64_t address = chain.at<kOrder>(position);
    double cycles = atomic ? hierarchy.atomic(path, address) : hierarchy.load(path, address);
    if (paired) {
      const double again = hierarchy.load(path, address);
      behaviour.paired_cycles += cycles + again;
      cycles -= again;
    }
    cycles += take_turn(std::abs(cycles), hierarchy, noise);
    behaviour.add(cycles, disturbed, kept);
    if (++position == chain.count()) position = 0;
  }
  return behaviour;
}

StepBehaviour follow(const ChaseStep& step, const Path& path, const ChainAddresses& chain, std::uint64_t kept,
                     Hierarchy& hierarchy, Noise& noise) {
  switch (chain.order()) {
    case Order::kSequential:
      return follow_in_order<Order::kSequential>(step, path, chain, kept, hierarchy, noise);
    case Order::kReversed:
      return follow_in_order<Order::kReversed>(step, path, chain, kept, hierarchy, noise);
    case Order::kShuffled:
      break;
  }
  return follow_in_order<Order::kShuffled>(step, path, chain, kept, hierarchy, noise);
}

std::uint64_t loads_of(const ChaseProgram& program, const ChaseStep& step) {
  return step.kind == StepKind::kTouch ? touched_elements(program.arrays[step.array], step) : step.loads;
}

// The steps before the first that is timed.
std::size_t warm_steps_of(const ChaseProgram& program) {
  const auto first_timed = std::find_if(program.steps.begin(), program.steps.end(),
                                        [](const ChaseStep& step) { return has_histogram(step.kind); });
  return static_cast<std::size_t>(first_timed - program.steps.begin());
}

// What decides the state that the warm steps lead to. Of the SM that is the partition that it is near.
ChaseProgram warm_part_of(const MachineSpec& spec, const ChaseProgram& program) {
  ChaseProgram part = program;
  part.steps.resize(warm_steps_of(program));
  part.exclusive = false;
  if (part.sm) part.sm = partition_of_sm(spec, *part.sm);
  if (part.sm == 0) part.sm.reset();
  part.timed_cap = 0;
  for (std::size_t i = 0; i < part.arrays.size(); ++i) {
    ChaseArray& array = part.arrays[i];
    const bool shuffled = std::any_of(part.steps.begin(), part.steps.end(), [&](const ChaseStep& step) {
      const Order order = step.chain == 0 ? array.order : array.second_order;
      return step.array == i && step.kind != StepKind::kTouch && order == Order::kShuffled;
    });
    if (!shuffled) array.seed = 0;
  }
  return part;
}

// Whether `longer` does what `part` does, and then touches more of the same array.
bool continues_touch(const ChaseProgram& part, ChaseProgram longer) {
  const auto touches_first_array = [](const ChaseProgram& program) {
    const std::vector<ChaseStep>& steps = program.steps;
    return steps.size() == 1 && steps[0].kind == StepKind::kTouch && steps[0].array == 0 &&
           touched_elements(program.arrays[0], steps[0]) == program.arrays[0].element_count();
  };
  if (!touches_first_array(part) || !touches_first_array(longer)) return false;
  if (longer.arrays[0].bytes < part.arrays[0].bytes) return false;
  longer.arrays[0].bytes = part.arrays[0].bytes;
  longer.steps[0].loads = part.steps[0].loads;  // of all elements, either
  return longer == part;
}

bool checkpoint_pays(const ChaseProgram& program, std::size_t warm_steps) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    (i < warm_steps ? before : after) += loads_of(program, program.steps[i]);
  }
  return before >= kCheckpointGain * after;
}

}  // namespace

std::vector<std::uint64_t> place_arrays(const ChaseProgram& program) {
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

const Behaviour& Simulator::run(const ChaseProgram& program, std::uint64_t carve_out_bytes, std::uint64_t seed,
                                Noise& noise) {
  const bool alone = noise.is_alone();
  if (alone && last_ && last_->carve_out_bytes == carve_out_bytes && last_->program == program) return behaviour_;
  last_.reset();
  if (!alone) {
    checkpoint_.reset();
    hierarchy_.start_program(carve_out_bytes, seed);
    behaviour_.clear();
    take_steps(program, 0, program.steps.size(), noise);
    return behaviour_;
  }
  const std::size_t warm_steps = warm_steps_of(program);
  Done warm_part{warm_part_of(spec_, program), carve_out_bytes};
  const bool has_checkpoint = checkpoint_ && checkpoint_->carve_out_bytes == carve_out_bytes;
  if (has_checkpoint && checkpoint_->program == warm_part.program) {
    hierarchy_.rollback(seed);
    behaviour_.resize(warm_steps);
  } else {
    if (has_checkpoint && continues_touch(checkpoint_->program, warm_part.program)) {
      hierarchy_.resume(seed);
      behaviour_.resize(warm_steps);
      touch(program, program.steps[0], behaviour_[0].loads, noise, behaviour_[0]);
    } else {
      hierarchy_.start_program(carve_out_bytes, seed);
      behaviour_.clear();
      take_steps(program, 0, warm_steps, noise);
    }
    checkpoint_.reset();
    if (!hierarchy_.chose_at_random() && checkpoint_pays(program, warm_steps)) {
      hierarchy_.checkpoint();
      checkpoint_ = std::move(warm_part);
    }
  }
  take_steps(program, warm_steps, program.steps.size(), noise);
  if (!hierarchy_.chose_at_random()) last_ = {program, carve_out_bytes};
  return behaviour_;
}

void Simulator::take_steps(const ChaseProgram& program, std::size_t first, std::size_t last, Noise& noise) {
  const std::vector<std::uint64_t> bases = place_arrays(program);
  for (std::size_t i = first; i < last; ++i) {
    const ChaseStep& step = program.steps[i];
    const ChaseArray& array = program.arrays[step.array];
    if (step.kind == StepKind::kTouch) {
      touch(program, step, 0, noise, behaviour_.emplace_back());
      continue;
    }
    const ChainAddresses chain(array, bases[step.array], step, orders_);
    const ChaseActor& actor = program.actors[step.actor];
    const std::uint32_t sm = actor.sm.value_or(0);
    const Path path = hierarchy_.path_of(array.space, actor.warp, sm, program.sm.value_or(sm));
    if (step.kind == StepKind::kStore) {
      behaviour_.push_back(store(step, path, chain, noise));
      continue;
    }
    const std::uint64_t kept = keeps_latencies(step.kind) ? std::min<std::uint64_t>(step.loads, program.timed_cap) : 0;
    behaviour_.push_back(follow(step, path, chain, kept, hierarchy_, noise));
  }
}

StepBehaviour Simulator::store(const ChaseStep& step, const Path& path, const ChainAddresses& elements, Noise& noise) {
  StepBehaviour behaviour(step.loads);
  for (std::uint64_t i = 0; i < step.loads; ++i) {
    const double cycles = hierarchy_.store(path, elements.at<Order::kSequential>(i));
    behaviour.add(cycles + take_turn(cycles, hierarchy_, noise), false, 0);
  }
  return behaviour;
}

// Thread t of the block loads elements t, t + kTouchThreads, ...: each warp through its own instance of a cache. As
// many as `done` have been touched.
void Simulator::touch(const ChaseProgram& program, const ChaseStep& step, std::uint64_t done, Noise& noise,
                      StepBehaviour& behaviour) {
  const ChaseArray& array = program.arrays[step.array];
  behaviour.loads = touched_elements(array, step);
  std::vector<Path> path_of_warp;
  const std::uint32_t sm = program.actors[step.actor].sm.value_or(0);
  for (std::uint32_t warp = 0; warp < kTouchThreads / kWarpThreads && warp * kWarpThreads < behaviour.loads; ++warp) {
    path_of_warp.push_back(hierarchy_.path_of(array.space, warp, sm, program.sm.value_or(sm)));
  }
  const ChainAddresses elements(array, place_arrays(program)[step.array]);
  const Prefetcher<Order::kSequential> prefetcher(path_of_warp[0], elements);
  Neighbour neighbour(noise);
  for (std::uint64_t i = done; i < behaviour.loads; ++i) {
    prefetcher.prepare(step.first + i);
    const Path& path = path_of_warp[i % kTouchThreads / kWarpThreads];
    const bool disturbed = neighbour.comes_first();
    if (disturbed) hierarchy_.neighbour_load(path);
    const double cycles = hierarchy_.load(path, elements.at<Order::kSequential>(step.first + i));
    // The threads' loads overlap; a turn stops them all.
    behaviour.add(cycles + kTouchThreads * take_turn(cycles / kTouchThreads, hierarchy_, noise), disturbed, 0);
  }
}

}  // namespace gputopo::sim
