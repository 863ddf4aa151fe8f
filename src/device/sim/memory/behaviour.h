// What the loads of a program do on a machine without noise: how many of them take how long. A behaviour is simulated
// once; each run of an equal program adds its own noise to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gputopo::sim {

// Loads of one step that take equally long.
struct LoadClass {
  double cycles = 0;
  bool disturbed = false;  // a neighbour's load came first
  std::uint64_t count = 0;
};

struct StepBehaviour {
  explicit StepBehaviour(std::uint64_t load_count = 0) : loads(load_count) {}

  std::uint64_t loads;
  std::vector<LoadClass> classes;
  std::vector<std::uint8_t> first_loads;  // the class of each of the first ones, where each is to be kept
  double paired_cycles = 0;               // of a paired step, whose classes are of differences: what all its loads take

  // A load; its class is remembered if it is one of the first `kept`.
  void add(double cycles, bool disturbed, std::uint64_t kept) { add(std::span(&cycles, 1), disturbed, kept); }
  // Loads one after another.
  void add(std::span<const double> cycles, bool disturbed, std::uint64_t kept) {
    for (std::size_t i = 0; i < cycles.size();) {
      const double same = cycles[i];
      const std::size_t first = i;
      while (i < cycles.size() && cycles[i] == same) ++i;
      add_alike(same, disturbed, i - first);
      const std::size_t listed = std::min<std::size_t>(kept, first_loads.size() + i - first);
      if (first_loads.size() < listed) first_loads.resize(listed, static_cast<std::uint8_t>(last_));
    }
  }
  // The same loads so many times more, one after another.
  void add_again(std::span<const double> cycles, std::uint64_t times, std::uint64_t kept) {
    for (; times > 0 && first_loads.size() < kept; --times) add(cycles, false, kept);
    for (const double each : cycles) add_alike(each, false, times);
  }
  // So many loads of one class, which then is that of the load before.
  void add_alike(double cycles, bool disturbed, std::uint64_t count) {
    if (count == 0) return;
    if (last_ >= classes.size() || classes[last_].cycles != cycles || classes[last_].disturbed != disturbed) {
      last_ = find(cycles, disturbed);
    }
    classes[last_].count += count;
  }

 private:
  std::size_t find(double cycles, bool disturbed) {
    std::size_t i = 0;
    while (i < classes.size() && (classes[i].cycles != cycles || classes[i].disturbed != disturbed)) ++i;
    if (i == classes.size()) classes.push_back({cycles, disturbed, 0});
    return i;
  }

  std::size_t last_ = 0;  // class of the load before
};

using Behaviour = std::vector<StepBehaviour>;  // of each step

}  // namespace gputopo::sim
