// A kernel's work as plain numbers. docs/model.md describes the file format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/operation.h"

namespace gputopo::kernel_model {

// Loads or stores of global or shared memory that one level serves. Counts are per thread.
struct MemoryAccess {
  ElementId level = ElementId::kDevice;  // "l1" and "shared" stand for each vendor's equivalent
  bool is_store = false;
  double count = 0;                    // instructions per thread
  double bytes = 0;                    // bytes per lane and instruction
  double in_flight = 1;                // instructions a warp has in flight before it waits
  std::optional<double> transactions;  // per warp instruction; none: accesses are coalesced
};

struct OperationCount {
  OperationId operation = OperationId::kFmaF32;
  double count = 0;  // per thread
};

struct Kernel {
  std::string name;
  std::uint64_t grid_blocks = 1;
  std::uint32_t block_threads = 1;
  std::optional<std::uint32_t> registers_per_thread;  // none: registers impose no limit
  std::uint64_t shared_bytes_per_block = 0;
  double ilp = 1;  // independent operations of a thread
  double barriers = 0;
  std::vector<OperationCount> operations;
  double other_instructions = 0;  // only their issue counts
  std::vector<MemoryAccess> memory;
};

// Reads a kernel file. Throws a FormatError that names the field: "'memory[1].count' must be ...".
[[nodiscard]] Kernel read_kernel(std::string_view text);

}  // namespace gputopo::kernel_model
