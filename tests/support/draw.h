// Draws random machines. Unlike the distributions of <random>, a seed gives the same values on every system.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

namespace gputopo::truth {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : generator_(seed) {}

  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_() >> 11) * 0x1.0p-53;
  }
  double log_uniform(double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  // 0 to bound - 1.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(uniform(0, bound)); }
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
  }
  template <typename Values>
  auto pick(const Values& values) {
    return values[below(static_cast<std::uint32_t>(std::size(values)))];
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace gputopo::truth
