// The hierarchical roofline: the time that each ceiling alone allows (Williams et al., CACM 2009). Each memory level
// has a slanted ceiling, as in Ilic et al., 2014, and Yang et al., 2020.
#pragma once

#include <string>
#include <vector>

namespace gputopo::kernel_model {

struct Ceiling {
  std::string name;  // "device", "f32"
  std::string unit;  // unit of work: "B", "FLOP", or "OP" for integers
  double work = 0;   // work of the whole kernel
  double rate = 0;   // peak work per second; for mixed loads and stores, the peak of the mix

  [[nodiscard]] bool is_memory() const { return unit == "B"; }
  [[nodiscard]] double seconds() const { return rate > 0 ? work / rate : 0; }
};

// Returns the ceilings that have work, longest time first.
[[nodiscard]] std::vector<Ceiling> roofline(std::vector<Ceiling> ceilings);

// Returns the floating-point operations per byte of `level`, or 0 if `level` moves no bytes.
[[nodiscard]] double intensity(const std::vector<Ceiling>& ceilings, const Ceiling& level);

}  // namespace gputopo::kernel_model
