#include "device/sim/memory/walk.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "device/sim/memory/load_batch.h"

namespace gputopo::sim {
namespace {

// A walk that goes round is watched in rounds of at least kLeastRound loads, for kWatchedRounds rounds: each level may
// need one until its loads repeat. Larger rounds than kLargestRound would need much memory for their changes.
constexpr std::uint64_t kLeastRound = 256;
constexpr std::uint64_t kLargestRound = 1u << 17;
constexpr int kWatchedRounds = 3;

// Simulates the loads at these addresses. Of a paired step, the results are differences between pairs of loads.
void take_loads(LoadBatch& run, std::size_t count, const ChaseStep& step, const Path& path, Hierarchy& hierarchy,
                StepBehaviour& behaviour) {
  if (step.kind == StepKind::kAtomic) {
    for (std::size_t i = 0; i < count; ++i) run.cycles[i] = hierarchy.atomic(path, run.addresses[i]);
    return;
  }
  if (step.kind != StepKind::kPaired) return run.load(count, path, hierarchy);
  for (std::size_t i = count; i-- > 0;) run.addresses[2 * i] = run.addresses[2 * i + 1] = run.addresses[i];
  run.load(2 * count, path, hierarchy);
  for (std::size_t i = 0; i < count; ++i) {
    behaviour.paired_cycles += run.cycles[2 * i] + run.cycles[2 * i + 1];
    run.cycles[i] = run.cycles[2 * i] - run.cycles[2 * i + 1];
  }
}

template <Order kOrder>
class Walk {
 public:
  Walk(const ChaseStep& step, const Path& path, const ChainAddresses& chain, std::uint64_t kept, Hierarchy& hierarchy,
       Noise& noise)
      : step_(step),
        path_(path),
        chain_(chain),
        kept_(kept),
        hierarchy_(hierarchy),
        noise_(noise),
        neighbour_(noise),
        position_(step.first),
        left_(step.loads),
        behaviour_(step.loads) {
    behaviour_.first_loads.reserve(kept);
  }

  StepBehaviour take(bool may_watch) {
    if (may_watch && step_.kind != StepKind::kPaired && step_.kind != StepKind::kAtomic) go_round();
    load(left_, nullptr);
    return std::move(behaviour_);
  }

 private:
  // Once a round leaves all caches as they were, every further round repeats it.
  void go_round() {
    const std::uint64_t round = (kLeastRound + chain_.count() - 1) / chain_.count() * chain_.count();
    if (left_ <= 2 * round || round > kLargestRound) return;
    load(1, nullptr);  // the translated page is then as after each round
    std::vector<double> cycles;
    for (int watched = 0; watched < kWatchedRounds && left_ >= 2 * round; ++watched) {
      hierarchy_.checkpoint();
      cycles.clear();
      load(round, &cycles);
      const bool repeats = hierarchy_.is_at_checkpoint();
      hierarchy_.end_checkpoint();
      if (!repeats) continue;
      behaviour_.add_again(cycles, left_ / round, kept_);
      left_ %= round;
    }
  }

  // Simulates the next `loads` loads, and appends their latencies to `cycles`.
  void load(std::uint64_t loads, std::vector<double>* cycles) {
    const std::uint64_t most = kMaxLoadsAtOnce / (step_.kind == StepKind::kPaired ? 2 : 1);
    for (std::uint64_t done = 0; done < loads;) {
      const std::uint64_t undisturbed = neighbour_.undisturbed(loads_at_once(loads - done, most, noise_));
      if (undisturbed == 0) hierarchy_.neighbour_load(path_);
      const std::uint64_t count = std::max<std::uint64_t>(1, undisturbed);
      for (std::size_t i = 0; i < count; ++i) {
        run_.addresses[i] = chain_.at<kOrder>(position_);
        if (++position_ == chain_.count()) position_ = 0;
      }
      take_loads(run_, count, step_, path_, hierarchy_, behaviour_);
      run_.cycles[0] += take_turn(std::abs(run_.cycles[0]), hierarchy_, noise_);
      const std::span taken = std::span(run_.cycles).first(count);
      behaviour_.add(taken, undisturbed == 0, kept_);
      if (cycles != nullptr) cycles->insert(cycles->end(), taken.begin(), taken.end());
      done += count;
    }
    left_ -= loads;
  }

  const ChaseStep& step_;
  const Path& path_;
  const ChainAddresses& chain_;
  const std::uint64_t kept_;
  Hierarchy& hierarchy_;
  Noise& noise_;
  Neighbour neighbour_;
  LoadBatch run_;
  std::uint64_t position_;
  std::uint64_t left_;
  StepBehaviour behaviour_;
};

}  // namespace

StepBehaviour follow(const ChaseStep& step, const Path& path, const ChainAddresses& chain, std::uint64_t kept,
                     bool may_watch, Hierarchy& hierarchy, Noise& noise) {
  switch (chain.order()) {
    case Order::kSequential:
      return Walk<Order::kSequential>(step, path, chain, kept, hierarchy, noise).take(may_watch);
    case Order::kReversed:
      return Walk<Order::kReversed>(step, path, chain, kept, hierarchy, noise).take(may_watch);
    case Order::kShuffled:
      break;
  }
  return Walk<Order::kShuffled>(step, path, chain, kept, hierarchy, noise).take(may_watch);
}

}  // namespace gputopo::sim
