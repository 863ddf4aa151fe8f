// Where the lines of a cache with partitions are at home.
#pragma once

#include <cstdint>

#include "device/sim/cache/division.h"
#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// In which partition of a cache each line is at home. Every run of as many lines as a partition has sets, and the runs
// behind it, are dealt out so that a contiguous array is at home in all partitions alike, and evenly in their sets.
class HomeMap {
 public:
  HomeMap() = default;
  // `block_bytes`: what is at home in one place, a power of two.
  HomeMap(std::uint32_t partitions, std::uint64_t block_bytes, std::uint64_t blocks_of_a_run);

  [[nodiscard]] std::uint32_t home_of(std::uint64_t address) const {
    const std::uint64_t block = address >> block_shift_;
    if (block != last_block_) {
      last_home_ = home_of_block(block);
      last_block_ = block;
    }
    return last_home_;
  }
  // Of the bytes that are at home in one place.
  [[nodiscard]] unsigned block_shift() const { return block_shift_; }
  // Of as many runs as there are partitions, from a multiple of that many on, each partition has each place once.
  [[nodiscard]] std::uint32_t partitions() const { return partitions_; }
  [[nodiscard]] std::uint64_t run_bytes() const { return by_blocks_of_a_run_.divisor() << block_shift_; }

 private:
  [[nodiscard]] std::uint32_t home_of_block(std::uint64_t block) const;

  std::uint32_t partitions_ = 1;
  unsigned block_shift_ = 0;
  Division by_partitions_{1};
  Division by_blocks_of_a_run_{1};
  // What was asked for last: loads in a row are mostly of one block.
  mutable std::uint64_t last_block_ = ~std::uint64_t{0};
  mutable std::uint32_t last_home_ = 0;
};

// Of a cache that has partitions.
[[nodiscard]] HomeMap homes_of(const MachineSpec& spec, const CacheSpec& cache);

// The L2 partition that an SM is near.
[[nodiscard]] std::uint32_t partition_of_sm(const MachineSpec& spec, std::uint32_t sm);

}  // namespace gputopo::sim
