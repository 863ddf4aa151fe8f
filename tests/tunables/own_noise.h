// Included by the copy of the simulator. There, the noise of a program follows from the program, from the attribute
// that is measured and from the programs before it for the same attribute. Otherwise a tunable that adds a program
// would change the noise of every later one, and seem to have an effect on values that do not depend on it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "tuned.h"

namespace gputopo_tuned {

class OwnNoise {
 public:
  struct Place {
    std::uint64_t index = 0;  // of the program, for slow drift
    std::uint64_t seed = 0;
  };

  [[nodiscard]] Place place_of(const std::string& program) {
    constexpr std::uint64_t kFirstIndices = 1000;  // the period of the simulator's drift
    const std::uint64_t step = hash(current_step);
    const std::uint64_t kind = hash(program + current_step);
    return {step % kFirstIndices + programs_[step]++,
            hash(std::to_string(kind) + "," + std::to_string(alike_[kind]++))};
  }
  // The SM of the next program that may run on any.
  [[nodiscard]] std::uint32_t& next_sm() { return sms_[hash(current_step)]; }

 private:
  static std::uint64_t hash(const std::string& text) { return std::hash<std::string>{}(text); }

  std::unordered_map<std::uint64_t, std::uint64_t> programs_, alike_;
  std::unordered_map<std::uint64_t, std::uint32_t> sms_;
};

}  // namespace gputopo_tuned
