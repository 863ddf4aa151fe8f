// What a report's GPU makes of a kernel: occupancy, the model of Hong and Kim, the roofline, and which of them binds.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"
#include "kernel_model/hong_kim.h"
#include "kernel_model/kernel.h"
#include "kernel_model/occupancy.h"
#include "kernel_model/roofline.h"

namespace gputopo::kernel_model {

// Something that a kernel cannot be faster than.
struct Bound {
  std::string name;  // "bandwidth of device"
  double seconds = 0;
};

struct Prediction {
  std::string kernel;
  std::string gpu;  // "SIMULATED NVIDIA H200"
  std::uint64_t grid_blocks = 0;
  std::uint32_t block_threads = 0;
  Occupancy occupancy;
  double most_warps = 0;     // of an SM
  double blocks_per_sm = 0;  // that the grid gives an SM at a time
  double active_sms = 0;
  double clock_hz = 0;
  HongKim model;
  std::vector<Ceiling> ceilings;  // the one that takes longest first
  std::vector<Bound> bounds;      // the same
  double seconds = 0;             // predicted: no less than any of them
  std::vector<std::string> notes;
};

// Throws FormatError where the report lacks what this kernel needs, and where a block does not fit on an SM.
[[nodiscard]] Prediction predict(const Topology& topology, const Kernel& kernel);

}  // namespace gputopo::kernel_model
