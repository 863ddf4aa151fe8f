// Chooses the PTX version and target that a device and its driver agree on.
#include "device/cuda/ptx_target.h"

#include <fmt/format.h>

#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

// The PTX version that first has a target (at least 6.0, the first with brx.idx), and the driver that first takes that
// PTX and all older ones (CUDA toolkit release notes and the release history of the PTX ISA document).
struct TargetRow {
  int sm;
  int ptx_major;
  int ptx_minor;
  int driver_version;
};
constexpr TargetRow kTargets[] = {
    {35, 6, 0, 9000},   {37, 6, 0, 9000},   {50, 6, 0, 9000},   {52, 6, 0, 9000},   {53, 6, 0, 9000},
    {60, 6, 0, 9000},   {61, 6, 0, 9000},   {62, 6, 0, 9000},   {70, 6, 0, 9000},   {72, 6, 1, 9010},
    {75, 6, 3, 10000},  {80, 7, 0, 11000},  {86, 7, 1, 11010},  {87, 7, 4, 11040},  {89, 7, 8, 11080},
    {90, 7, 8, 11080},  {100, 8, 6, 12070}, {103, 8, 8, 12090}, {110, 9, 0, 13000}, {120, 8, 7, 12080},
    {121, 8, 8, 12090},
};

}  // namespace

PtxTarget choose_ptx_target(int capability_major, int capability_minor, int driver_version) {
  constexpr int kMostMajor = 99;  // far beyond any that exists
  if (capability_major < 0 || capability_major > kMostMajor || capability_minor < 0 || capability_minor > 9) {
    throw DeviceError(
        fmt::format("the driver reports compute capability {}.{}, which is impossible; reload or update the driver",
                    capability_major, capability_minor));
  }
  const int sm = 10 * capability_major + capability_minor;
  if (sm < kTargets[0].sm) {
    throw NotSupportedError(fmt::format("this GPU has compute capability {}.{}; gputopo needs 3.5 (Kepler) or later",
                                        capability_major, capability_minor));
  }
  const TargetRow* best = nullptr;
  for (const TargetRow& row : kTargets) {
    if (row.sm <= sm && row.driver_version <= driver_version && (best == nullptr || row.sm > best->sm)) best = &row;
  }
  if (best == nullptr) {
    throw DeviceError(
        fmt::format("driver too old: it supports CUDA {}.{}, but this GPU needs 9.0 or later; update the NVIDIA driver",
                    driver_version / 1000, driver_version % 1000 / 10));
  }
  return {best->ptx_major, best->ptx_minor, best->sm};
}

}  // namespace gputopo::cuda
