// Consecutive loads of a program, and what other programs do to the caches between them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "device/sim/memory/hierarchy.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// Counts the loads until the next load of a neighbor, if the program has one.
class Neighbour {
 public:
  explicit Neighbour(Noise& noise) : noise_(noise), loads_left_(noise.loads_to_disturbance()) {}

  // Returns how many of the next `wanted` loads come before the neighbor's next load; 0: that load comes first.
  std::uint64_t undisturbed(std::uint64_t wanted) {
    if (loads_left_ == 0) {
      loads_left_ = noise_.loads_to_disturbance();
      return 0;
    }
    const std::uint64_t loads = std::min(wanted, loads_left_);
    loads_left_ -= loads;
    return loads;
  }

 private:
  Noise& noise_;
  std::uint64_t loads_left_;
};

// Returns how long another process had the GPU after the program ran for `cycles` more; 0 if it took no turn.
inline double take_turn(double cycles, Hierarchy& hierarchy, Noise& noise) {
  if (!noise.takes_turns()) return 0;
  const double stopped = noise.other_turn(cycles);
  if (stopped > 0) hierarchy.lose_contents();
  return stopped;
}

// Loads that go through a hierarchy together, and their latencies.
struct LoadBatch {
  std::array<std::uint64_t, kMaxLoadsAtOnce> addresses;
  std::array<double, kMaxLoadsAtOnce> cycles;

  void load(std::size_t count, const Path& path, Hierarchy& hierarchy) {
    hierarchy.load(path, std::span(addresses).first(count), cycles.data());
  }
};

// Returns how many of the next loads can be simulated together: only 1 if another process may take a turn after it.
inline std::uint64_t loads_at_once(std::uint64_t loads, std::uint64_t most, const Noise& noise) {
  return noise.takes_turns() ? 1 : std::min(loads, most);
}

}  // namespace gputopo::sim
