// The latencies of a program's loads on a machine without noise, as counts of loads for each latency. A behavior is
// simulated once; each run of an equal program adds its own noise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gputopo::sim {

// Loads of one step with the same latency.
struct LoadClass {
  double cycles = 0;
  bool disturbed = false;  // a neighbor's load came just before
  std::uint64_t count = 0;
};

struct StepBehaviour {
  explicit StepBehaviour(std::uint64_t load_count = 0) : loads(load_count) {}

  std::uint64_t loads;
  std::vector<LoadClass> classes;
  std::vector<std::uint8_t> first_loads;  // index in `classes` of each of the first loads to keep
  double paired_cycles = 0;               // paired steps, whose classes hold differences: cycles of all loads

  // Adds a load, and keeps its class if it is one of the first `kept` loads.
  void add(double cycles, bool disturbed, std::uint64_t kept) { add(std::span(&cycles, 1), disturbed, kept); }
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
  // Adds the same sequence of loads `times` more times.
  void add_again(std::span<const double> cycles, std::uint64_t times, std::uint64_t kept) {
    for (; times > 0 && first_loads.size() < kept; --times) add(cycles, false, kept);
    for (const double each : cycles) add_alike(each, false, times);
  }
  // Adds `count` loads of one class.
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

  std::size_t last_ = 0;  // class of the last load
};

using Behaviour = std::vector<StepBehaviour>;  // one for each step

}  // namespace gputopo::sim
