// The kernels that run operation programs, and how a vendor compiles and launches them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// The properties that a kernel's code depends on.
struct OperationShape {
  OperationId operation = OperationId::kAddF32;
  std::optional<OperationId> beside;
  std::uint32_t streams = 1;
  std::uint32_t sides = 1;
  auto operator<=>(const OperationShape&) const = default;

  // "operation_fma_f32_1", "operation_fma_f32_mul_f32_2", "operation_fma_f32_1_sides_4"
  [[nodiscard]] std::string kernel_name() const;
  // Operations of a round of one side of a warp, in all chains together.
  [[nodiscard]] std::uint32_t operations() const;
  [[nodiscard]] const OperationInfo& operation_of(std::uint32_t stream) const;
  // Whether the vendor has a text (OperationInfo::ptx or cdna) for all operations.
  [[nodiscard]] bool has_text(std::string_view OperationInfo::*of_vendor) const;
};

[[nodiscard]] OperationShape shape_of(const OperationProgram& program);

// Results that a chain keeps: an operation reads the last one and the oldest one, which its own result replaces.
inline constexpr std::uint32_t kResultsKept = 4;
// 1 for operations that warps do together, which replace the result before.
[[nodiscard]] std::uint32_t results_kept(OperandType type);
// Shared memory of the factors of such operations: 64 rows, and up to 256 columns of 64 bytes. Operations with 128 rows
// also read some columns as rows; those are random too.
inline constexpr std::uint32_t kRowFactorBytes = 64 * 32;
inline constexpr std::uint32_t kFactorBytes = kRowFactorBytes + 256 * 64;
// Behind the factors, kernels with accumulators in tensor memory keep an address and mbarriers.
inline constexpr std::uint32_t kTensorMemoryBytes = 32;

// The result of compiling a shape.
struct OperationCode {
  std::string refusal;           // why there is no kernel; empty if there is one
  double code_bytes = 0;         // size of a round's code; 0: unknown
  double instruction_bytes = 0;  // size of a machine instruction; 0: unknown
};

struct OperationLaunch {
  OperationShape shape;
  std::uint32_t blocks = 1;          // blocks that take part
  std::uint32_t surplus_blocks = 0;  // further blocks that leave at once: see OperationParameters::claims
  std::uint32_t cluster_size = 0;    // NVIDIA; 0: no clusters
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic shared memory
  std::uint64_t carve_out_bytes = 0;  // ignored if carve-outs are fixed
};

// Compiles the shapes, as many at a time as a module may have. What `compile` refuses (DeviceError) is compiled in
// halves, down to single shapes, which `refuse` gets with the compiler's message.
void compile_in_parts(std::span<const OperationShape> shapes,
                      const std::function<void(std::span<const OperationShape>)>& compile,
                      const std::function<void(const OperationShape&, const std::string&)>& refuse);

// Returns why a kernel that spills registers is not timed; empty if it can be. `local_bytes`: memory of each lane. A
// register or two around the rounds costs nothing, but one for each operation would be what is timed.
[[nodiscard]] std::string refusal_of_spills(const OperationShape& shape, std::uint64_t local_bytes);

class OperationGpu {
 public:
  OperationGpu() = default;
  OperationGpu(const OperationGpu&) = delete;
  OperationGpu& operator=(const OperationGpu&) = delete;
  virtual ~OperationGpu() = default;

  // Compiles new shapes in as few modules as possible, because a module costs as much time as dozens of kernels. A
  // shape that the compiler refuses does not affect the others.
  virtual void prepare(std::span<const OperationShape> shapes) = 0;
  // These shapes will be prepared: work that can begin now does.
  virtual void expect(std::span<const OperationShape>) {}
  // `shape` must be prepared.
  [[nodiscard]] virtual const OperationCode& code_of(const OperationShape& shape) = 0;
  // Returns when the kernel has ended, or when it is queued while launches are held. Throws if it failed.
  virtual void launch(const OperationLaunch& launch, OperationParameters parameters) = 0;
};

}  // namespace gputopo::launch
