// What a kernel asks of the parts of one GPU: numbers of a report put into the terms of the models.
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

// Of the whole GPU.
struct Gpu {
  Vendor vendor = Vendor::kNvidia;
  double sms = 1;
  double warp_size = 1;
  double cores_per_sm = 1;
  double clock_hz = 1;
};
[[nodiscard]] Gpu gpu_of(Figures& figures, const Topology& topology);

// How a kernel's blocks lie on it.
struct Placement {
  double active_sms = 1;
  double lanes = 1;  // of a warp that have work
  double warps = 1;  // of the grid
};

[[nodiscard]] std::vector<Work> work_of(Figures& figures, const Gpu& gpu, const Kernel& kernel);
[[nodiscard]] std::vector<MemoryPeriods> periods_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                                    const Placement& placement);
// The levels that the kernel's loads and stores pass, nearest first, with the bytes of a warp.
[[nodiscard]] std::vector<LevelTraffic> traffic_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                                   const Placement& placement);
// Of the types that the kernel computes with.
[[nodiscard]] std::vector<Ceiling> peaks_of(Figures& figures, const Gpu& gpu, const Kernel& kernel,
                                            const Placement& placement);

}  // namespace gputopo::kernel_model
