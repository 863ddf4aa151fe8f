// Predicts a kernel's time on a report's GPU from its occupancy, Hong and Kim's model and the roofline.
#pragma once

#include <string>
#include <vector>

#include "gputopo/model.h"
#include "kernel_model/hong_kim.h"
#include "kernel_model/kernel.h"
#include "kernel_model/occupancy.h"
#include "kernel_model/roofline.h"

namespace gputopo::kernel_model {

// A lower bound of the kernel's time.
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
  double max_warps = 0;      // warps that an SM can hold
  double blocks_per_sm = 0;  // blocks of the grid on an SM at a time
  double active_sms = 0;
  double clock_hz = 0;
  HongKim model;
  std::vector<Ceiling> ceilings;  // longest time first
  std::vector<Bound> bounds;      // longest time first
  double seconds = 0;             // predicted time; at least that of every bound
  std::vector<std::string> notes;
};

// Throws a FormatError if the report lacks a value that this kernel needs, or if a block does not fit on an SM.
[[nodiscard]] Prediction predict(const Topology& topology, const Kernel& kernel);

}  // namespace gputopo::kernel_model
