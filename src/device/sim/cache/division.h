// Divisions by a fixed divisor.
#pragma once

#include <cstdint>

namespace gputopo::sim {

// Takes a fraction of the time of a division. Valid while dividend * divisor is below 2^64.
class Division {
 public:
  explicit Division(std::uint64_t divisor) : divisor_(divisor), reciprocal_(~std::uint64_t{0} / divisor + 1) {}

  [[nodiscard]] std::uint64_t divisor() const { return divisor_; }
  [[nodiscard]] std::uint64_t quotient(std::uint64_t dividend) const {
    if (divisor_ == 1) return dividend;
    const std::uint64_t guess = guess_of(dividend);
    return guess - (guess * divisor_ > dividend ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t remainder(std::uint64_t dividend) const {
    if (divisor_ == 1) return 0;
    const std::uint64_t rest = dividend - guess_of(dividend) * divisor_;
    return rest < divisor_ ? rest : rest + divisor_;
  }

 private:
  // Returns the quotient, or one more.
  [[nodiscard]] std::uint64_t guess_of(std::uint64_t dividend) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{dividend} * reciprocal_ >> 64);
  }

  std::uint64_t divisor_;
  std::uint64_t reciprocal_;  // 2^64 / divisor, rounded up
};

}  // namespace gputopo::sim
