// Fleets that are drawn from a seed, with optional planted faults. Tests hold the fleet analysis to them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "fleet/store.h"

namespace gputopo::test {

enum class FleetFault : std::uint8_t {
  kSlowMemory,     // a bad memory stack: bandwidths and latencies of device memory
  kThrottled,      // rates of everything that runs at the chip's clock
  kOneValue,       // one latency
  kHalfLink,       // a link of half its width
  kFewerSlices,    // an L2 with fewer slices
  kDriftingClock,  // rates of the last run drift from the GPU's own past, in standard deviations of run noise
};

struct PlantedFault {
  std::size_t gpu = 0;
  FleetFault fault = FleetFault::kSlowMemory;
  double deviations = 0;  // shift of each affected value
  bool is_new = false;    // only the latest run has it
  double fraction = 0;    // by how much each affected value is worse in addition: 0.5 halves rates and doubles times
};

// How the values of a model's chips are distributed.
enum class Population : std::uint8_t { kNormal, kHeavy, kSkewed, kBins };
inline constexpr std::array kPopulations = {Population::kNormal, Population::kHeavy, Population::kSkewed,
                                            Population::kBins};

struct FleetShape {
  std::size_t gpus = 64;
  std::size_t models = 1;
  std::size_t runs = 1;                  // per GPU
  bool has_links = false;                // nodes of eight GPUs, each with a link to the next
  std::optional<Population> population;  // of all values; by default each value draws its own
  double spread = 0;                     // relative standard deviation of all values; 0: each value draws its own
};

// Chips of a model differ as real ones do: standard deviations of 0.3% to 5%, with normal, heavy-tailed, skewed or
// two-bin distributions. Values of one part of a chip, and of one chip, are correlated. Runs differ less than chips.
class FleetModel {
 public:
  FleetModel(const FleetShape& shape, std::uint64_t seed);

  [[nodiscard]] std::string gpu_id(std::size_t gpu) const;
  // Call it only once for each FleetModel.
  [[nodiscard]] fleet::Store draw(const std::vector<PlantedFault>& faults);
  // Passes the runs to `take` one after the other, without keeping them.
  template <typename Take>
  void draw_runs(const std::vector<PlantedFault>& faults, const Take& take) {
    for (std::size_t gpu = 0; gpu < shape_.gpus; ++gpu) {
      const Chip chip = draw_chip();
      for (std::size_t run = 0; run < shape_.runs; ++run) take(draw_run(chip, gpu, run, faults));
    }
  }

 private:
  struct ValueModel {
    std::string path;
    std::string unit;
    double centre = 0;
    double spread = 0;   // between chips, relative to the value
    double noise = 0;    // between runs, relative
    double of_chip = 0;  // weight of the factor that a chip's values share; of_part: that a part's values share
    double of_part = 0;
    std::size_t part = 0;
    Population population = Population::kNormal;
    double freedom = 0;    // degrees of freedom of kHeavy
    double bin_share = 0;  // share of the upper bin of kBins
    double sign = 1;       // 1: higher is worse
    bool is_memory = false;
    bool is_rate = false;
  };
  using Chip = std::vector<double>;  // the chip's own deviation of each value, as a logarithm

  void add(const std::string& path, const std::string& unit, double centre, std::size_t part);
  [[nodiscard]] double own_part(const ValueModel& value);
  [[nodiscard]] Chip draw_chip();
  [[nodiscard]] fleet::Run draw_run(const Chip& chip, std::size_t gpu, std::size_t run,
                                    const std::vector<PlantedFault>& faults);

  FleetShape shape_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::vector<ValueModel> values_;
};

}  // namespace gputopo::test
