// The PTX version (".version") and target (".target") of a module.
#pragma once

namespace gputopo::cuda {

struct PtxTarget {
  int ptx_major = 0;
  int ptx_minor = 0;
  int sm = 0;             // 10 * major + minor of the compute capability
  bool specific = false;  // sm_90a: code for this compute capability alone, with all its features
  friend bool operator==(const PtxTarget&, const PtxTarget&) = default;
};

// The newest target that both the device (compute capability) and the driver (as in cuDriverGetVersion, 1000 * major +
// 10 * minor) know, with the oldest PTX version that has it. The driver compiles older targets for newer devices.
// Throws NotSupportedError for devices before Kepler's sm_35, and DeviceError for a driver too old for any target.
[[nodiscard]] PtxTarget choose_ptx_target(int capability_major, int capability_minor, int driver_version);

}  // namespace gputopo::cuda
