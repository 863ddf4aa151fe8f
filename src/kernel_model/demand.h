// Translates a report's values into the inputs of the models: what a kernel demands of each part of one GPU.
#pragma once

#include <string>
#include <vector>

#include "kernel_model/figures.h"
#include "kernel_model/hong_kim.h"
#include "kernel_model/kernel.h"
#include "kernel_model/occupancy.h"
#include "kernel_model/roofline.h"

namespace gputopo::kernel_model {

[[nodiscard]] SmLimits sm_limits(Figures& figures, const Kernel& kernel);

struct Gpu {
  Vendor vendor = Vendor::kNvidia;
  double sms = 1;
  double warp_size = 1;
  double cores_per_sm = 1;
  double clock_hz = 1;
};
[[nodiscard]] Gpu gpu_of(Figures& figures, const Topology& topology);

// How the kernel's blocks and threads occupy the GPU.
struct Placement {
  double active_sms = 1;
  double lanes = 1;  // active lanes of a warp
  double warps = 1;  // warps of the grid
};

[[nodiscard]] std::vector<Work> work_of(Figures& figures, const Gpu& gpu, const Kernel& kernel);
[[nodiscard]] std::vector<MemoryPeriods> periods_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                                    const Placement& placement);
// Returns the levels that the kernel's loads and stores pass, nearest first, with the bytes of one warp.
[[nodiscard]] std::vector<LevelTraffic> traffic_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                                   const Placement& placement);
// Returns the peaks of the types that the kernel computes with.
[[nodiscard]] std::vector<Ceiling> peaks_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                            const Placement& placement);

}  // namespace gputopo::kernel_model
