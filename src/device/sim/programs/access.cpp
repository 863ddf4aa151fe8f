#include "device/sim/programs/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "device/sim/memory/hierarchy.h"

namespace gputopo::sim {
namespace {

constexpr std::uint32_t kSharedWordBytes = 4;

// Lanes of one request if each accesses `word_bytes`.
std::uint32_t lanes_at_once(const BankSpec& banks, std::uint32_t word_bytes) {
  const std::uint32_t given = word_bytes == 8    ? banks.lanes_at_once_8_bytes
                              : word_bytes == 16 ? banks.lanes_at_once_16_bytes
                                                 : banks.lanes_at_once;
  return given != 0 ? given : std::max(1u, banks.lanes_at_once * kSharedWordBytes / word_bytes);
}

// Consecutive bytes in one bank.
std::uint32_t interleave_of(const BankSpec& banks, std::uint32_t mode_bytes) {
  if (mode_bytes == 0) return banks.modes_bytes.empty() ? banks.bank_bytes : banks.modes_bytes.front();
  if (std::ranges::find(banks.modes_bytes, mode_bytes) != banks.modes_bytes.end()) return mode_bytes;
  throw NotSupportedError("the shared memory of this GPU has only one bank mode");
}

// How a level serves the accesses of warps.
struct Service {
  double latency_cycles = 0;   // latency of an access when nothing else is in flight
  double interval_cycles = 0;  // between two accesses: of one SM if the level is its own, else of all SMs
  bool per_sm = true;
};

const BankSpec& banks_of(const MachineSpec& spec) {
  if (!spec.banks) refuse_silent(spec, "banks", "the banks of shared memory");
  return *spec.banks;
}

std::uint32_t partitions_of(const MachineSpec& spec, const std::string& id) {
  const auto cache = std::ranges::find(spec.caches, id, &CacheSpec::id);
  return cache == spec.caches.end() ? 1 : cache->partitions;
}

Service atomic_service(const MachineSpec& spec, const AccessProgram& program) {
  const bool shared = program.space == Space::kShared;
  const auto& path = spec.spaces.at(program.space).path;
  // The nearest cache that performs atomics; a larger one may stand behind it.
  std::string level = shared || path.empty() ? kSharedLevel : path.front().cache;
  for (const PathStop& stop : path) {
    if (!spec.atomics.contains(level)) level = stop.cache;
  }
  const auto found = spec.atomics.find(level);
  if (found == spec.atomics.end()) refuse_silent(spec, "atomics." + level, "the cost of atomics at this level");
  const AtomicSpec& atomics = found->second;
  if (program.lane_stride_bytes == 0) {
    return {atomics.one_address_latency_cycles, spec.info.warp_size / atomics.one_address_lanes_per_cycle, shared};
  }
  // The words lie in many lines, and one in `partitions` has its home in the near partition.
  double latency = atomics.latency_cycles;
  if (atomics.far_latency_cycles > 0) {
    const double partitions = partitions_of(spec, level);
    latency += (atomics.far_latency_cycles - latency) * (partitions - 1) / partitions;
  }
  return {latency, spec.info.warp_size / atomics.lanes_per_cycle, shared};
}

// Each distinct word is served separately, once for all lanes that load it.
Service constant_service(const MachineSpec& spec, const AccessProgram& program, const Level& level) {
  std::set<std::uint64_t> words;
  for (std::uint64_t lane = 0; lane < spec.info.warp_size; ++lane) {
    words.insert(lane * program.lane_stride_bytes % program.bytes);
  }
  const auto further = static_cast<double>(words.size() - 1);
  const double cycles = spec.spaces.at(Space::kConstant).address_cycles;
  if (further > 0 && cycles == 0) {
    refuse_silent(spec, "spaces.constant.address_cycles", "the cost of each additional address that a warp reads");
  }
  return {level.latency_cycles + further * cycles, 1 + further * cycles, level.per_sm};
}

Service plain_service(const MachineSpec& spec, const AccessProgram& program, std::uint64_t carve_out_bytes,
                      double clock_mhz) {
  const Level level = level_of(spec, program.space, program.bytes, carve_out_bytes);
  if (program.space == Space::kConstant) return constant_service(spec, program, level);
  const auto bandwidth = spec.bandwidths.find(level.name);
  if (bandwidth == spec.bandwidths.end())
    refuse_silent(spec, "bandwidths." + level.name, "the bandwidth of this level");
  const std::uint32_t sms = level.per_sm ? spec.info.sm_count : 1;
  const double bytes_per_cycle = bandwidth->second.read_bytes_per_second / sms / (clock_mhz * 1e6);
  std::set<std::uint64_t> fetches;
  for (std::uint64_t lane = 0; lane < spec.info.warp_size; ++lane) {
    fetches.insert(lane * program.lane_stride_bytes % program.bytes / level.fetch_bytes);
  }
  // A pass over the banks takes as long for one word as for all.
  const std::size_t served = program.space == Space::kShared ? spec.info.warp_size : fetches.size();
  const double bytes =
      static_cast<double>(served) * (program.space == Space::kShared ? access_word_bytes(program) : level.fetch_bytes);
  Service service{level.latency_cycles, bytes / bytes_per_cycle, level.per_sm};
  if (program.space != Space::kShared) return service;
  // Neighboring words do not conflict, whatever the banks are.
  const bool plain = access_word_bytes(program) == kSharedWordBytes && program.bank_mode_bytes == 0;
  if (program.op == AccessOp::kLoad && plain && !spec.banks && program.lane_stride_bytes <= kSharedWordBytes)
    return service;
  const BankSpec& banks = banks_of(spec);
  const double conflict =
      banks.conflict_cycles * static_cast<double>(bank_conflicts(banks, program, spec.info.warp_size));
  service.interval_cycles += conflict;
  if (program.op == AccessOp::kStoreLoad) {
    if (banks.store_latency_cycles == 0) refuse_silent(spec, "banks.store_latency_cycles", "the latency of stores");
    service.latency_cycles = banks.store_latency_cycles + conflict;  // the store's conflicts; the load has as many
    service.interval_cycles *= 2;
  }
  service.latency_cycles += conflict;
  // A store waits only for the one before it.
  if (program.op == AccessOp::kStore) service.latency_cycles = service.interval_cycles;
  return service;
}

}  // namespace

Level level_of(const MachineSpec& spec, Space space, std::uint64_t bytes, std::uint64_t carve_out_bytes) {
  const SpaceSpec& path = spec.spaces.at(space);
  if (space == Space::kShared) return {kSharedLevel, path.memory_latency_cycles, true, 4};
  std::uint32_t fetch_bytes = kMinimumStrideBytes;
  for (const PathStop& stop : path.path) {
    const auto cache = std::find_if(spec.caches.begin(), spec.caches.end(),
                                    [&](const CacheSpec& candidate) { return candidate.id == stop.cache; });
    fetch_bytes = cache->sector_bytes;
    if (bytes > usable_bytes(*cache, carve_out_bytes)) continue;
    // The near partition of each SM caches what the SM reads.
    const bool near = bytes <= cache->size_bytes / cache->partitions;
    return {stop.cache, near ? stop.latency_cycles : stop.far_latency_cycles, !is_behind_sms(cache->scope),
            fetch_bytes};
  }
  return {kMemoryLevel, path.memory_latency_cycles, false, fetch_bytes};
}

std::int64_t bank_conflicts(const BankSpec& banks, const AccessProgram& program, std::uint32_t lanes) {
  const std::uint32_t word = access_word_bytes(program);
  const std::uint32_t together = lanes_at_once(banks, word);
  const std::uint64_t interleave = interleave_of(banks, program.bank_mode_bytes);
  std::size_t passes = 0;
  for (std::uint32_t first = 0; first < lanes; first += together) {
    std::map<std::uint64_t, std::set<std::uint64_t>> rows_of_bank;
    for (std::uint32_t lane = first; lane < first + together; ++lane) {
      const std::uint64_t begin = std::uint64_t{lane} * program.lane_stride_bytes % program.bytes;
      for (std::uint64_t byte = begin; byte < begin + word; byte += kSharedWordBytes) {
        rows_of_bank[byte / interleave % banks.banks].insert(byte / (std::uint64_t{banks.banks} * banks.bank_bytes));
      }
    }
    std::size_t most = 0;
    for (const auto& [bank, rows] : rows_of_bank) most = std::max(most, rows.size());
    passes += most;
  }
  // The space's latency is that of 4 B for each lane without conflicts.
  return static_cast<std::int64_t>(passes) - lanes / banks.lanes_at_once;
}

AccessResult simulate_access(const MachineSpec& spec, const AccessProgram& program, std::uint64_t carve_out_bytes,
                             double clock_mhz, Noise& noise) {
  const Service service = program.op == AccessOp::kAtomicAdd ? atomic_service(spec, program)
                                                             : plain_service(spec, program, carve_out_bytes, clock_mhz);
  const std::uint32_t blocks = program.every_sm ? spec.info.sm_count : 1;
  // A closed queue: every warp has one access in flight, so each waits until all others have had their turn.
  const double in_turn = service.interval_cycles * program.warps * (service.per_sm ? 1 : blocks);
  const double cycles = std::max(service.latency_cycles, in_turn);
  AccessResult result{.least_cycles = 0, .blocks = blocks};
  double sum = 0;
  for (std::uint32_t warp = 0; warp < program.warps; ++warp) {
    StepBehaviour chain(program.accesses);
    chain.classes.push_back({cycles, false, program.accesses});
    const double total = std::max(1.0, noise.total_cycles(chain));
    const double mean = total / program.accesses;
    result.least_cycles = warp == 0 ? mean : std::min(result.least_cycles, mean);
    result.most_cycles = std::max(result.most_cycles, mean);
    sum += mean;
  }
  result.mean_cycles = sum / program.warps;
  // While one warp waits for an outlier, the others go on.
  result.total_cycles = result.mean_cycles * program.accesses;
  return result;
}

}  // namespace gputopo::sim
