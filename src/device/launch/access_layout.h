// Offsets in the memory of an access program's launch, and the kernel's parameters. Pure numbers, no GPU.
#pragma once

#include <cstdint>

#include "device/launch/kernel_layout.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// Memory begins with the working set, if it is in device memory. The launch clears the rest before it starts: a record
// of each block and of each warp, the word that counts arrivals, and the claims.
struct AccessLayout {
  std::uint32_t blocks = 1;
  std::uint64_t warps = 1;  // warps of all blocks
  std::uint64_t records = 0;
  std::uint64_t warp_records = 0;
  std::uint64_t arrived = 0;
  std::uint64_t claims = 0;
  std::uint64_t bytes = 0;  // total size
};

// Throws UsageError for a program that would take too long.
void check_duration(const AccessProgram& program, std::uint32_t lanes);
[[nodiscard]] AccessLayout lay_out(const AccessProgram& program, std::uint32_t blocks);
// `claims`: whether blocks must claim an SM, because there are more blocks than take part.
[[nodiscard]] AccessParameters encode(const AccessProgram& program, const AccessLayout& layout, Address base,
                                      bool claims);

}  // namespace gputopo::launch
