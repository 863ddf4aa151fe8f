#include "device/launch/sm_clock.h"

#include <algorithm>
#include <cmath>

namespace gputopo::launch {
namespace {

using Clock = std::chrono::steady_clock;

// In shorter runs, the granularity of the SMs' shared clock (10 ns to 1 us), and the time between reading it and
// reading the SM's own clock, distort the quotient.
constexpr std::uint64_t kMinNanoseconds = 200'000;
// No GPU's clock is as high. Such a reading is wrong, and must not become the highest clock.
constexpr double kMaxMhz = 10'000;

// wake(): fewest spins the first time, unless the clock is at its highest, and most spins if it never gets steady.
constexpr int kMinFirstSpins = 3;
constexpr int kMaxSpins = 15;
constexpr double kSteadyClock = 0.005;  // relative difference
// A shorter pause leaves the clock where it is.
constexpr std::chrono::milliseconds kIdleTime{100};

}  // namespace

std::optional<double> SmClock::mhz_of(std::uint64_t cycles, std::uint64_t nanoseconds) {
  if (nanoseconds < kMinNanoseconds) return std::nullopt;
  const double mhz = 1e3 * static_cast<double>(cycles) / static_cast<double>(nanoseconds);
  return mhz <= kMaxMhz ? std::optional(mhz) : std::nullopt;
}

double SmClock::note(std::uint64_t cycles, std::uint64_t nanoseconds) {
  last_mhz_ = mhz_of(cycles, nanoseconds).value_or(last_mhz_);
  highest_mhz_ = std::max(highest_mhz_, last_mhz_);
  return last_mhz_;
}

bool SmClock::held_back(std::uint64_t cycles, std::uint64_t nanoseconds) const {
  const std::optional<double> mhz = mhz_of(cycles, nanoseconds);
  return mhz && *mhz < kMinClockShare * highest_mhz_;
}

void SmClock::worked() { last_work_ = Clock::now(); }

void SmClock::wake(const std::function<void()>& spin, std::optional<double> most_mhz) {
  if (last_work_ && last_mhz_ > 0 && Clock::now() - *last_work_ < kIdleTime) return;
  const int least = last_mhz_ > 0 ? 1 : kMinFirstSpins;
  for (int i = 0; i < kMaxSpins; ++i) {
    const double previous = last_mhz_;
    spin();
    if (most_mhz && last_mhz_ >= (1 - kSteadyClock) * *most_mhz) return;
    if (i + 1 >= least && std::abs(last_mhz_ - previous) <= kSteadyClock * last_mhz_) return;
  }
}

}  // namespace gputopo::launch
