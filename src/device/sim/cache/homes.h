// The home partitions of the lines of a partitioned cache.
#pragma once

#include <cstdint>

#include "device/sim/cache/division.h"
#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// The home partition of each line. A run has as many lines as a partition has sets. Runs are dealt out so that a
// contiguous array has its homes in all partitions alike, and evenly in their sets.
class HomeMap {
 public:
  HomeMap() = default;
  // `block_bytes`: size of a block with one home, a power of two.
  HomeMap(std::uint32_t partitions, std::uint64_t block_bytes, std::uint64_t blocks_of_a_run);

  [[nodiscard]] std::uint32_t home_of(std::uint64_t address) const {
    const std::uint64_t block = address >> block_shift_;
    if (block != last_block_) {
      last_home_ = home_of_block(block);
      last_block_ = block;
    }
    return last_home_;
  }
  // log2 of the bytes of a block with one home.
  [[nodiscard]] unsigned block_shift() const { return block_shift_; }
  // In each aligned group of this many runs, the blocks at one place have each partition as their home once.
  [[nodiscard]] std::uint32_t partitions() const { return partitions_; }
  [[nodiscard]] std::uint64_t run_bytes() const { return by_blocks_of_a_run_.divisor() << block_shift_; }

 private:
  [[nodiscard]] std::uint32_t home_of_block(std::uint64_t block) const;

  std::uint32_t partitions_ = 1;
  unsigned block_shift_ = 0;
  Division by_partitions_{1};
  Division by_blocks_of_a_run_{1};
  // The last answer: consecutive loads are mostly in one block.
  mutable std::uint64_t last_block_ = ~std::uint64_t{0};
  mutable std::uint32_t last_home_ = 0;
};

// `cache` must have partitions.
[[nodiscard]] HomeMap homes_of(const MachineSpec& spec, const CacheSpec& cache);

// The L2 partition near an SM.
[[nodiscard]] std::uint32_t partition_of_sm(const MachineSpec& spec, std::uint32_t sm);

}  // namespace gputopo::sim
