// What a kernel does, as plain numbers: docs/model.md has the format of its file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/catalogue.h"
#include "gputopo/operation.h"

namespace gputopo::kernel_model {

// Loads or stores of global or shared memory that one level serves, of every thread.
struct MemoryAccess {
  ElementId level = ElementId::kDevice;  // "l1" and "shared" mean the vendor's element of that kind
  bool is_store = false;
  double count = 0;                    // instructions of a thread
  double bytes = 0;                    // of a lane, by one instruction
  double in_flight = 1;                // that a warp has under way before it waits for the first
  std::optional<double> transactions;  // of a warp's instruction; none: its lanes lie in a row
};

struct OperationCount {
  OperationId operation = OperationId::kFmaF32;
  double count = 0;  // of a thread
};

struct Kernel {
  std::string name;
  std::uint64_t grid_blocks = 1;
  std::uint32_t block_threads = 1;
  std::optional<std::uint32_t> registers_per_thread;  // none: they are no limit
  std::uint64_t shared_bytes_per_block = 0;
  double ilp = 1;  // operations of a thread that do not wait for one another
  double barriers = 0;
  std::vector<OperationCount> operations;
  double other_instructions = 0;  // of which only the issue counts
  std::vector<MemoryAccess> memory;
};

// Reads a kernel file. Throws FormatError that names the place: "'memory[1].count' must be ...".
[[nodiscard]] Kernel read_kernel(std::string_view text);

}  // namespace gputopo::kernel_model
