// The random numbers of the simulator: fast, and the same on every platform.
#pragma once

#include <cstdint>
#include <limits>

namespace gputopo::sim {

// splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  // The interface that distributions require of a generator.
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return next(); }

  // Returns a number in [0, bound).
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32); }

  // Returns a number in (0, 1].
  double unit() { return (static_cast<double>(next() >> 11) + 1.0) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

// Returns a seed for stream `index` of `seed` that is independent of those of its neighbors.
inline std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t index) {
  RandomSource source(seed ^ (index * 0xD1B54A32D192ED03ull));
  return source.next();
}

}  // namespace gputopo::sim
