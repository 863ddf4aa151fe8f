// The hierarchical roofline: the time that each ceiling alone allows (Williams et al., CACM 2009; one slanted ceiling
// for each level of memory, as Ilic et al., 2014, and Yang et al., 2020, have them).
#pragma once

#include <string>
#include <vector>

namespace gputopo::kernel_model {

struct Ceiling {
  std::string name;  // "device", "f32"
  std::string unit;  // of work: "B", "FLOP", "OP" of whole numbers
  double work = 0;   // of the kernel
  double rate = 0;   // work a second at most; of a mix of loads and stores what both together may reach

  [[nodiscard]] bool is_memory() const { return unit == "B"; }
  [[nodiscard]] double seconds() const { return rate > 0 ? work / rate : 0; }
};

// All that have work, the one that takes longest first.
[[nodiscard]] std::vector<Ceiling> roofline(std::vector<Ceiling> ceilings);

// Operations on floating-point numbers per byte of that level; 0 where there are none.
[[nodiscard]] double intensity(const std::vector<Ceiling>& ceilings, const Ceiling& level);

}  // namespace gputopo::kernel_model
