#include "device/hip/occupancy_module.h"

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::hip {

void OccupancyModule::prepare(std::span<const std::uint32_t> registers) {
  if (std::ranges::any_of(registers, [](std::uint32_t count) { return count > 0; })) {
    throw NotSupportedError("gputopo has no kernels for AMD GPUs whose threads keep a number of registers");
  }
  if (module_) return;
  module_.emplace(gpu_.runtime(),
                  gpu_.runtime()->compile(generate_occupancy_source(gpu_.target()), gpu_.target().name));
}

void OccupancyModule::launch(std::uint32_t /*registers*/, const launch::KernelLaunch& launch,
                             launch::OccupancyParameters parameters) {
  gpu_.run(module_->function("occupancy"), "occupancy", launch, {&parameters});
}

}  // namespace gputopo::hip
