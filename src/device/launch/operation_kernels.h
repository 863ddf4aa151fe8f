// The kernels that run operation programs: which there are, and how a vendor's are compiled and launched.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// What a kernel's code depends on.
struct OperationShape {
  OperationId operation = OperationId::kAddF32;
  std::optional<OperationId> beside;
  std::uint32_t streams = 1;
  std::uint32_t sides = 1;
  auto operator<=>(const OperationShape&) const = default;

  // "operation_fma_f32_1", "operation_fma_f32_mul_f32_2", "operation_fma_f32_1_sides_4"
  [[nodiscard]] std::string kernel_name() const;
  // Of a round of one side of a warp, of all chains together.
  [[nodiscard]] std::uint32_t operations() const;
  // That of a chain.
  [[nodiscard]] const OperationInfo& operation_of(std::uint32_t stream) const;
  // Whether all have a text for a vendor: OperationInfo::ptx or cdna.
  [[nodiscard]] bool has_text(std::string_view OperationInfo::*of_vendor) const;
};

[[nodiscard]] OperationShape shape_of(const OperationProgram& program);

// Results of a chain that are kept: an operation reads the last and the one so many before, which its own replaces.
inline constexpr std::uint32_t kResultsKept = 4;
// But for what warps do together: there the one before is all that is kept, and replaced.
[[nodiscard]] std::uint32_t results_kept(OperandType type);
// Of the shared memory that factors of these lie in: 64 rows, and up to 256 columns of 64 bytes. What has 128
// rows reads some of the columns too: they are by chance as well.
inline constexpr std::uint32_t kRowFactorBytes = 64 * 32;
inline constexpr std::uint32_t kFactorBytes = kRowFactorBytes + 256 * 64;
// And behind them what kernels with accumulators in tensor memory keep there: an address and mbarriers.
inline constexpr std::uint32_t kTensorMemoryBytes = 32;

// What became of a shape.
struct OperationCode {
  std::string refusal;           // why there is no kernel; empty: there is
  double code_bytes = 0;         // of a round; 0: not told
  double instruction_bytes = 0;  // of one machine instruction; 0: not told
};

struct OperationLaunch {
  OperationShape shape;
  std::uint32_t blocks = 1;          // that take part
  std::uint32_t surplus_blocks = 0;  // beside them, that leave: see OperationParameters::claims
  std::uint32_t cluster_size = 0;    // NVIDIA; 0: no clusters
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic
  std::uint64_t carve_out_bytes = 0;  // ignored where carve-outs are fixed
};

// Has `compile` compile the shapes, as many at a time as a module may have; what it refuses (DeviceError) in halves,
// until it is one, which `refuse` hears of with what the compiler said.
void compile_in_parts(std::span<const OperationShape> shapes,
                      const std::function<void(std::span<const OperationShape>)>& compile,
                      const std::function<void(const OperationShape&, const std::string&)>& refuse);

// Why a kernel is not timed that the compiler did not find registers enough for; empty: it did. `local_bytes`: memory
// of each lane. A register or two around the rounds cost nothing, one for each operation is what would be timed.
[[nodiscard]] std::string refusal_of_spills(const OperationShape& shape, std::uint64_t local_bytes);

class OperationGpu {
 public:
  OperationGpu() = default;
  OperationGpu(const OperationGpu&) = delete;
  OperationGpu& operator=(const OperationGpu&) = delete;
  virtual ~OperationGpu() = default;

  // Compiles those that were not yet, as few modules as may be: one costs as much time as dozens of kernels. One that
  // the compiler refuses costs no other.
  virtual void prepare(std::span<const OperationShape> shapes) = 0;
  // They will be prepared: what can begin now does.
  virtual void expect(std::span<const OperationShape>) {}
  // Of a shape that was prepared.
  [[nodiscard]] virtual const OperationCode& code_of(const OperationShape& shape) = 0;
  // Returns once the kernel has ended, or is queued where launches are held; throws when it failed.
  virtual void launch(const OperationLaunch& launch, OperationParameters parameters) = 0;
};

}  // namespace gputopo::launch
