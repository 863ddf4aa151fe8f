// The kernels that run access programs, and how a vendor launches them.
#pragma once

#include <string>

#include "device/launch/launch_gpu.h"
#include "gputopo/error.h"

namespace gputopo::launch {

struct AccessKernel {
  AccessOp op;
  Space space;
  std::uint32_t load_bytes = 0;  // 8 or 16: wider loads from shared memory

  [[nodiscard]] bool shared() const { return space == Space::kShared; }
  [[nodiscard]] bool constant() const { return space == Space::kConstant; }
  // Links in device memory are pointers. Those in shared memory are 32-bit addresses there, and those of constants are
  // 32-bit offsets in their bank, which begins at 0 of its window.
  [[nodiscard]] bool has_pointers() const { return op == AccessOp::kLoad && is_global(space); }
  [[nodiscard]] std::string name() const {
    const std::string width = load_bytes == 0 ? "" : "_" + std::to_string(load_bytes);
    return std::string(to_string(op)) + "_" + std::string(to_string(space)) + width;
  }
};

// One for each operation, space and width that validate() allows.
inline constexpr AccessKernel kAccessKernels[] = {
    {AccessOp::kLoad, Space::kShared},      {AccessOp::kLoad, Space::kShared, 8},
    {AccessOp::kLoad, Space::kShared, 16},  {AccessOp::kLoad, Space::kConstant},
    {AccessOp::kLoad, Space::kGlobal},      {AccessOp::kLoad, Space::kGlobalBypassL1},
    {AccessOp::kStore, Space::kShared},     {AccessOp::kStore, Space::kGlobalBypassL1},
    {AccessOp::kStoreLoad, Space::kShared}, {AccessOp::kStoreLoad, Space::kGlobalBypassL1},
    {AccessOp::kAtomicAdd, Space::kShared}, {AccessOp::kAtomicAdd, Space::kGlobalBypassL1},
};

// A launch of one of these kernels, or of "fill_links", which writes the links of a working set in device memory.
struct AccessLaunch {
  std::string kernel;
  std::uint32_t blocks = 1;          // blocks that take part
  std::uint32_t surplus_blocks = 0;  // further blocks that leave at once: see AccessParameters::claims
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic shared memory
  std::uint64_t carve_out_bytes = 0;  // ignored if carve-outs are fixed
  std::uint32_t bank_mode_bytes = 0;  // as in AccessProgram
};

class AccessGpu {
 public:
  AccessGpu() = default;
  AccessGpu(const AccessGpu&) = delete;
  AccessGpu& operator=(const AccessGpu&) = delete;
  virtual ~AccessGpu() = default;

  // Returns when the kernel has ended, or when it is queued while launches are held. Throws if it failed.
  virtual void launch(const AccessLaunch& launch, AccessParameters parameters) = 0;
  // Copies these bytes of device memory to the start of the kernels' constants.
  virtual void set_constants(Address /*image*/, std::uint64_t /*bytes*/) {
    throw NotSupportedError("this vendor's GPUs have no constant bank");
  }
};

}  // namespace gputopo::launch
