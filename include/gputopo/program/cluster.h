// Clusters of blocks, and asynchronous bulk copies.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gputopo {

struct ClusterResult;

enum class ClusterOp : std::uint8_t {
  kChase,     // one thread of the block of rank `reader` chases pointers in another block's shared memory
  kRead,      // all warps of every block read another block's shared memory
  kBulkCopy,  // one thread per block copies from device memory to its shared memory (TMA)
};
[[nodiscard]] std::string_view to_string(ClusterOp op);

// Clusters of blocks that read one another's shared memory, and bulk copies. Every block runs on its own SM. Rank r
// (from 0) of a cluster reads the shared memory of rank (r + hop) mod cluster_size. Always runs alone.
struct ClusterProgram {
  static constexpr std::string_view kKind = "cluster";
  using Result = ClusterResult;

  ClusterOp op = ClusterOp::kChase;
  std::uint32_t cluster_size = 1;  // blocks; 1 for bulk copies
  bool every_sm = false;           // as many clusters as fit at a time; otherwise one
  std::uint32_t reader = 0;        // chase: rank
  std::uint32_t hop = 0;           // chase and read; 0: a block reads its own memory through the cluster window
  // The working set. Chase and read: per block, in shared memory. Bulk copies: in device memory, for all blocks; each
  // block starts at its share and goes through all of it.
  std::uint64_t bytes = 0;
  std::uint32_t warps = 1;          // read: per block; the other operations use one thread
  std::uint32_t copy_bytes = 0;     // bulk copies
  std::uint32_t in_flight = 1;      // bulk copies: outstanding copies per block
  std::uint32_t warm_accesses = 0;  // untimed accesses before the timed ones: loads per thread, or copies per block
  std::uint32_t accesses = 0;       // timed accesses
  friend bool operator==(const ClusterProgram&, const ClusterProgram&) = default;
};

// Bytes of one access: a load of one thread, a load of all threads of a block, or a copy.
[[nodiscard]] std::uint64_t cluster_access_bytes(const ClusterProgram& program);

inline constexpr std::uint32_t kMaxClusterBlocks = 16;
// The distance between loads of a chase, and the size of a read.
inline constexpr std::uint32_t kClusterHopBytes = 128;
inline constexpr std::uint32_t kClusterReadBytes = 16;
// The warp size of GPUs with clusters.
inline constexpr std::uint32_t kClusterWarpLanes = 32;
inline constexpr std::uint32_t kMaxCopiesInFlight = 32;
// Both access counts are multiples of this. For bulk copies, they are multiples of in_flight.
inline constexpr std::uint32_t kClusterUnroll = 16;

struct ClusterResult {
  std::vector<std::uint32_t> sms;  // the SM of each block, by cluster and rank
  // Cycles of one access for each cluster, without the timer cost. Chase: of its reader. Bulk copies: of its first
  // block, from issue to issue. Read: of its slowest block, from one load of a warp to the next.
  std::vector<double> cycles;
  std::uint64_t bytes_moved = 0;  // by all blocks, timed accesses only
  double seconds = 0;             // from the start to the end of the slowest block
  [[nodiscard]] double bytes_per_second() const { return static_cast<double>(bytes_moved) / seconds; }
  std::uint32_t clusters_at_once = 0;  // clusters of this size that fit, from the vendor's interface; 0: unknown
  std::uint32_t largest_cluster = 0;   // largest cluster that fits, from the vendor's interface; 0: unknown
  friend bool operator==(const ClusterResult&, const ClusterResult&) = default;
};

}  // namespace gputopo
