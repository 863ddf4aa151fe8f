// The noise of a simulated machine: what it adds to the latencies of a program's behaviour. Seeded.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/machine/machine.h"
#include "device/sim/machine/random.h"
#include "device/sim/memory/behaviour.h"

namespace gputopo::sim {

class Noise {
 public:
  // Program `index` of the device with `seed` begins: its drift, and whether a neighbour interferes with it.
  Noise(const NoiseSpec& spec, std::uint64_t seed, std::uint64_t index,
        const std::optional<NeighbourSpec>& neighbour = std::nullopt);

  // A neighbour's loads go through the shared caches now and then; the load that comes after one is an outlier.
  [[nodiscard]] bool interferes() const { return interferes_; }
  // Another process takes turns with the program.
  [[nodiscard]] bool takes_turns() const { return turn_cycles_ > 0; }
  // Of neither: an equal program does the same.
  [[nodiscard]] bool is_alone() const { return !interferes() && !takes_turns(); }
  // The program has run for so many cycles more. How many the other's turn took that came then; mostly none came.
  [[nodiscard]] double other_turn(double cycles) {
    since_turn_ += cycles;
    if (since_turn_ < turn_cycles_) return 0;
    since_turn_ = 0;
    was_stopped_ = true;
    return other_turn_cycles_;
  }
  // The other has had a turn.
  [[nodiscard]] bool was_stopped() const { return was_stopped_; }

  // How many loads stay undisturbed before the next that does not.
  [[nodiscard]] std::uint64_t loads_to_disturbance();

  // The sum of the latencies of all loads of a step.
  [[nodiscard]] double total_cycles(const StepBehaviour& behaviour);

  // The latencies, each with `timer_cycles` and in whole cycles: the first ones, the histogram of all, and their sum.
  [[nodiscard]] StepResult timed(const StepBehaviour& behaviour, double timer_cycles);

  // How much longer the first load of each pair took than the second, kPairedZeroCycles added: the histogram.
  [[nodiscard]] StepResult paired(const StepBehaviour& behaviour);

  // A bandwidth's relative error: 1 + sigma * gaussian, never under 0.01.
  [[nodiscard]] double bandwidth_factor();

 private:
  static constexpr std::size_t kGaussianEntries = 4096;

  struct Timed;  // what a timed step adds up to

  // A gaussian number without a logarithm: a random entry of a table of ascending quantiles.
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
  double turn_cycles_ = 0;  // 0: there are no turns
  double other_turn_cycles_ = 0;
  double since_turn_ = 0;
  bool was_stopped_ = false;
};

}  // namespace gputopo::sim
