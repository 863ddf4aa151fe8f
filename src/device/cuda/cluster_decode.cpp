#include "device/cuda/cluster_decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/launch/access_decode.h"
#include "gputopo/error.h"

namespace gputopo::cuda {

void check_blocks(const ClusterProgram& program, const std::vector<BlockRecord>& blocks, const std::string& kernel) {
  for (const BlockRecord& block : blocks) {
    if (block.error == kChainLost) {
      throw DeviceError(fmt::format(
          "{}: {}", kernel,
          program.op == ClusterOp::kBulkCopy
              ? "a bulk copy did not complete; the memory may be faulty"
              : "a load returned a value that is not in any block's shared memory; the memory may be faulty"));
    }
    check_start(block, kernel, blocks.size());
  }
}

ClusterResult decode(const ClusterProgram& program, const std::vector<BlockRecord>& blocks,
                     const std::vector<WarpRecord>& warps, double clock_mhz) {
  ClusterResult result;
  std::vector<double> cycles;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    result.sms.push_back(blocks[block].sm);
    cycles.push_back(span_of(warps, block * program.warps, program.warps).cycles());
    result.seconds = std::max(result.seconds, cycles.back() / (clock_mhz * 1e6));
  }
  for (std::size_t first = 0; first < blocks.size(); first += program.cluster_size) {
    const auto begin = cycles.begin() + static_cast<std::ptrdiff_t>(first);
    const double of_cluster =
        program.op == ClusterOp::kRead ? *std::max_element(begin, begin + program.cluster_size) : begin[program.reader];
    result.cycles.push_back(of_cluster / program.accesses);
  }
  const std::size_t readers = program.op == ClusterOp::kChase ? blocks.size() / program.cluster_size : blocks.size();
  result.bytes_moved = readers * program.accesses * cluster_access_bytes(program);
  return result;
}

}  // namespace gputopo::cuda
