#include "device/launch/access_decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::launch {

double BlockSpan::cycles() const {
  return std::max(0.0, static_cast<double>(end_cycles - start_cycles) - static_cast<double>(timer_cycles));
}

BlockSpan span_of(const std::vector<WarpRecord>& warps, std::size_t first, std::size_t count) {
  BlockSpan span;
  for (std::size_t i = first; i < first + count; ++i) {
    span.start_cycles = std::min(span.start_cycles, warps[i].start_cycles);
    span.end_cycles = std::max(span.end_cycles, warps[i].end_cycles);
    span.timer_cycles = std::min(span.timer_cycles, warps[i].timer_cycles);
  }
  return span;
}

void check_start(const BlockRecord& block, const std::string& kernel, std::size_t blocks) {
  if (block.error != kStartedApart) return;
  throw DeviceError(fmt::format(
      "{}: {} blocks did not start together; another program may be using this GPU: try again", kernel, blocks));
}

void check_blocks(const std::vector<BlockRecord>& blocks, const std::string& kernel) {
  for (const BlockRecord& block : blocks) {
    if (block.error == kChainLost)
      throw DeviceError(
          fmt::format("{}: a pointer of the chain led outside the working set; the memory may be faulty", kernel));
    check_start(block, kernel, blocks.size());
  }
}

AccessResult decode(const AccessProgram& program, const std::vector<WarpRecord>& warps) {
  AccessResult result{.blocks = static_cast<std::uint32_t>(warps.size() / program.warps)};
  double sum = 0;
  for (std::size_t i = 0; i < warps.size(); ++i) {
    const double mean = span_of(warps, i, 1).cycles() / static_cast<double>(program.accesses);
    result.least_cycles = i == 0 ? mean : std::min(result.least_cycles, mean);
    result.most_cycles = std::max(result.most_cycles, mean);
    sum += mean;
  }
  double totals = 0;
  for (std::size_t first = 0; first < warps.size(); first += program.warps) {
    totals += span_of(warps, first, program.warps).cycles();
  }
  result.mean_cycles = sum / static_cast<double>(warps.size());
  result.total_cycles = totals / result.blocks;
  return result;
}

}  // namespace gputopo::launch
