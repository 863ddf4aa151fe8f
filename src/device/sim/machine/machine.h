// A simulated GPU, as data: what machines/*.json describe and what tests draw at random. It is the ground truth.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/device.h"

namespace gputopo::sim {

// kSegmentedLru: what is hit moves into the protected ways, of which the oldest goes back to the newest of the others;
// a new line becomes the newest of the others, the oldest of which gives way. kSrrip: static re-reference interval
// prediction of 2 bits (Jaleel et al., ISCA 2010), hits first.
enum class Replacement { kLru, kTreePlru, kRandom, kFifo, kSegmentedLru, kSrrip };
enum class IndexHash {
  kModulo,   // line number modulo the number of sets
  kXorFold,  // the bits above the set index are folded onto it by exclusive or (set count must be a power of two)
  kMixed,    // a multiplicative hash: contiguous arrays fill the sets unevenly, as a ramp on real caches shows
  kTurns,    // line by line the sets that have a way left take turns: a contiguous array fills unequal sets exactly
};
// Of which SMs a cache is: kTpc: of each `sms_per_tpc` neighbours; kGroup: of each of `sm_groups`; kXcd: of each of
// info.xcd_count equal runs of them, behind their own caches as one of the whole GPU is.
enum class Scope { kSm, kTpc, kGroup, kXcd, kGpu };

[[nodiscard]] constexpr bool is_behind_sms(Scope scope) { return scope == Scope::kXcd || scope == Scope::kGpu; }

enum class WritePolicy { kThrough, kBack };
// What a cache does with a store that it holds the line of.
enum class StoreHit {
  kUpdate,
  kInvalidate,  // the line is dropped, and the store goes on
};

struct CacheSpec {
  std::string id;
  // Capacity. With `unified` set it is the whole of L1 and shared memory; what the carve-out takes is not cache.
  std::uint64_t size_bytes = 0;
  bool unified = false;
  std::uint32_t line_bytes = 128;
  std::uint32_t sector_bytes = 32;                // fetched on a miss; equals line_bytes for a cache without sectors
  std::vector<std::uint32_t> fetch_limits_bytes;  // that a program may set (l2_fetch_bytes), ascending; empty: none
  std::uint32_t ways = 4;                         // 0: fully associative
  std::vector<std::uint32_t> set_ways;  // unequal sets: the ways of each set; then size = line * sum; `ways` is ignored
  Replacement replacement = Replacement::kLru;
  std::uint32_t protected_ways = 0;           // kSegmentedLru: of each set, at most all but one of its ways
  std::vector<std::uint32_t> victim_weights;  // kRandom: how likely each way is replaced; empty: all alike
  IndexHash index = IndexHash::kModulo;
  std::uint32_t set_interleave_bytes = 0;  // lines so near belong to one set; 0: line_bytes
  Scope scope = Scope::kSm;
  std::uint32_t instances = 1;   // per SM (kSm); warp w uses instance w % instances
  std::uint32_t partitions = 1;  // kGpu: an SM reaches size/partitions at the near latency and the rest at the far one:
                                 // its own partition caches what it reads, the whole cache stands behind it
  // With partitions. True: each line is at home in one of them, and what an SM reads of another's becomes an ordinary
  // line of its own too: there is no cache but the partitions, and copies take the room of other lines.
  bool copies_far_lines = false;
  // Stores. Where these are left out, an SM's own cache passes them on and a cache behind the SMs keeps them.
  std::optional<WritePolicy> write_policy;
  std::optional<bool> write_allocate;  // a store that misses brings the line in
  StoreHit store_hit = StoreHit::kUpdate;
};

[[nodiscard]] inline bool writes_back(const CacheSpec& cache) {
  return cache.write_policy ? *cache.write_policy == WritePolicy::kBack : is_behind_sms(cache.scope);
}
[[nodiscard]] inline bool allocates_on_store(const CacheSpec& cache) {
  return cache.write_allocate.value_or(is_behind_sms(cache.scope));
}

// One stop of a space's path: the load-to-use latency when the load hits there.
struct PathStop {
  std::string cache;              // CacheSpec::id
  double latency_cycles = 0;      // near latency where the cache has partitions
  double far_latency_cycles = 0;  // 0 where it has none
};

struct SpaceSpec {
  std::vector<PathStop> path;            // nearest first; empty for shared memory
  double memory_latency_cycles = 0;      // of a load that no cache holds (for shared memory: its latency)
  double far_memory_latency_cycles = 0;  // of one that is at home in a far partition; 0: no other
  double address_cycles = 0;  // of constants: what each further word costs that the lanes of a warp load; 0: not known
};

// One stop of the path that instructions take.
struct CodeStop {
  std::string cache;                  // CacheSpec::id; what constants pass too is shared with them
  double cycles_per_instruction = 0;  // of straight-line code that is found here
  double jump_cycles = 0;  // of a jump to code that is found here; 0: the machine's file says nothing of jumps
};

// One stop of the path of constants that are operands of instructions.
struct OperandStop {
  std::string cache;  // CacheSpec::id; what loads of constants pass too is shared with them
  double cycles = 0;  // of an operation whose constant is found here
};

struct CodeSpec {
  std::uint32_t bytes_per_instruction = 16;
  std::vector<CodeStop> path;                // nearest first
  double memory_cycles_per_instruction = 0;  // of code that no cache holds
  double memory_jump_cycles = 0;             // of a jump to such
  std::uint32_t fetch_bytes = 0;             // of code, that come at once; 0: nothing is known
  double fetch_cycles = 0;                   // of a jump to code that lies in one more fetch
  std::vector<OperandStop> operand_path;     // nearest first
  std::uint32_t pass_constants = 0;          // lines that a pass over operands reads besides: parameters of the kernel
  double memory_operand_cycles = 0;          // of an operation whose constant no cache holds; 0: nothing is known
  double loop_cycles = 0;                    // of each pass, beyond its instructions
};

struct TlbSpec {
  std::uint64_t page_bytes = 2u << 20;
  std::uint32_t entries = 16;
  std::uint32_t ways = 0;               // 0: fully associative
  std::vector<std::uint32_t> set_ways;  // unequal sets: the ways of each set, `entries` in all; `ways` is ignored
  IndexHash index = IndexHash::kModulo;
  double miss_cycles = 0;  // added when this level misses
  // Added instead where the data come from memory: then page tables do, too. Not set: miss_cycles.
  std::optional<double> memory_miss_cycles;
  // Added instead on SMs that are near another L2 partition than the first: the next level lies there. Not set: no more
  // than on the others.
  std::optional<double> far_miss_cycles;
  Scope scope = Scope::kGpu;
};

// Peak and concurrency of one stream: achieved = peak * c / (c + half), c = bytes in flight on the whole GPU.
struct BandwidthSpec {
  double read_bytes_per_second = 0;   // of all SMs together
  double write_bytes_per_second = 0;  // 0: this element takes no writes
  double half_bytes_in_flight = 0;
  double sm_read_bytes_per_second = 0;  // of one SM alone; 0: as much as is under way allows
};

// Shared memory under the accesses of a whole warp.
struct BankSpec {
  std::uint32_t banks = 32;
  std::uint32_t bank_bytes = 4;
  std::uint32_t lanes_at_once = 32;          // 16: a warp's access is one request of each half of it
  std::uint32_t lanes_at_once_8_bytes = 0;   // of loads of 8 B a lane; 0: half of lanes_at_once
  std::uint32_t lanes_at_once_16_bytes = 0;  // 0: a quarter
  // What modes can be chosen, the one that is when nobody asks first: so many bytes lie in successive banks, a divisor
  // of bank_bytes. Empty: bank_bytes, and no choice.
  std::vector<std::uint32_t> modes_bytes;
  double conflict_cycles = 0;       // of each pass over the banks beyond the first one of a request
  double store_latency_cycles = 0;  // from a store until a load of the same word gives its value
};

// Atomic additions by warps, of all lanes to words of their own or to one word.
struct AtomicSpec {
  double latency_cycles = 0;
  double one_address_latency_cycles = 0;
  double lanes_per_cycle = 0;  // of an SM in shared memory, else of all SMs
  double one_address_lanes_per_cycle = 0;
  double far_latency_cycles = 0;  // of a line that is at home in another partition; 0: as much more as a far load takes
};

// What all SMs together deliver to one another in clusters of this size, and of larger ones up to the next row.
struct ClusterBandwidth {
  std::uint32_t cluster_size = 2;
  double read_bytes_per_second = 0;
};

// Clusters of blocks, each on an SM of its own, all of one group (MachineSpec::sm_groups).
struct ClusterSpec {
  std::uint32_t max_size = 0;                // blocks
  double latency_cycles = 0;                 // of a load from the shared memory of another SM of the same TPC
  double other_tpc_cycles = 0;               // more, on average, from an SM of another TPC
  double spread_cycles = 0;                  // more or less, at most, by the pair of SMs
  std::vector<ClusterBandwidth> bandwidths;  // by size, ascending
};

// Asynchronous bulk copies from device memory to shared memory.
struct BulkCopySpec {
  double overhead_cycles = 0;  // of a copy, beyond the latency of a load and the transfer of its bytes
  double issue_cycles = 0;     // from one copy of an SM to the next, at least
  double bytes_per_cycle = 0;  // that arrive at an SM
};

struct NoiseSpec {
  double jitter_cycles = 0;             // standard deviation of every latency
  double outlier_probability = 0;       // of a load
  double outlier_cycles = 0;            // mean of an exponential, added
  double drift_fraction = 0;            // slow relative change of latencies over 1,000 programs
  double interference_probability = 0;  // of a program: a neighbour evicts and delays; 5% of its loads are outliers
  double bandwidth_sigma = 0;           // relative standard deviation of a bandwidth
};

// Another process on the GPU: the two take turns. A turn of the neighbour's stops all programs, and leaves every cache
// and TLB empty.
struct NeighbourSpec {
  double turn_cycles = 0;            // that a program has, from its start on, and then after each of the neighbour's
  double neighbour_turn_cycles = 0;  // its load takes so much longer
  // It works while so many programs run, then rests while as many do, in turns; 0: always.
  std::uint32_t burst_programs = 0;
  double bandwidth_share = 1;  // what it leaves of bandwidths
  bool noticed = true;         // the device tells of its programs that were stopped (ProgramResult::had_company)
};

// What an access that SMs' own caches do not serve takes more or less, by the L2 slice and where the SM is: seeded,
// within these bounds. It shows in the latencies that a timed step on a named SM keeps.
struct SliceSpec {
  std::uint32_t count = 0;
  double partition_cycles = 0;  // alike for the SMs near one partition
  double position_cycles = 0;   // alike for every other pair of TPCs, whatever partition they are near
  double tpc_cycles = 0;        // of each TPC
};

// Units of an SM that do the same, together.
struct PipeSpec {
  double lanes_per_cycle = 0;  // of an operation that says no other
};

// How a machine does an operation.
struct OperationSpec {
  std::string pipe;            // ComputeSpec::pipes
  double latency_cycles = 0;   // until the next that waits for it begins
  double lanes_per_cycle = 0;  // of an SM where it has the pipe for itself; 0: the pipe's
  double instructions = 1;     // machine instructions
  double block_cycles = 0;     // that its latency is longer for each further block that takes part
};

// What computes in an SM.
struct ComputeSpec {
  std::uint32_t schedulers = 1;  // among which warps, and the lanes of pipes, are divided
  double issue_cycles = 1;       // of a scheduler for each instruction
  double loop_cycles = 0;        // of a warp for each round, beyond its operations
  double wait_cycles = 0;        // the same of operations that warps do together, until their results are there
  std::uint32_t instruction_bytes = 16;
  double side_cycles = 0;                    // of each further side of a branch, beyond its operations
  std::uint32_t register_unit = 0;           // registers that a warp is given are a multiple of it; 0: not known
  std::uint64_t register_count = 0;          // of an SM; 0: as many as the vendor's interface says
  std::uint32_t shared_unit = 0;             // bytes of shared memory that a block is given are; 0: not known
  double timer_step_ns = 0;                  // of the timer that all SMs share; 0: not known
  double clock_step_cycles = 1;              // of an SM's clock
  double clock_read_cycles = 1;              // from one reading to the next
  std::vector<double> clock_offsets_cycles;  // of each SM's clock; empty: they agree
  std::map<std::string, PipeSpec> pipes;
  std::map<std::string, OperationSpec> operations;  // by their names (operations.def)
};

// Launches of a kernel that does nothing, as the host sees them.
struct LaunchSpec {
  double latency_ns = 0;         // from a call until the host knows that the kernel has ended
  double submit_ns = 0;          // of the call
  double interval_ns = 0;        // from one launch to the next
  double graph_latency_ns = 0;   // as latency_ns, of a graph of one
  double graph_interval_ns = 0;  // of each further kernel of a graph
  double argument_byte_ns = 0;   // more for each byte of arguments
  std::uint32_t max_argument_bytes = 4096;
};

struct MachineSpec {
  DeviceInfo info;  // backend, simulated are set by the device
  std::vector<CacheSpec> caches;
  std::map<Space, SpaceSpec> spaces;                // what is missing here is not supported by the device
  std::optional<CodeSpec> code;                     // what is missing is not supported by the device
  std::vector<TlbSpec> tlbs;                        // first level first
  std::vector<TlbSpec> texture_tlbs;                // the same of textures, where these have TLBs of their own
  std::map<std::string, BandwidthSpec> bandwidths;  // by cache id, "shared", "memory"
  double sm_bytes_per_second = 0;                   // that one SM reads at most of what all share; 0: as of its L1
  std::optional<BankSpec> banks;                    // of shared memory; what is missing is not supported
  std::map<std::string, AtomicSpec> atomics;        // by "shared" and the id of the cache that performs the others
  std::optional<ClusterSpec> clusters;              // what is missing is not supported
  std::optional<BulkCopySpec> bulk_copies;          // what is missing is not supported
  std::optional<ComputeSpec> compute;               // what is missing is not supported
  std::optional<LaunchSpec> launches;               // what is missing is not supported
  NoiseSpec noise;
  std::optional<NeighbourSpec> neighbour;
  double timer_cycles = 0;  // that two clock reads around a load add to it
  double loop_cycles = 0;   // of each pass of an untimed chain's loop (unrolled_loads.h), beyond the loads
  std::uint32_t sms_per_tpc = 2;
  // What loads take longer from the SMs of each TPC, in turn, from what all SMs share; empty: nothing.
  std::vector<double> tpc_distances_cycles;
  std::vector<std::vector<std::uint32_t>> sm_groups;  // each SM in one of them; where a cache has scope kGroup,
                                                      // or there are clusters
  std::optional<SliceSpec> slices;
  // So many SMs are near the first L2 partition, the others near the second; 0: TPCs take turns.
  std::uint32_t sms_near_first_partition = 0;
};

// Throws NotSupportedError: the machine does not say `what` a program asks for ("how long atomics take"), which its
// file has under `field`.
[[noreturn]] void refuse_silent(const MachineSpec& spec, const std::string& field, const std::string& what);

// The names of shared and device memory in MachineSpec::bandwidths; every other key is a CacheSpec::id.
inline constexpr char kSharedLevel[] = "shared";
inline constexpr char kMemoryLevel[] = "memory";

// How local loads go: as the machine says or, where a machine of NVIDIA's says nothing, as global loads do, if a cache
// of the SM is the first that those pass. Else nothing: they are not supported.
[[nodiscard]] std::optional<SpaceSpec> local_space(const MachineSpec& spec);

}  // namespace gputopo::sim
