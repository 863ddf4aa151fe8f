// The SM clock of a GPU as the blocks of its launches show it, and waking a GPU whose clock has gone down.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace gputopo::launch {

// Below this share of a clock that the GPU reaches, something holds it down: another's work on the SM, heat, a power
// limit. What is left alone stays above it: the lowest of 47,000 answers in the recording of an H200 is 0.95 of the
// highest, and readings of the clock are right to 1%.
inline constexpr double kMinClockShare = 0.9;

class SmClock {
 public:
  // How long a launch of a wake must keep all SMs at work.
  static constexpr std::uint64_t kSpinNanoseconds = 20'000'000;

  // MHz of a block that ran for so long; nothing where it ran too short to tell, or no GPU has such a clock.
  [[nodiscard]] static std::optional<double> mhz_of(std::uint64_t cycles, std::uint64_t nanoseconds);

  // Takes note of a block: its clock if it ran long enough to tell, else the last one known; 0 before there is one.
  double note(std::uint64_t cycles, std::uint64_t nanoseconds);
  // The last one that was noted.
  [[nodiscard]] double mhz() const { return last_mhz_; }
  // Whether that block's own clock was under kMinClockShare of the highest that was noted so far. One that ran too
  // short to tell was not.
  [[nodiscard]] bool held_back(std::uint64_t cycles, std::uint64_t nanoseconds) const;

  // A launch has ended.
  void worked();
  // Brings the clock up if nothing has run for a while: calls `spin` until two in a row see the same clock, or one the
  // highest that the vendor tells of, if it does: no more is to come. A call of it keeps all SMs at work for
  // kSpinNanoseconds and takes note of a block.
  void wake(const std::function<void()>& spin, std::optional<double> most_mhz);

 private:
  double last_mhz_ = 0;
  double highest_mhz_ = 0;
  std::optional<std::chrono::steady_clock::time_point> last_work_;
};

}  // namespace gputopo::launch
