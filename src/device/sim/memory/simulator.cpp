#include "device/sim/memory/simulator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "device/sim/cache/homes.h"
#include "device/sim/memory/load_batch.h"
#include "device/sim/memory/walk.h"

namespace gputopo::sim {
namespace {

constexpr std::uint64_t kSmallestAlignment = 64ull << 10;
constexpr std::uint64_t kLargestAlignment = kMixedPeriodBytes;
constexpr std::uint64_t kWarpThreads = 32;
// A checkpoint pays off if at least this many times as many loads come before it as after it, where changes are logged.
constexpr std::uint64_t kCheckpointGain = 2;

std::uint64_t loads_of(const ChaseProgram& program, const ChaseStep& step) {
  return step.kind == StepKind::kTouch ? touched_elements(program.arrays[step.array], step) : step.loads;
}

// Number of steps before the first step that is timed or on another SM.
std::size_t warm_steps_of(const ChaseProgram& program) {
  const auto sm_of = [&](const ChaseStep& step) { return program.actors[step.actor].sm; };
  const auto end = std::ranges::find_if(program.steps, [&](const ChaseStep& step) {
    return has_histogram(step.kind) || sm_of(step) != sm_of(program.steps.front());
  });
  return static_cast<std::size_t>(end - program.steps.begin());
}

// Returns what decides the state after the warm steps and their latencies. Of the SM only the near partition matters
// and, if loads wait for each other, the distance.
ChaseProgram warm_part_of(const MachineSpec& spec, const ChaseProgram& program) {
  ChaseProgram part = program;
  part.steps.resize(warm_steps_of(program));
  std::uint32_t actors = 1;
  for (const ChaseStep& step : part.steps) actors = std::max(actors, step.actor + 1);
  part.actors.resize(actors);
  part.exclusive = false;
  const bool overlap =
      std::ranges::all_of(part.steps, [](const ChaseStep& step) { return step.kind == StepKind::kTouch; });
  if (spec.tpc_distances_cycles.empty() || overlap) {
    if (part.sm) part.sm = partition_of_sm(spec, *part.sm);
    if (part.sm == 0) part.sm.reset();
  }
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

// Whether `longer` does what `part` does and then touches more of the same array.
bool continues_touch(const ChaseProgram& part, ChaseProgram longer) {
  const auto touches_first_array = [](const ChaseProgram& program) {
    const std::vector<ChaseStep>& steps = program.steps;
    return steps.size() == 1 && steps[0].kind == StepKind::kTouch && steps[0].array == 0 &&
           touched_elements(program.arrays[0], steps[0]) == program.arrays[0].element_count();
  };
  if (!touches_first_array(part) || !touches_first_array(longer)) return false;
  if (longer.arrays[0].bytes < part.arrays[0].bytes) return false;
  longer.arrays[0].bytes = part.arrays[0].bytes;
  longer.steps[0].loads = part.steps[0].loads;  // both touch all elements
  return longer == part;
}

// Whether the loads of all warps pass the same caches.
bool is_of_every_warp(const Path& path) {
  return std::ranges::all_of(path.stops, [](const Path::Stop& stop) { return stop.spec->instances == 1; });
}

bool checkpoint_pays(const ChaseProgram& program, std::size_t warm_steps) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    (i < warm_steps ? before : after) += loads_of(program, program.steps[i]);
  }
  return before >= kCheckpointGain * after;
}

// Leaves in the caches what a walk over new blocks of 2^shift bytes leaves. Returns whether it would find none of it.
template <typename AddressOf>
bool fill_back(const Path& path, const NewWalk& walk, unsigned shift, const AddressOf& address_of) {
  std::array<std::uint64_t, kMaxLoadsAtOnce> addresses;
  std::uint64_t left = walk.loads;
  return Hierarchy::fill_back(path, walk, [&] {
    std::size_t count = 0;
    while (left > walk.done && count < kMaxLoadsAtOnce) {
      addresses[count++] = address_of(--left);
      while (left > walk.done && address_of(left - 1) >> shift == addresses[count - 1] >> shift) --left;
    }
    return std::span<const std::uint64_t>(addresses).first(count);
  });
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
  hierarchy_.set_l2_fetch_bytes(program.l2_fetch_bytes);
  if (!alone) {
    checkpoint_.reset();
    begin(program, carve_out_bytes, seed);
    take_steps(program, 0, program.steps.size(), noise);
    return behaviour_;
  }
  const std::size_t warm_steps = warm_steps_of(program);
  Done warm_part{warm_part_of(spec_, program), carve_out_bytes};
  const bool has_checkpoint = checkpoint_ && checkpoint_->carve_out_bytes == carve_out_bytes;
  if (has_checkpoint && checkpoint_->program == warm_part.program) {
    hierarchy_.rollback(seed);
    behaviour_.resize(warm_steps);
    overfull_ = checkpoint_->overfull;
  } else {
    const bool continues = has_checkpoint && continues_touch(checkpoint_->program, warm_part.program);
    checkpoint_.reset();
    if (continues) {
      hierarchy_.resume(seed);
      overfull_.reset();
      behaviour_.resize(warm_steps);
      touch(program, program.steps[0], behaviour_[0].loads, noise, behaviour_[0]);
    } else {
      begin(program, carve_out_bytes, seed);
      take_steps(program, 0, warm_steps, noise);
    }
    if (!hierarchy_.chose_at_random() && checkpoint_pays(program, warm_steps)) {
      hierarchy_.checkpoint();
      checkpoint_ = std::move(warm_part);
      checkpoint_->overfull = overfull_;
    }
  }
  take_steps(program, warm_steps, program.steps.size(), noise);
  if (!hierarchy_.chose_at_random()) last_ = {program, carve_out_bytes};
  return behaviour_;
}

void Simulator::begin(const ChaseProgram& program, std::uint64_t carve_out_bytes, std::uint64_t seed) {
  hierarchy_.start_program(carve_out_bytes, seed);
  behaviour_.clear();
  overfull_.reset();
  write_local_links(program);
}

// The warp that walks a local array writes its links first, which brings all lines into the caches of loads.
void Simulator::write_local_links(const ChaseProgram& program) {
  const std::vector<std::uint64_t> bases = place_arrays(program);
  std::vector<bool> written(program.arrays.size(), false);
  for (const ChaseStep& step : program.steps) {
    const ChaseArray& array = program.arrays[step.array];
    if (array.space != Space::kLocal || written[step.array]) continue;
    written[step.array] = true;
    const ChaseActor& actor = program.actors[step.actor];
    const std::uint32_t sm = actor.sm.value_or(0);
    const Path path = hierarchy_.path_of(array.space, actor.warp, sm, program.sm.value_or(sm));
    LoadBatch run;
    const std::uint64_t length = array.chain_length();
    for (std::uint64_t place = 0; place < length;) {
      std::size_t count = 0;
      for (; count < kMaxLoadsAtOnce && place < length; ++place) {
        const std::uint64_t element = array.elements.empty() ? place : array.elements[place];
        run.addresses[count++] = bases[step.array] + array.element_offset(element);
      }
      run.load(count, path, hierarchy_);
    }
  }
}

void Simulator::take_steps(const ChaseProgram& program, std::size_t first, std::size_t last, Noise& noise) {
  const std::vector<std::uint64_t> bases = place_arrays(program);
  const bool may_watch = noise.is_alone() && !checkpoint_;
  for (std::size_t i = first; i < last; ++i) {
    const ChaseStep& step = program.steps[i];
    const ChaseArray& array = program.arrays[step.array];
    if (step.kind == StepKind::kTouch) {
      touch(program, step, 0, noise, behaviour_.emplace_back());
      continue;
    }
    const ChainAddresses chain(array, bases[step.array], step, orders_);
    if (step.kind == StepKind::kTouchChain) {
      touch_in_order<Order::kShuffled>(program, step, chain, 0, noise, behaviour_.emplace_back());
      continue;
    }
    const ChaseActor& actor = program.actors[step.actor];
    const std::uint32_t sm = actor.sm.value_or(0);
    const Path path = hierarchy_.path_of(array.space, actor.warp, sm, program.sm.value_or(sm));
    if (step.kind == StepKind::kStore) {
      behaviour_.push_back(store(step, path, chain, noise));
      continue;
    }
    const std::uint64_t kept = keeps_latencies(step.kind) ? std::min<std::uint64_t>(step.loads, program.timed_cap) : 0;
    behaviour_.push_back(follow(step, path, chain, kept, may_watch, hierarchy_, noise));
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

// Whether no cache holds any of the touched array: only the same touch may have used it, if nothing of that stays.
bool Simulator::finds_nothing(const ChaseProgram& program, const ChaseStep& step) const {
  if (program.arrays[step.array].space == Space::kLocal) return false;
  const std::vector<std::uint64_t> bases = place_arrays(program);
  return std::all_of(program.steps.data(), &step, [&](const ChaseStep& before) {
    return bases[before.array] != bases[step.array] || (before == step && overfull_ == step);
  });
}

bool Simulator::touch_new(const ChaseProgram& program, const ChaseStep& step, const Path& path, bool is_empty,
                          const ChainAddresses& elements, std::uint64_t& done, StepBehaviour& behaviour) {
  const ChaseArray& array = program.arrays[step.array];
  const auto address_of = [&](std::uint64_t i) { return elements.at<Order::kSequential>(step.first + i); };
  NewWalk walk{address_of(0), array.stride_bytes, behaviour.loads, done};
  const std::optional<std::uint64_t> bytes = Hierarchy::fill_back_bytes(path, is_empty, walk);
  if (!bytes || array.stagger_bytes != 0 || array.skew_bytes != 0 || !finds_nothing(program, step)) return false;
  const auto shift = static_cast<unsigned>(std::countr_zero(*bytes));
  // Earlier loads may have brought in the beginning of the next ones.
  const auto block_of = [&](std::uint64_t i) { return address_of(i) / kLargestLineBytes; };
  for (; done > 0 && done < behaviour.loads && block_of(done) == block_of(done - 1); ++done) {
    behaviour.add(hierarchy_.load(path, address_of(done)), false, 0);
  }
  if (overfull_ != step || &step == program.steps.data() || *(&step - 1) != step) {
    walk.done = done;
    if (fill_back(path, walk, shift, address_of)) {
      overfull_ = step;
    } else if (overfull_ == step) {
      overfull_.reset();
    }
  }
  while (done < behaviour.loads) {
    const std::uint64_t first = address_of(done);
    const std::uint64_t fit = (Hierarchy::end_of_alike(path, first) - 1 - first) / array.stride_bytes + 1;
    const std::uint64_t loads = std::min(fit, behaviour.loads - done);
    const std::uint64_t misses =
        std::min(loads, (first + (loads - 1) * array.stride_bytes) / *bytes - first / *bytes + 1);
    behaviour.add(hierarchy_.new_load(path, first), false, 0);
    const double miss_cycles = hierarchy_.new_load(path, first);
    // Classes are added in the order of their loads, because noise draws for each class in turn.
    const bool hit_is_next = (first + array.stride_bytes) >> shift == first >> shift;
    if (!hit_is_next) behaviour.add_alike(miss_cycles, false, misses - 1);
    behaviour.add_alike(path.stops.front().latency_cycles, false, loads - misses);
    if (hit_is_next) behaviour.add_alike(miss_cycles, false, misses - 1);
    done += loads;
  }
  return true;
}

// Thread t of the block loads elements t, t + kTouchThreads, ...; each warp uses its own instance of a cache. The first
// `done` elements are already touched.
void Simulator::touch(const ChaseProgram& program, const ChaseStep& step, std::uint64_t done, Noise& noise,
                      StepBehaviour& behaviour) {
  const ChainAddresses elements(program.arrays[step.array], place_arrays(program)[step.array]);
  touch_in_order<Order::kSequential>(program, step, elements, done, noise, behaviour);
}

template <Order kOrder>
void Simulator::touch_in_order(const ChaseProgram& program, const ChaseStep& step, const ChainAddresses& elements,
                               std::uint64_t done, Noise& noise, StepBehaviour& behaviour) {
  const ChaseArray& array = program.arrays[step.array];
  behaviour.loads = loads_of(program, step);
  const std::uint32_t sm = program.actors[step.actor].sm.value_or(0);
  const std::uint32_t near_sm = program.sm.value_or(sm);
  const bool is_empty = hierarchy_.is_empty();
  std::vector<Path> path_of_warp = {hierarchy_.overlapping_path_of(array.space, 0, sm, near_sm)};
  const bool alike = is_of_every_warp(path_of_warp.front());
  const std::uint64_t warps =
      alike ? 1 : (std::min<std::uint64_t>(kTouchThreads, behaviour.loads) + kWarpThreads - 1) / kWarpThreads;
  for (std::uint32_t warp = 1; warp < warps; ++warp) {
    path_of_warp.push_back(hierarchy_.overlapping_path_of(array.space, warp, sm, near_sm));
  }
  if (kOrder == Order::kSequential && alike && noise.is_alone() &&
      touch_new(program, step, path_of_warp.front(), is_empty, elements, done, behaviour)) {
    return;
  }
  const std::uint64_t of_one_path = alike ? kTouchThreads : kWarpThreads;
  LoadBatch run;
  Neighbour neighbour(noise);
  while (done < behaviour.loads) {
    const Path& path = path_of_warp[alike ? 0 : done % kTouchThreads / kWarpThreads];
    const std::uint64_t of_warp = std::min(of_one_path - done % of_one_path, behaviour.loads - done);
    const std::uint64_t undisturbed = neighbour.undisturbed(loads_at_once(of_warp, kMaxLoadsAtOnce, noise));
    if (undisturbed == 0) hierarchy_.neighbour_load(path);
    const std::uint64_t count = std::max<std::uint64_t>(1, undisturbed);
    for (std::size_t i = 0; i < count; ++i) run.addresses[i] = elements.at<kOrder>(step.first + done + i);
    run.load(count, path, hierarchy_);
    // The threads' loads overlap, and a turn of the neighbor stops them all.
    run.cycles[0] += kTouchThreads * take_turn(run.cycles[0] / kTouchThreads, hierarchy_, noise);
    behaviour.add(std::span(run.cycles).first(count), undisturbed == 0, 0);
    done += count;
  }
}

}  // namespace gputopo::sim
