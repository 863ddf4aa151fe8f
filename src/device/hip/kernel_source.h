// The kernels as HIP C++ text, for hiprtc at run time and for clang in the tests: no header, no library.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "device/launch/kernel_layout.h"

namespace gputopo::hip {

// What differs between the GPUs that the kernels run on.
struct GfxTarget {
  std::string name;                // "gfx90a"
  std::string architecture;        // "CDNA2"
  std::string bypass;              // cache bits of a vector load that vL1 does not answer
  std::string returning;           // bit of an atomic that gives back what was there
  std::string of_system;           // cache bits of an access that no cache of the GPU answers
  std::string atomic_of_system;    // what an atomic has besides, where all of the system may take part
  std::uint32_t engine_bits = 2;   // of the shader engine in HW_ID
  bool has_xcc_id = false;         // several dies, numbered by a register of their own
  double memory_clock_factor = 1;  // from what the driver calls the memory clock to two transfers a clock
};

// The targets that the kernels are written for, by name; features after a colon ("gfx90a:sramecc+:xnack-") do not
// matter. Throws NotSupportedError for any other, naming those that work.
[[nodiscard]] const GfxTarget& gfx_target(const std::string& name);
[[nodiscard]] const std::vector<GfxTarget>& gfx_targets();
[[nodiscard]] bool has_kernels_for(const std::string& name);

// The die of a CU, of the id that the kernels have for it; 0 where the target has one die.
[[nodiscard]] std::uint32_t die_of(const GfxTarget& target, std::uint32_t hardware_id);

// The spaces that programs may use.
inline constexpr Space kHipSpaces[] = {Space::kGlobal, Space::kGlobalBypassL1, Space::kShared, Space::kScalar};
// Throws NotSupportedError for any other.
void check_space(Space space);

// Threads of a wavefront, which an actor's warp is; actors name the first 32 of its lanes only.
inline constexpr std::uint32_t kWavefront = 64;

// What a stream kernel is compiled for.
struct StreamShape {
  StreamOp op = StreamOp::kRead;
  Space space = Space::kGlobal;
  std::uint32_t vector_bytes = 16;
  std::uint32_t loads_in_flight = 4;
  friend auto operator<=>(const StreamShape&, const StreamShape&) = default;
};

// What the kernels of transfers are launched with.
struct TransferShape {
  std::uint32_t threads = 512;  // of a block
  std::uint32_t blocks = 1;
};

// Parameters of the kernel "stream", in this order. Blocks go over tiles of threads * vector_bytes * loads_in_flight
// bytes (of wavefronts instead of threads in the scalar space).
struct StreamParameters {
  std::uint64_t source = 0;       // of all blocks, or of block 0 where slice_bytes is not 0
  std::uint64_t target = 0;       // of writes
  std::uint64_t records = 0;      // a BlockRecord for each block
  std::uint64_t slice_bytes = 0;  // each block goes over its own; 0: all over one array
  std::uint64_t tiles = 0;        // of the array or the slice
  std::uint32_t passes = 0;
  std::uint32_t threads = 0;  // of a block
  std::uint32_t blocks = 0;
  std::uint32_t shift = 0;  // tiles that a block moves on by with each pass
  std::uint32_t never = launch::kNever;
  std::uint32_t wrap = 0;          // bytes after which offsets in a tile begin again: less than a tile in a small array
  std::uint64_t target_tiles = 0;  // of a copy: tile i is written to tile i modulo that
};

// Vectors that a thread may have in flight at once: more registers than that would not fit beside one another.
inline constexpr std::uint32_t kMaxBytesInFlight = 128;

// Kernels "fill", "chase", "spin".
[[nodiscard]] std::string generate_chase_source(const GfxTarget& target);
// The kernels of launch::kAccessKernels and "fill_links". Arguments: AccessParameters, blocks, threads of a block.
[[nodiscard]] std::string generate_access_source(const GfxTarget& target);
// Kernels "code" (CodeParameters) and "code_sizes", which leaves the bytes of the stretch and of the loop around it
// (u32 each) at the address that it is given.
[[nodiscard]] std::string generate_code_source(const GfxTarget& target);
// Blocks that stay (OccupancyParameters), a kernel for each of these numbers of vector registers that a thread is
// given; 0: those it needs.
[[nodiscard]] std::string generate_occupancy_source(const GfxTarget& target, std::span<const std::uint32_t> registers);
[[nodiscard]] std::string occupancy_kernel_name(std::uint32_t registers);
// So many at least: more than the kernel takes itself.
inline constexpr std::uint32_t kLeastVectorRegisters = 48;
// Kernel "empty", with so many bytes of arguments in one.
[[nodiscard]] std::string generate_empty_source(const GfxTarget& target, std::uint32_t argument_bytes);
// Kernels "read" and "write" (memory, bytes, passes, word, sink), which all blocks of a launch share; "load", "atomic"
// and "atomic_of_gpu" (memory, span, warm, count, records) and "store" (memory, lines, count, records), a thread a
// block, whose records are ticks of the wall clock (u64 a block).
[[nodiscard]] std::string generate_transfer_source(const GfxTarget& target, const TransferShape& shape);
// Kernel "stream".
[[nodiscard]] std::string generate_stream_source(const GfxTarget& target, const StreamShape& shape);

}  // namespace gputopo::hip
