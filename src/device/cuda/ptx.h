// PTX text for the kernels that interpret programs. The driver compiles it for the GPU that is there.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/cuda/ptx_target.h"
#include "gputopo/program.h"

namespace gputopo::cuda {

// The module with the kernels "fill", "chase" and "spin" (parameters: see kernel_layout.h) and the constant bank
// "constant_bank".
[[nodiscard]] std::string generate_chase_ptx(const PtxTarget& target);
// The module with a kernel "chase" whose programs have arrays in local memory, too, and "constant_bank". Drivers keep
// that memory for every thread that the GPU can run at a time, so that there is a module for each size of it.
// `frame_bytes`: of a thread.
[[nodiscard]] std::string generate_local_chase_ptx(const PtxTarget& target, std::uint64_t frame_bytes);
// That of the smallest module whose frame holds so many bytes of a warp.
[[nodiscard]] std::uint64_t local_frame_bytes(std::uint64_t local_bytes);

// What a stream kernel's code depends on.
struct StreamShape {
  StreamOp op = StreamOp::kRead;
  Space space = Space::kGlobal;
  std::uint32_t vector_bytes = 16;
  std::uint32_t loads_in_flight = 4;
  std::uint32_t threads_per_block = 1024;
  // Bytes that each block streams over by itself, again and again; 0: all blocks share one array.
  std::uint64_t slice_bytes = 0;
  auto operator<=>(const StreamShape&) const = default;
};

// Accesses of one thread in the unrolled body of the shared-array kernel, and the bytes that a block moves with them.
[[nodiscard]] std::uint32_t stream_body_accesses(const StreamShape& shape);
[[nodiscard]] std::uint64_t stream_tile_bytes(const StreamShape& shape);

// Passes over the slice that the body of the per-block kernel makes, so that loads_in_flight accesses exist even in a
// slice that gives each thread fewer.
[[nodiscard]] std::uint32_t stream_body_passes(const StreamShape& shape);

// Parameters of the kernel "stream", in this order.
struct StreamParameters {
  std::uint64_t source = 0;        // address of the array read (or written)
  std::uint64_t target_delta = 0;  // copy: address of the array written minus source
  std::uint64_t records = 0;       // one BlockRecord a block
  std::uint64_t texture = 0;
  std::uint64_t zero = 0;   // 0: added where the compiler must not see that an address stays the same
  std::uint32_t never = 0;  // kNever
  // Per block: times the body's passes, and single passes after them. Shared array: passes over the rest after the
  // tiles.
  std::uint32_t rounds = 0;
  std::uint32_t singles = 0;
  // Shared array only: a block visits tile (first + k * step) mod tiles, and each time round everything moves on by
  // `shift`.
  std::uint32_t tiles = 0;
  std::uint32_t visits = 0;  // of all blocks together
  std::uint32_t step = 0;    // grid mod tiles
  std::uint32_t shift = 0;
  std::uint32_t step_shift = 0;    // shift of the whole rounds in one step: shift * (grid / tiles) mod tiles
  std::uint32_t rest_vectors = 0;  // that no tile holds
  std::uint32_t target_tiles = 0;  // copy: tile i is written to tile i mod target_tiles
};

// The module with the kernel "stream" for a shape (and "constant_bank").
[[nodiscard]] std::string generate_stream_ptx(const PtxTarget& target, const StreamShape& shape);

// The module with the kernels "code" (the stretch of kMaxCodeInstructions; CodeParameters) and "lead_code", the lead
// and the first kMaxCodeBehindLead of the stretch: what their sizes differ by is nearly all blocks. And
// "constant_bank". What stands behind the blocks, and what is fetched ahead of it, must not lie in the sets of the
// first blocks: both kernels are 6 KiB shorter than a few times a power of two.
[[nodiscard]] std::string generate_code_ptx(const PtxTarget& target);

// The module with the kernels "near_jumps", "far_jumps", "aligned_jumps" and "few_near_jumps", the first kFewNearJumps
// blocks of the near ones: what its size and that of all differ by is nearly all blocks.
inline constexpr std::uint32_t kFewNearJumps = 64;
[[nodiscard]] std::string generate_jump_ptx(const PtxTarget& target);
// The module with the kernels "apart_operands", "near_operands" and "close_operands", and "constant_bank".
[[nodiscard]] std::string generate_operand_ptx(const PtxTarget& target);

// The module with the kernels that run access programs (AccessParameters; launch::kAccessKernels), and "fill_links".
[[nodiscard]] std::string generate_access_ptx(const PtxTarget& target);

// The module with the kernels that run cluster programs (ClusterParameters), one for each operation. cluster_target():
// the target with a PTX version that has what they use; throws NotSupportedError where the device or the driver is too
// old.
[[nodiscard]] std::string cluster_kernel_name(ClusterOp op);
[[nodiscard]] PtxTarget cluster_target(const PtxTarget& target, int driver_version);
[[nodiscard]] std::string generate_cluster_ptx(const PtxTarget& target);

// A module with a kernel for each number of registers that threads are to keep (OccupancyParameters).
[[nodiscard]] std::string occupancy_kernel_name(std::uint32_t registers);
[[nodiscard]] std::string generate_occupancy_ptx(const PtxTarget& target, std::span<const std::uint32_t> registers);

// A module with a kernel that does nothing, with so many bytes of arguments, and the target that it is for.
inline constexpr char kEmptyKernel[] = "empty";
struct LaunchTarget {
  PtxTarget ptx;
  std::uint32_t most_argument_bytes = 0;
};
[[nodiscard]] LaunchTarget launch_target(const PtxTarget& target, int driver_version);
[[nodiscard]] std::string generate_empty_ptx(const PtxTarget& target, std::uint32_t argument_bytes);

// The module with the kernels of transfers: "read", "write", "load", "atomic", "atomic_of_gpu" and "store"
// (transfer_ptx.cpp).
[[nodiscard]] std::string generate_transfer_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
