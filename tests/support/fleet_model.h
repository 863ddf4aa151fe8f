// Fleets that are drawn from a seed, with faults where a test wants them: what the judgement is held to.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fleet/store.h"

namespace gputopo::test {

enum class FleetFault : std::uint8_t {
  kSlowMemory,     // a stack of memory: its bandwidths and latencies
  kThrottled,      // all that runs at the chip's clock
  kOneValue,       // a single latency
  kHalfLink,       // a link of half its width
  kFewerSlices,    // an L2 of fewer slices
  kDriftingClock,  // against its own past: rates, in deviations from run to run
};

struct PlantedFault {
  std::size_t gpu = 0;
  FleetFault fault = FleetFault::kSlowMemory;
  double deviations = 0;  // of each value that it touches
  bool is_new = false;    // only the latest run has it
};

struct FleetShape {
  std::size_t gpus = 64;
  std::size_t models = 1;
  std::size_t runs = 1;    // of each GPU
  bool has_links = false;  // nodes of eight GPUs, each with a link to the next
};

// Chips of a model differ as real ones do: by 0.3 to 5% from value to value, normally or with heavy tails, skewed or in
// two bins; values of one part of a chip, and of a chip, go together; runs differ by less than chips.
class FleetModel {
 public:
  FleetModel(const FleetShape& shape, std::uint64_t seed);

  [[nodiscard]] std::string gpu_id(std::size_t gpu) const;
  // Once for each model object.
  [[nodiscard]] fleet::Store draw(const std::vector<PlantedFault>& faults);
  // The runs, one after the other, without keeping them.
  template <typename Take>
  void draw_runs(const std::vector<PlantedFault>& faults, const Take& take) {
    for (std::size_t gpu = 0; gpu < shape_.gpus; ++gpu) {
      const Chip chip = draw_chip();
      for (std::size_t run = 0; run < shape_.runs; ++run) take(draw_run(chip, gpu, run, faults));
    }
  }

 private:
  enum class Form : std::uint8_t { kNormal, kHeavy, kSkewed, kBins };
  struct ValueModel {
    std::string path;
    std::string unit;
    double centre = 0;
    double spread = 0;   // of chips, as a part of the value
    double noise = 0;    // of runs
    double of_chip = 0;  // how much of the spread all values of a chip have together, and those of a part
    double of_part = 0;
    std::size_t part = 0;
    Form form = Form::kNormal;
    double freedom = 0;    // of kHeavy
    double bin_share = 0;  // of kBins
    double sign = 1;       // 1: higher is worse
    bool is_memory = false;
    bool is_rate = false;
  };
  using Chip = std::vector<double>;  // what is the chip's own of each value, in logarithms

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
