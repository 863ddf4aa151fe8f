#include "device/sim/cache/homes.h"

#include <algorithm>
#include <bit>

#include "device/sim/cache/index.h"
#include "device/sim/machine/random.h"

namespace gputopo::sim {
namespace {

// The size of a block with one home: 4 KiB as on an H200, less if a run is shorter, but at least what any cache of the
// machine fetches at once.
std::uint64_t home_block_bytes(const MachineSpec& spec, const CacheSpec& cache, std::uint64_t run_bytes) {
  constexpr std::uint64_t kHomeBytes = 4096;
  std::uint64_t bytes = std::max<std::uint64_t>(cache.line_bytes, std::min(kHomeBytes, std::bit_floor(run_bytes)));
  for (const CacheSpec& other : spec.caches) bytes = std::max<std::uint64_t>(bytes, other.sector_bytes);
  return bytes;
}

std::uint32_t most_partitions(const MachineSpec& spec) {
  std::uint32_t partitions = 1;
  for (const CacheSpec& cache : spec.caches) partitions = std::max(partitions, cache.partitions);
  return partitions;
}

}  // namespace

HomeMap::HomeMap(std::uint32_t partitions, std::uint64_t block_bytes, std::uint64_t blocks_of_a_run)
    : partitions_(partitions),
      block_shift_(static_cast<unsigned>(std::countr_zero(block_bytes))),
      by_partitions_(partitions),
      by_blocks_of_a_run_(std::max<std::uint64_t>(1, blocks_of_a_run)) {}

std::uint32_t HomeMap::home_of_block(std::uint64_t block) const {
  const std::uint64_t run = by_blocks_of_a_run_.quotient(block);
  const std::uint64_t place = by_blocks_of_a_run_.remainder(block);
  // In each aligned group of `partitions_` runs, the blocks at this place have each partition as their home once.
  RandomSource random(derive_seed(place, by_partitions_.quotient(run)));
  return static_cast<std::uint32_t>(by_partitions_.remainder(run + random.below(partitions_)));
}

HomeMap homes_of(const MachineSpec& spec, const CacheSpec& cache) {
  const std::uint64_t run_bytes = set_count_of_partition(cache) * cache.line_bytes;
  const std::uint64_t block_bytes = home_block_bytes(spec, cache, run_bytes);
  return {cache.partitions, block_bytes, run_bytes / block_bytes};
}

std::uint32_t partition_of_sm(const MachineSpec& spec, std::uint32_t sm) {
  if (spec.sms_near_first_partition == 0) return sm / spec.sms_per_tpc % most_partitions(spec);
  return sm < spec.sms_near_first_partition ? 0 : 1;
}

}  // namespace gputopo::sim
