#include "device/cuda/occupancy_modules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "device/cuda/occupancy_ptx.h"

namespace gputopo::cuda {

void OccupancyModules::prepare(std::span<const std::uint32_t> registers) {
  std::vector<std::uint32_t> missing;
  std::ranges::copy_if(registers, std::back_inserter(missing),
                       [&](std::uint32_t count) { return !kernels_.contains(count); });
  if (missing.empty()) return;
  const auto parts = CompileAhead::parts_of(missing, missing.size());
  std::vector<CompileAhead::Begun<std::string>> begun;
  for (const std::vector<std::uint32_t>& part : parts) {
    begun.push_back(gpu_.compiler().begin<std::string>(
        [driver = gpu_.driver(), ptx = generate_occupancy_ptx(gpu_.target(), part)] { return compile(*driver, ptx); }));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Module& module = modules_.emplace_back(gpu_.driver(), begun[i].get());
    for (const std::uint32_t count : parts[i]) add_kernel(module, count);
  }
}

void OccupancyModules::add_kernel(const Module& module, std::uint32_t count) {
  const FunctionHandle function = module.function(occupancy_kernel_name(count).c_str());
  int registers = 0;
  gpu_.driver()->check(gpu_.driver()->func_get_attribute(&registers, FunctionAttribute::kRegisters, function),
                       "cuFuncGetAttribute");
  kernels_[count] = {function, static_cast<std::uint32_t>(std::max(0, registers))};
}

void OccupancyModules::launch(std::uint32_t registers, const launch::KernelLaunch& launch,
                              launch::OccupancyParameters parameters) {
  gpu_.run(kernels_.at(registers).function, occupancy_kernel_name(registers), launch, {&parameters});
}

}  // namespace gputopo::cuda
