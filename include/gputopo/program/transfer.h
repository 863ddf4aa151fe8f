// Transfers between the memories of a node: those of its NUMA nodes and of its GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gputopo {

struct TransferResult;

enum class EndpointKind : std::uint8_t {
  kHost,  // the memory of a NUMA node
  kGpu,   // a GPU and its memory
};
[[nodiscard]] std::string_view to_string(EndpointKind kind);

struct Endpoint {
  EndpointKind kind = EndpointKind::kHost;
  std::uint32_t index = 0;  // index in NodeInfo::numa_nodes or NodeInfo::gpus
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};
[[nodiscard]] std::string to_text(const Endpoint& place);  // "host0", "gpu1"
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view text);
// "host0 to gpu1".
[[nodiscard]] std::string link_name(const Endpoint& from, const Endpoint& to);
[[nodiscard]] std::optional<std::pair<Endpoint, Endpoint>> parse_link_name(std::string_view text);

enum class TransferOp : std::uint8_t {
  kCopy,          // by copy engines; host memory is page-locked
  kPageableCopy,  // the same with ordinary (pageable) host memory, by the driver's blocking call
  kRead,          // loads by all SMs of the GPU `to`
  kWrite,         // stores by all SMs of the GPU `from`
  kLoad,          // chains of dependent loads from the memory of `from`, by one thread on each SM of the GPU `to`
  kAtomic,        // the same with atomic additions of 0, at system scope if the link carries them
  kStore,         // stores to the memory of `to`, each followed by a fence, by one thread of the GPU `from`
};
[[nodiscard]] std::string_view to_string(TransferOp op);
// Whether the result is the time of one access instead of the time of all.
[[nodiscard]] bool is_latency(TransferOp op);

// Bytes move from one place to another, also for loads.
struct Transfer {
  Endpoint from;
  Endpoint to;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// Always runs alone on the node.
struct TransferProgram {
  static constexpr std::string_view kKind = "transfer";
  using Result = TransferResult;

  TransferOp op = TransferOp::kCopy;
  std::vector<Transfer> transfers;  // all at the same time; only one for latencies
  std::uint64_t bytes = 0;          // per transfer and pass. Latencies: the memory that is walked
  std::uint32_t repeats = 1;        // consecutive passes. Latencies: timed accesses
  friend bool operator==(const TransferProgram&, const TransferProgram&) = default;
};

inline constexpr std::uint64_t kMaxTransferBytes = 1ull << 30;
inline constexpr std::uint32_t kMaxTransferRepeats = 4096;
// The distance between links of chains: at least a line of every GPU and host.
inline constexpr std::uint64_t kTransferStride = 256;
// The most simultaneous transfers.
inline constexpr std::size_t kMaxTransfers = 1024;

struct TransferResult {
  // The duration of each transfer, in order. Latencies: the time of one access per SM (kStore: of the SM used).
  std::vector<double> seconds;
  // For several transfers: the delay of each start after the first one on the same GPU. An engine may process them one
  // after another. Empty if the device does not report it.
  std::vector<double> begins;
  friend bool operator==(const TransferResult&, const TransferResult&) = default;
};

// Like validate(), to_text() and parse_program() for programs of one GPU.
void validate(const TransferProgram& program);
[[nodiscard]] std::string to_text(const TransferProgram& program);
[[nodiscard]] TransferProgram parse_transfer(std::string_view text);

}  // namespace gputopo
