#include "device/sim/slices.h"

#include <algorithm>

#include "device/sim/random.h"

namespace gputopo::sim {
namespace {

constexpr std::uint64_t kLineBytes = 128;  // neighbouring lines lie in other slices

// In [-1, 1), always the same for the same two.
double distance(std::uint64_t place, std::uint64_t slice) {
  return 2 * RandomSource(derive_seed(place, slice)).unit() - 1;
}

std::uint32_t l2_partitions(const MachineSpec& spec) {
  std::uint32_t partitions = 1;
  for (const CacheSpec& cache : spec.caches) partitions = std::max(partitions, cache.partitions);
  return partitions;
}

}  // namespace

std::uint32_t partition_of_sm(const MachineSpec& spec, std::uint32_t sm) {
  if (spec.sms_near_first_partition == 0) return sm / spec.sms_per_tpc % l2_partitions(spec);
  return sm < spec.sms_near_first_partition ? 0 : 1;
}

std::vector<double> slice_cycles(const MachineSpec& spec, const ChaseProgram& program, const ChaseStep& step,
                                 std::size_t kept) {
  const SliceSpec& slices = *spec.slices;
  const ChaseArray& array = program.arrays[step.array];
  const std::vector<std::uint32_t> order = chain_order(array, step.chain, step.first + kept);
  const std::uint64_t partition = partition_of_sm(spec, *program.sm);
  constexpr std::uint64_t kTpcs = 1000;  // apart from the numbers of partitions
  const std::uint64_t tpc = kTpcs + *program.sm / spec.sms_per_tpc;
  std::vector<double> cycles;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::uint64_t line = array.element_offset(order[(step.first + i) % array.chain_length()]) / kLineBytes;
    const std::uint64_t slice = RandomSource(line).below(slices.count);
    cycles.push_back(slices.partition_cycles * distance(partition, slice) + slices.tpc_cycles * distance(tpc, slice));
  }
  return cycles;
}

}  // namespace gputopo::sim
