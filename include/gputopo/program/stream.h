// Streams: bandwidth.
#pragma once

#include <cstdint>
#include <string_view>

#include "gputopo/space.h"

namespace gputopo {

struct StreamResult;

enum class StreamOp : std::uint8_t { kRead, kWrite, kCopy };
[[nodiscard]] std::string_view to_string(StreamOp op);

// SMs stream over memory to measure bandwidth. Always runs alone.
struct StreamProgram {
  static constexpr std::string_view kKind = "stream";
  using Result = StreamResult;

  StreamOp op = StreamOp::kRead;
  Space space = Space::kGlobal;
  // The footprint. per_block: every block streams over its own `bytes` repeatedly (L1, shared, constant). Otherwise
  // all blocks share one array of `bytes` (L2, device memory). kCopy reads one array of `bytes` and writes another.
  std::uint64_t bytes = 0;
  bool per_block = false;
  // For a kCopy in device memory by all blocks: the stores go repeatedly to this many bytes, in whole tiles of the
  // device. 0: to as many bytes as are read.
  std::uint64_t write_span_bytes = 0;
  // Before each pass, all SMs read this many other bytes, so that no cache holds any of the array. 0: no reads between
  // passes. For reads of device memory by all blocks.
  std::uint64_t evict_bytes = 0;
  std::uint32_t sms = 0;  // any SMs, with one block each; 0: all SMs, with `blocks_per_sm` each
  std::uint32_t blocks_per_sm = 1;
  std::uint32_t threads_per_block = 1024;
  std::uint32_t vector_bytes = 16;    // per load or store of a thread: 4, 8 or 16
  std::uint32_t loads_in_flight = 4;  // independent accesses per thread before the first use
  std::uint32_t repeats = 1;          // passes over the footprint
  std::uint64_t shared_carve_out_bytes = 0;
  friend bool operator==(const StreamProgram&, const StreamProgram&) = default;
};

struct StreamResult {
  std::uint64_t bytes_moved = 0;  // a copy counts reads and writes
  double seconds = 0;             // from first start to last end over all SMs
  double cycles = 0;              // of the slowest SM
  friend bool operator==(const StreamResult&, const StreamResult&) = default;
};

}  // namespace gputopo
