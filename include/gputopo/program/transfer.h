// Transfers between the places of a node: the memories of its NUMA nodes and of its GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo {

struct TransferResult;

enum class PlaceKind : std::uint8_t {
  kHost,  // the memory of a NUMA node
  kGpu,   // a GPU, and its memory
};
[[nodiscard]] std::string_view to_string(PlaceKind kind);

struct Place {
  PlaceKind kind = PlaceKind::kHost;
  std::uint32_t index = 0;  // in NodeInfo::numa_nodes or NodeInfo::gpus
  friend auto operator<=>(const Place&, const Place&) = default;
};
[[nodiscard]] std::string to_text(const Place& place);  // "host0", "gpu1"

enum class TransferOp : std::uint8_t {
  kCopy,          // copy engines move it; memory of the host is page-locked
  kPageableCopy,  // the same of host memory as programs usually have it, by the driver's blocking call
  kRead,          // all SMs of the GPU at the end `to` load it
  kWrite,         // all SMs of the GPU at the end `from` store it
  kLoad,          // chains of dependent loads of the memory at `from`, by a thread on each SM of the GPU at `to`
  kAtomic,        // the same of atomic additions of zero, at the scope of the system where the link carries them
  kStore,         // stores to the memory at `to`, each waited for (a fence), by a thread of the GPU at `from`
};
[[nodiscard]] std::string_view to_string(TransferOp op);
// Whether it answers with the time of one access instead of that of all.
[[nodiscard]] bool is_latency(TransferOp op);

// Bytes go from one place to another: those that are loaded, too.
struct Transfer {
  Place from;
  Place to;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// Always runs alone on the node.
struct TransferProgram {
  static constexpr std::string_view kKind = "transfer";
  using Result = TransferResult;

  TransferOp op = TransferOp::kCopy;
  std::vector<Transfer> transfers;  // all at once; one alone where latencies are told
  std::uint64_t bytes = 0;          // of each, of one pass. Latencies: of memory that is walked over
  std::uint32_t repeats = 1;        // passes, one behind the other. Latencies: accesses that are timed
  friend bool operator==(const TransferProgram&, const TransferProgram&) = default;
};

inline constexpr std::uint64_t kMaxTransferBytes = 1ull << 30;
inline constexpr std::uint32_t kMaxTransferRepeats = 4096;
// Links of chains are this far apart: a line of every GPU and host.
inline constexpr std::uint64_t kTransferStride = 256;
// At most so many are under way together.
inline constexpr std::size_t kMaxTransfers = 1024;

struct TransferResult {
  // Each transfer's own, in their order, from its beginning to its end. Latencies: of one access, by SM (kStore: of the
  // one that it ran on).
  std::vector<double> seconds;
  // Of several transfers: how long each began after the first of those that the same GPU does. An engine may take them
  // one after another. Empty where the device does not tell.
  std::vector<double> begins;
  friend bool operator==(const TransferResult&, const TransferResult&) = default;
};

// As validate(), to_text() and parse_program() of programs of one GPU.
void validate(const TransferProgram& program);
[[nodiscard]] std::string to_text(const TransferProgram& program);
[[nodiscard]] TransferProgram parse_transfer(std::string_view text);

}  // namespace gputopo
