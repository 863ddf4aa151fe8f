#include "device/launch/operation_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

// Kernels of one module: its fixed cost vanishes beside so many, and a refused kernel costs only a few more modules.
constexpr std::size_t kMaxKernels = 32;

}  // namespace

std::string OperationShape::kernel_name() const {
  std::string name = fmt::format("operation_{}", to_string(operation));
  if (beside) name += fmt::format("_{}", to_string(*beside));
  std::ranges::replace(name, '.', '_');
  name = fmt::format("{}_{}", name, streams);
  return sides == 1 ? name : fmt::format("{}_sides_{}", name, sides);
}

std::uint32_t OperationShape::operations() const {
  return operations_per_round({.operation = operation, .beside = beside, .streams = streams, .sides = sides});
}

const OperationInfo& OperationShape::operation_of(std::uint32_t stream) const {
  return info_of(beside && stream % 2 == 1 ? *beside : operation);
}

bool OperationShape::has_text(std::string_view OperationInfo::*of_vendor) const {
  return !(info_of(operation).*of_vendor).empty() && (!beside || !(info_of(*beside).*of_vendor).empty());
}

OperationShape shape_of(const OperationProgram& program) {
  return {program.operation, program.beside, program.streams, program.sides};
}

std::uint32_t results_kept(OperandType type) { return warps_per_operation(type) > 1 ? 1 : kResultsKept; }

std::string refusal_of_spills(const OperationShape& shape, std::uint64_t local_bytes) {
  constexpr std::uint64_t kRegisterBytes = 4;
  if (local_bytes < kRegisterBytes * shape.operations()) return {};
  return fmt::format(
      "the driver's compiler turns the operation into a sequence that spills {} B of registers per lane to memory, so "
      "a measurement would time the spills instead of the operation",
      local_bytes);
}

void compile_in_parts(std::span<const OperationShape> shapes,
                      const std::function<void(std::span<const OperationShape>)>& compile,
                      const std::function<void(const OperationShape&, const std::string&)>& refuse) {
  const auto in_halves = [&](const auto& self, std::span<const OperationShape> some) -> void {
    try {
      compile(some);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceMemoryError&) {
      throw;
    } catch (const DeviceError& error) {
      if (some.size() == 1) return refuse(some.front(), error.what());
      self(self, some.first(some.size() / 2));
      self(self, some.subspan(some.size() / 2));
    }
  };
  for (std::size_t first = 0; first < shapes.size(); first += kMaxKernels) {
    in_halves(in_halves, shapes.subspan(first, std::min(kMaxKernels, shapes.size() - first)));
  }
}

}  // namespace gputopo::launch
