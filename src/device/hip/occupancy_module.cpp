#include "device/hip/occupancy_module.h"

#include <fmt/format.h>

#include <vector>

#include "device/hip/occupancy_source.h"
#include "gputopo/error.h"

namespace gputopo::hip {

void OccupancyModule::prepare(std::span<const std::uint32_t> registers) {
  std::vector<std::uint32_t> missing;
  for (const std::uint32_t count : registers) {
    if (count != 0 && count < kLeastVectorRegisters) {
      throw NotSupportedError(
          fmt::format("occupancy programs on AMD GPUs need at least {} registers per thread, not {}",
                      kLeastVectorRegisters, count));
    }
    if (!kernels_.contains(count)) missing.push_back(count);
  }
  if (missing.empty()) return;
  const Module& module = modules_.emplace_back(
      gpu_.runtime(), gpu_.runtime()->compile(generate_occupancy_source(gpu_.target(), missing), gpu_.target().name));
  for (const std::uint32_t count : missing) kernels_[count] = module.function(occupancy_kernel_name(count).c_str());
}

void OccupancyModule::launch(std::uint32_t registers, const launch::KernelLaunch& launch,
                             launch::OccupancyParameters parameters) {
  gpu_.run(kernels_.at(registers), occupancy_kernel_name(registers), launch, {&parameters});
}

}  // namespace gputopo::hip
