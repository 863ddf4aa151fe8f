#include "device/sim/memory/slices.h"

#include <algorithm>

#include "device/sim/cache/homes.h"
#include "device/sim/machine/random.h"
#include "device/sim/memory/simulator.h"

namespace gputopo::sim {
namespace {

constexpr std::uint64_t kLineBytes = 128;  // each line is hashed to a slice

// A value in (-1, 1] that depends only on the arguments.
double distance(std::uint64_t place, std::uint64_t slice) {
  return 2 * RandomSource(derive_seed(place, slice)).unit() - 1;
}

}  // namespace

std::vector<double> slice_cycles(const MachineSpec& spec, const ChaseProgram& program, const ChaseStep& step,
                                 std::size_t kept) {
  const SliceSpec& slices = *spec.slices;
  const ChaseArray& array = program.arrays[step.array];
  const std::vector<std::uint32_t> order = chain_order(array, step.chain, step.first + kept);
  const std::uint32_t sm = program.actors[step.actor].sm.value_or(program.sm.value_or(0));
  const std::uint64_t partition = partition_of_sm(spec, sm);
  constexpr std::uint64_t kTpcs = 1000;       // no TPC has the number of a partition
  constexpr std::uint64_t kPositions = 5000;  // no position has a number of either
  const std::uint64_t tpc = sm / spec.sms_per_tpc;
  const std::uint64_t position = kPositions + tpc / 2 % 2;
  const auto l2 = std::ranges::find_if(spec.caches, [](const CacheSpec& cache) { return cache.partitions > 1; });
  const std::uint32_t partitions = l2 == spec.caches.end() ? 1 : std::min(l2->partitions, slices.count);
  const HomeMap homes = l2 == spec.caches.end() ? HomeMap() : homes_of(spec, *l2);
  const std::uint64_t base = place_arrays(program)[step.array];
  std::vector<double> cycles;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::uint64_t offset = array.element_offset(order[(step.first + i) % array.chain_length()]);
    // Slices belong to the partitions in turn: the first to the first partition, the second to the second, and so on.
    const std::uint32_t home = homes.home_of(base + offset) % partitions;
    const std::uint32_t of_home = (slices.count - home - 1) / partitions + 1;
    const std::uint64_t slice = home + std::uint64_t{partitions} * RandomSource(offset / kLineBytes).below(of_home);
    cycles.push_back(slices.partition_cycles * distance(partition, slice) +
                     slices.position_cycles * distance(position, slice) +
                     slices.tpc_cycles * distance(kTpcs + tpc, slice));
  }
  return cycles;
}

}  // namespace gputopo::sim
