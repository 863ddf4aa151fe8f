// Seeded noise that a simulated machine adds to the latencies of a program's behavior.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/machine/machine.h"
#include "device/sim/machine/random.h"
#include "device/sim/memory/behaviour.h"

namespace gputopo::sim {

class Noise {
 public:
  // For program `index` of the device with `seed`: decides the drift, and whether a neighbor interferes.
  Noise(const NoiseSpec& spec, std::uint64_t seed, std::uint64_t index,
        const std::optional<NeighbourSpec>& neighbour = std::nullopt);

  // Loads of a neighbor pass the shared caches now and then. The program's next load is then an outlier.
  [[nodiscard]] bool interferes() const { return interferes_; }
  // Another process takes turns with the program.
  [[nodiscard]] bool takes_turns() const { return turn_cycles_ > 0; }
  // True without either: equal programs then have equal behaviors.
  [[nodiscard]] bool is_alone() const { return !interferes() && !takes_turns(); }
  // Advances the program by `cycles`. Returns the length of the other process's turn that came then, mostly 0.
  [[nodiscard]] double other_turn(double cycles) {
    since_turn_ += cycles;
    if (since_turn_ < turn_cycles_) return 0;
    since_turn_ = 0;
    was_stopped_ = true;
    return other_turn_cycles_;
  }
  [[nodiscard]] bool was_stopped() const { return was_stopped_; }

  // Returns the number of loads before the next disturbed one.
  [[nodiscard]] std::uint64_t loads_to_disturbance();

  [[nodiscard]] double total_cycles(const StepBehaviour& behaviour);

  // Returns the first latencies, the histogram of all and their sum, in whole cycles with `timer_cycles` added to each.
  [[nodiscard]] StepResult timed(const StepBehaviour& behaviour, double timer_cycles);

  // Returns the histogram of how much longer the first load of each pair took than the second, plus kPairedZeroCycles.
  [[nodiscard]] StepResult paired(const StepBehaviour& behaviour);

  // Returns the relative error of a bandwidth: 1 + sigma * gaussian, at least 0.01.
  [[nodiscard]] double bandwidth_factor();

 private:
  static constexpr std::size_t kGaussianEntries = 4096;

  struct Timed;  // accumulates a timed step

  // A Gaussian number, from a table of ascending quantiles to avoid a logarithm.
  [[nodiscard]] double gaussian() { return static_cast<double>(gaussian_[random_.next() % kGaussianEntries]); }
  [[nodiscard]] double outlier_cycles();
  [[nodiscard]] std::uint64_t outliers_among(const LoadClass& loads, std::uint64_t count);
  [[nodiscard]] double ordinary_cycles(const LoadClass& loads) const { return loads.cycles * drift_factor_; }
  void add_ordinary(Timed& timed, double cycles, std::uint64_t count, double jitter_cycles);

  NoiseSpec spec_;
  const float* gaussian_;
  RandomSource random_;
  bool interferes_;
  double drift_factor_;
  double turn_cycles_ = 0;  // 0: no turns
  double other_turn_cycles_ = 0;
  double since_turn_ = 0;
  bool was_stopped_ = false;
};

}  // namespace gputopo::sim
