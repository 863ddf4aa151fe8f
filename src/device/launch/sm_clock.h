// The SM clock of a GPU as the blocks of its launches show it, and waking a GPU whose clock has dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace gputopo::launch {

// Below this share of the GPU's highest clock, something holds the clock down: another process on the SM, heat, a power
// limit. Undisturbed answers stay above it: the lowest of 47,000 in the recording of an H200 is 0.95 of the highest,
// and clock readings are accurate to 1%.
inline constexpr double kMinClockShare = 0.9;

class SmClock {
 public:
  // How long one launch of wake() must keep all SMs at work.
  static constexpr std::uint64_t kSpinNanoseconds = 20'000'000;

  // MHz of a block that ran for so long. Nothing if it ran too short to tell, or if no GPU has such a clock.
  [[nodiscard]] static std::optional<double> mhz_of(std::uint64_t cycles, std::uint64_t nanoseconds);

  // Notes the clock of a block. Returns it, or the last known clock if the block ran too short; 0 before the first one.
  double note(std::uint64_t cycles, std::uint64_t nanoseconds);
  [[nodiscard]] double mhz() const { return last_mhz_; }
  // Whether that block's clock was under kMinClockShare of the highest noted one. False if it ran too short to tell.
  [[nodiscard]] bool held_back(std::uint64_t cycles, std::uint64_t nanoseconds) const;

  // Records the end of a launch.
  void worked();
  // Raises the clock if nothing has run for a while. Calls `spin` until two calls in a row see the same clock, or one
  // sees the vendor's highest one, if known. Each call keeps all SMs at work for kSpinNanoseconds and notes a block.
  void wake(const std::function<void()>& spin, std::optional<double> most_mhz);

 private:
  double last_mhz_ = 0;
  double highest_mhz_ = 0;
  std::optional<std::chrono::steady_clock::time_point> last_work_;
};

}  // namespace gputopo::launch
