#include "program/cluster_fields.h"

#include <bit>

#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {
namespace {

void validate_bulk_copy(const ClusterProgram& program) {
  constexpr std::uint32_t kCopyGranule = 16;
  constexpr std::uint32_t kMaxCopyBytes = 128u << 10;
  require(program.cluster_size == 1, "cluster_size", "must be 1 for bulk copies");
  require(program.hop == 0, "hop", "must be 0 for bulk copies");
  require(program.copy_bytes >= kCopyGranule && program.copy_bytes <= kMaxCopyBytes &&
              program.copy_bytes % kCopyGranule == 0,
          "copy_bytes", "must be a multiple of 16 up to 128 KiB");
  require(program.bytes >= program.copy_bytes && program.bytes % program.copy_bytes == 0, "bytes",
          "must be a positive multiple of copy_bytes");
  require(program.in_flight >= 1 && program.in_flight <= kMaxCopiesInFlight, "in_flight", "must be 1 to 32");
  require(program.accesses % program.in_flight == 0, "accesses", "must be a multiple of in_flight");
  require(program.warm_accesses % program.in_flight == 0, "warm_accesses", "must be a multiple of in_flight");
}

}  // namespace

std::string_view to_string(ClusterOp op) { return name_of(op); }

std::uint64_t cluster_access_bytes(const ClusterProgram& program) {
  switch (program.op) {
    case ClusterOp::kChase:
      return sizeof(std::uint64_t);
    case ClusterOp::kRead:
      return std::uint64_t{program.warps} * kClusterWarpLanes * kClusterReadBytes;
    case ClusterOp::kBulkCopy:
      break;
  }
  return program.copy_bytes;
}

void validate_kind(const ClusterProgram& program) {
  constexpr std::uint32_t kMaxAccesses = 1u << 20;
  constexpr std::uint32_t kMaxWarps = 32;
  require(program.cluster_size >= 1 && program.cluster_size <= kMaxClusterBlocks, "cluster_size", "must be 1 to 16");
  require(program.hop < program.cluster_size, "hop", "must be less than cluster_size");
  require(program.reader < program.cluster_size, "reader", "must be less than cluster_size");
  require(program.warps >= 1 && program.warps <= kMaxWarps, "warps", "must be 1 to 32");
  require(program.warps == 1 || program.op == ClusterOp::kRead, "warps", "must be 1 unless op is read");
  require(program.reader == 0 || program.op == ClusterOp::kChase, "reader", "must be 0 unless op is chase");
  require(
      program.accesses >= kClusterUnroll && program.accesses <= kMaxAccesses && program.accesses % kClusterUnroll == 0,
      "accesses", "must be a multiple of 16 from 16 to 2^20");
  require(program.warm_accesses <= kMaxAccesses && program.warm_accesses % kClusterUnroll == 0, "warm_accesses",
          "must be a multiple of 16 up to 2^20");
  if (program.op == ClusterOp::kBulkCopy) return validate_bulk_copy(program);
  require(program.copy_bytes == 0 && program.in_flight == 1, "copy_bytes, in_flight",
          "are allowed only for bulk copies");
  if (program.op == ClusterOp::kChase) {
    require(program.bytes >= kClusterHopBytes && program.bytes % kClusterHopBytes == 0, "bytes",
            "must be a multiple of 128");
  } else {
    const std::uint64_t pass = std::uint64_t{program.warps} * kClusterWarpLanes * kClusterReadBytes;
    require(std::has_single_bit(program.bytes) && program.bytes >= pass, "bytes",
            "must be a power of two, and large enough for one load by every lane of every warp");
  }
}

std::string result_mismatch(const ClusterProgram& program, const ClusterResult& result) {
  if (result.cycles.empty()) return "has no cluster";
  if (result.cycles.size() > 1 && !program.every_sm) return "has several clusters, but only one ran";
  if (result.sms.size() != result.cycles.size() * program.cluster_size) return "does not have one SM for each block";
  if (result.largest_cluster > kMaxClusterBlocks) {
    return fmt::format("has a largest cluster of {} blocks, but the maximum is {}", result.largest_cluster,
                       kMaxClusterBlocks);
  }
  if (std::string wrong = amount_misfit(result.cycles); !wrong.empty()) return wrong;
  if (std::string wrong = amount_misfit({result.seconds}); !wrong.empty()) return wrong;
  return sm_misfit(result.sms);
}

}  // namespace gputopo
