// Clusters of blocks, and bulk copies.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gputopo {

struct ClusterResult;

enum class ClusterOp : std::uint8_t {
  kChase,     // one thread of the block of rank `reader` chases through the shared memory of another block
  kRead,      // all warps of all blocks read the shared memory of another block each
  kBulkCopy,  // a thread of each block copies from device memory to its shared memory by asynchronous bulk copies (TMA)
};
[[nodiscard]] std::string_view to_string(ClusterOp op);

// Clusters of blocks that read one another's shared memory, and bulk copies. Every block has an SM of its own, the
// blocks of a cluster are ranked from 0. The block of rank r reads the shared memory of rank (r + hop) mod
// cluster_size. Always runs alone.
struct ClusterProgram {
  static constexpr std::string_view kKind = "cluster";
  using Result = ClusterResult;

  ClusterOp op = ClusterOp::kChase;
  std::uint32_t cluster_size = 1;  // blocks; 1 for bulk copies
  bool every_sm = false;           // as many clusters as there is room for at a time, all together; else one cluster
  std::uint32_t reader = 0;        // chase: rank
  std::uint32_t hop = 0;           // chase and read; 0: a block reads its own, by way of the cluster's window
  // Working set. Chase and read: of each block in shared memory. Bulk copies: of all blocks in device memory; each
  // block begins at its share of it and goes round all of it.
  std::uint64_t bytes = 0;
  std::uint32_t warps = 1;          // read: of each block; the others are a single thread
  std::uint32_t copy_bytes = 0;     // bulk copies
  std::uint32_t in_flight = 1;      // bulk copies: of a block under way at a time
  std::uint32_t warm_accesses = 0;  // before those that are timed: loads of a thread, copies of a block
  std::uint32_t accesses = 0;       // that are timed
  friend bool operator==(const ClusterProgram&, const ClusterProgram&) = default;
};

// Of one access: a load of one thread, of all threads of a block, a copy.
[[nodiscard]] std::uint64_t cluster_access_bytes(const ClusterProgram& program);

inline constexpr std::uint32_t kMaxClusterBlocks = 16;
// Loads of a chase are this far apart, those of reads take so many bytes.
inline constexpr std::uint32_t kClusterHopBytes = 128;
inline constexpr std::uint32_t kClusterReadBytes = 16;
// A warp of the GPUs that have clusters.
inline constexpr std::uint32_t kClusterWarpLanes = 32;
inline constexpr std::uint32_t kMaxCopiesInFlight = 32;
// Both counts of accesses are multiples of this; of bulk copies, of those in flight.
inline constexpr std::uint32_t kClusterUnroll = 16;

struct ClusterResult {
  std::vector<std::uint32_t> sms;  // cluster by cluster, by rank: where each block ran
  // Cycles of one access, the timer's own cost taken off, by cluster: of its reader (chase), its first block (bulk
  // copies, from one copy's issue to the next's) or its slowest (read: from one load of a warp to its next).
  std::vector<double> cycles;
  std::uint64_t bytes_moved = 0;  // by all blocks, timed
  double seconds = 0;             // from start to end of the slowest block
  [[nodiscard]] double bytes_per_second() const { return static_cast<double>(bytes_moved) / seconds; }
  std::uint32_t clusters_at_once = 0;  // of this size that fit, as the vendor's interface says; 0: it does not tell
  std::uint32_t largest_cluster = 0;   // that fits, as the vendor's interface says; 0: it does not tell
  friend bool operator==(const ClusterResult&, const ClusterResult&) = default;
};

}  // namespace gputopo
