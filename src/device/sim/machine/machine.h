// A simulated GPU as data, from machines/*.json or drawn at random by tests. It is the ground truth of the tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/device.h"

namespace gputopo::sim {

// kSegmentedLru: a hit moves its line into the protected ways, and the oldest protected line becomes the newest
// unprotected one. A new line becomes the newest unprotected line and evicts the oldest one. kSrrip: 2-bit static
// re-reference interval prediction (Jaleel et al., ISCA 2010) with hit priority.
enum class Replacement { kLru, kTreePlru, kRandom, kFifo, kSegmentedLru, kSrrip };
enum class IndexHash {
  kModulo,   // line number modulo the number of sets
  kXorFold,  // XORs the bits above the set index into it; needs a power of two of sets
  kMixed,    // multiplicative hash: contiguous arrays fill the sets unevenly, which gives the ramp of real caches
  kTurns,    // fixed round robin with each set once per way: a contiguous array fills unequal sets exactly
};
// The SMs that share a cache. kTpc: `sms_per_tpc` neighboring SMs. kGroup: one of `sm_groups`. kXcd: one of
// info.xcd_count equal runs of SMs; such a cache stands behind the caches of the SMs, as one of kGpu does.
enum class Scope { kSm, kTpc, kGroup, kXcd, kGpu };

[[nodiscard]] constexpr bool is_behind_sms(Scope scope) { return scope == Scope::kXcd || scope == Scope::kGpu; }

enum class WritePolicy { kThrough, kBack };
// The effect of a store that hits.
enum class StoreHit {
  kUpdate,
  kInvalidate,  // drops the line and passes the store on
};

struct CacheSpec {
  std::string id;
  // Capacity in bytes. With `unified` it includes shared memory, and the cache loses the carve-out.
  std::uint64_t size_bytes = 0;
  bool unified = false;
  std::uint32_t line_bytes = 128;
  std::uint32_t sector_bytes = 32;                // bytes that one miss fetches; line_bytes if there are no sectors
  std::vector<std::uint32_t> fetch_limits_bytes;  // limits that a program may set (l2_fetch_bytes), ascending
  std::uint32_t ways = 4;                         // 0: fully associative
  std::vector<std::uint32_t> set_ways;            // ways of each set if unequal; replaces `ways`; sum * line = size
  Replacement replacement = Replacement::kLru;
  std::uint32_t protected_ways = 0;           // kSegmentedLru: protected ways of each set, fewer than all
  std::vector<std::uint32_t> victim_weights;  // kRandom: relative odds of each way; empty: equal odds
  IndexHash index = IndexHash::kModulo;
  std::uint32_t set_interleave_bytes = 0;  // lines within so many bytes share a set; 0: line_bytes
  Scope scope = Scope::kSm;
  std::uint32_t instances = 1;  // caches per SM (kSm); warp w uses w % instances
  // Only kGpu. The near partition caches what the SM reads (near latency), and the whole cache is behind it (far
  // latency).
  std::uint32_t partitions = 1;
  // With partitions. True: each line has a home partition and there is no whole cache. What an SM reads of another
  // partition becomes an ordinary line of the near one too, so copies take the room of other lines.
  bool copies_far_lines = false;
  // Stores. By default, caches of SMs write through and do not allocate; caches behind the SMs write back and allocate.
  std::optional<WritePolicy> write_policy;
  std::optional<bool> write_allocate;  // whether a store that misses brings the line in
  StoreHit store_hit = StoreHit::kUpdate;
};

[[nodiscard]] inline bool writes_back(const CacheSpec& cache) {
  return cache.write_policy ? *cache.write_policy == WritePolicy::kBack : is_behind_sms(cache.scope);
}
[[nodiscard]] inline bool allocates_on_store(const CacheSpec& cache) {
  return cache.write_allocate.value_or(is_behind_sms(cache.scope));
}

// A cache on the path of a space.
struct PathStop {
  std::string cache;              // CacheSpec::id
  double latency_cycles = 0;      // load-to-use, on a hit; in the near partition if there are several
  double far_latency_cycles = 0;  // on a hit in a far partition; 0 without partitions
};

struct SpaceSpec {
  std::vector<PathStop> path;            // nearest first; empty for shared memory
  double memory_latency_cycles = 0;      // latency of a load that misses every cache; shared memory: its latency
  double far_memory_latency_cycles = 0;  // latency of a line whose home is far; 0: the same as near
  double address_cycles = 0;             // constants: cost of each further word that a warp's lanes load; 0: unknown
};

// A cache on the path of instructions.
struct CodeStop {
  std::string cache;                  // CacheSpec::id; shared with constants if their path has it too
  double cycles_per_instruction = 0;  // straight-line code, on a hit
  double jump_cycles = 0;             // jump, on a hit; 0: the file does not describe jumps
};

// A cache on the path of constants that are operands of instructions.
struct OperandStop {
  std::string cache;  // CacheSpec::id; shared with loads of constants if their path has it too
  double cycles = 0;  // operation whose constant hits here
};

struct CodeSpec {
  std::uint32_t bytes_per_instruction = 16;
  std::vector<CodeStop> path;                // nearest first
  double memory_cycles_per_instruction = 0;  // code that no cache holds
  double memory_jump_cycles = 0;             // jump to code that no cache holds
  std::uint32_t fetch_bytes = 0;             // bytes of code that one fetch brings; 0: unknown
  double fetch_cycles = 0;                   // extra cost of a jump for each further fetch that its code spans
  std::vector<OperandStop> operand_path;     // nearest first
  std::uint32_t pass_constants = 0;          // extra lines that each pass over operands reads: kernel parameters
  double memory_operand_cycles = 0;          // operation whose constant no cache holds; 0: unknown
  double loop_cycles = 0;                    // overhead of each pass, beyond its instructions
};

struct TlbSpec {
  std::uint64_t page_bytes = 2u << 20;
  std::uint32_t entries = 16;
  std::uint32_t ways = 0;               // 0: fully associative
  std::vector<std::uint32_t> set_ways;  // ways of each set if unequal; replaces `ways`; their sum is `entries`
  IndexHash index = IndexHash::kModulo;
  double miss_cycles = 0;  // added when this level misses
  // Replaces miss_cycles for loads that memory serves, because their page tables come from memory too.
  std::optional<double> memory_miss_cycles;
  // Replaces miss_cycles on SMs that are not near the first L2 partition, where the next level lies. Unset: no change.
  std::optional<double> far_miss_cycles;
  Scope scope = Scope::kGpu;
};

// Bandwidth of a level: achieved = peak * c / (c + half), where c is the bytes in flight on the whole GPU.
struct BandwidthSpec {
  double read_bytes_per_second = 0;   // all SMs together
  double write_bytes_per_second = 0;  // 0: the level takes no writes
  double half_bytes_in_flight = 0;
  double sm_read_bytes_per_second = 0;  // limit of one SM; 0: no limit besides the bytes in flight
};

// Shared memory, for accesses of whole warps.
struct BankSpec {
  std::uint32_t banks = 32;
  std::uint32_t bank_bytes = 4;
  std::uint32_t lanes_at_once = 32;          // lanes of one request; 16: half-warps
  std::uint32_t lanes_at_once_8_bytes = 0;   // the same for 8 B per lane; 0: half of lanes_at_once
  std::uint32_t lanes_at_once_16_bytes = 0;  // the same for 16 B per lane; 0: a quarter
  // The modes that can be chosen, default first: consecutive bytes in one bank, dividing bank_bytes. Empty: bank_bytes.
  std::vector<std::uint32_t> modes_bytes;
  double conflict_cycles = 0;       // cost of each further pass over the banks that a request needs
  double store_latency_cycles = 0;  // from a store until a load of the word gives its value; 0: unknown
};

// Atomic additions by whole warps, with a word per lane or one word for all lanes.
struct AtomicSpec {
  double latency_cycles = 0;
  double one_address_latency_cycles = 0;
  double lanes_per_cycle = 0;  // one SM in shared memory, otherwise all SMs together
  double one_address_lanes_per_cycle = 0;
  double far_latency_cycles = 0;  // line whose home is far; 0: latency_cycles + what a far load takes longer
};

// Bandwidth of all SMs together in clusters of this size, and of larger ones up to the next row.
struct ClusterBandwidth {
  std::uint32_t cluster_size = 2;
  double read_bytes_per_second = 0;
};

// Clusters of blocks. Each block has its own SM, and all SMs are in one group (MachineSpec::sm_groups).
struct ClusterSpec {
  std::uint32_t max_size = 0;                // blocks per cluster
  double latency_cycles = 0;                 // load from the other SM of a TPC
  double other_tpc_cycles = 0;               // mean extra latency from another TPC
  double spread_cycles = 0;                  // largest deviation from that mean, drawn for each pair of SMs
  std::vector<ClusterBandwidth> bandwidths;  // ascending by size
};

// Asynchronous bulk copies from device memory to shared memory.
struct BulkCopySpec {
  double overhead_cycles = 0;  // cost of a copy beyond the latency of a load and the transfer
  double issue_cycles = 0;     // least time between two copies of an SM
  double bytes_per_cycle = 0;  // arrival rate at one SM
};

struct NoiseSpec {
  double jitter_cycles = 0;             // standard deviation of every latency
  double outlier_probability = 0;       // per load
  double outlier_cycles = 0;            // mean of the exponential that an outlier adds
  double drift_fraction = 0;            // relative amplitude of a slow oscillation with a period of 1,000 programs
  double interference_probability = 0;  // per program: a neighbor evicts lines, and 5% of the loads are outliers
  double bandwidth_sigma = 0;           // relative standard deviation of a bandwidth
};

// Another process that takes turns with ours on the GPU. Its turn stops all programs and empties every cache and TLB.
struct NeighbourSpec {
  double turn_cycles = 0;            // turn of a program, from its start and after each turn of the neighbor
  double neighbour_turn_cycles = 0;  // added to the load that the turn interrupts
  // The neighbor works during this many programs, then rests during as many. 0: it never rests.
  std::uint32_t burst_programs = 0;
  double bandwidth_share = 1;  // fraction of the bandwidths that it leaves
  bool noticed = true;         // whether the device reports stopped programs (ProgramResult::had_contention)
};

// Latency differences by L2 slice and position of the SM, seeded, within these bounds. They affect only loads that pass
// the SM's own caches, in the latencies that a timed step on a named SM keeps.
struct SliceSpec {
  std::uint32_t count = 0;
  double partition_cycles = 0;  // the same for all SMs near one partition
  double position_cycles = 0;   // the same for every other pair of TPCs, whatever their partition
  double tpc_cycles = 0;        // different for each TPC
};

// The execution units of an SM that do the same operations.
struct PipeSpec {
  double lanes_per_cycle = 0;  // default of its operations
};

// The cost of an operation on this machine.
struct OperationSpec {
  std::string pipe;            // key of ComputeSpec::pipes
  double latency_cycles = 0;   // until a dependent operation can begin
  double lanes_per_cycle = 0;  // rate of an SM that does nothing else; 0: that of the pipe
  double instructions = 1;     // machine instructions per operation
  double block_cycles = 0;     // extra latency for each further block that takes part
};

// The execution resources of an SM.
struct ComputeSpec {
  std::uint32_t schedulers = 1;  // warps and the lanes of pipes are divided among them
  double issue_cycles = 1;       // time of one scheduler per instruction
  double loop_cycles = 0;        // cost per round of a warp, beyond its operations
  double wait_cycles = 0;        // wait for results, per round of operations that several warps do together
  std::uint32_t instruction_bytes = 16;
  double side_cycles = 0;                    // cost of each further side of a branch, beyond its operations
  std::uint32_t register_unit = 0;           // granularity of a warp's registers; 0: unknown
  std::uint64_t register_count = 0;          // registers of an SM; 0: as the vendor's interface says
  std::uint32_t shared_unit = 0;             // granularity of a block's shared memory in bytes; 0: unknown
  double timer_step_ns = 0;                  // resolution of the timer that all SMs share; 0: unknown
  double clock_step_cycles = 1;              // resolution of an SM's clock
  double clock_read_cycles = 1;              // time between two readings
  std::vector<double> clock_offsets_cycles;  // offset of each SM's clock; empty: the clocks agree
  std::map<std::string, PipeSpec> pipes;
  std::map<std::string, OperationSpec> operations;  // keys: operations.def
};

// Launches of an empty kernel, as the host sees them.
struct LaunchSpec {
  double latency_ns = 0;         // from the call until the host knows that the kernel has ended
  double submit_ns = 0;          // duration of the call
  double interval_ns = 0;        // between consecutive launches
  double graph_latency_ns = 0;   // latency_ns for a graph of one kernel
  double graph_interval_ns = 0;  // extra time for each further kernel of a graph
  double argument_byte_ns = 0;   // extra time for each byte of arguments
  std::uint32_t max_argument_bytes = 4096;
};

struct MachineSpec {
  DeviceInfo info;  // the device sets backend and simulated
  std::vector<CacheSpec> caches;
  std::map<Space, SpaceSpec> spaces;                // missing spaces are not supported
  std::optional<CodeSpec> code;                     // not supported if missing
  std::vector<TlbSpec> tlbs;                        // first level first
  std::vector<TlbSpec> texture_tlbs;                // TLBs of textures, if they have their own
  std::map<std::string, BandwidthSpec> bandwidths;  // keys: cache ids, "shared", "memory"
  double sm_bytes_per_second = 0;                   // limit of one SM to all that SMs share; 0: its L1's bandwidth
  std::optional<BankSpec> banks;                    // banks of shared memory; not supported if missing
  std::map<std::string, AtomicSpec> atomics;        // keys: "shared" and the cache that does the others
  std::optional<ClusterSpec> clusters;              // not supported if missing
  std::optional<BulkCopySpec> bulk_copies;          // not supported if missing
  std::optional<ComputeSpec> compute;               // not supported if missing
  std::optional<LaunchSpec> launches;               // not supported if missing
  NoiseSpec noise;
  std::optional<NeighbourSpec> neighbour;
  double timer_cycles = 0;  // added to a timed load by its two clock reads
  double loop_cycles = 0;   // per pass of an untimed chain's loop (unrolled_loads.h), beyond its loads
  std::uint32_t sms_per_tpc = 2;
  // Extra latency from the SMs of each TPC, by TPC, to everything that all SMs share. Empty: none.
  std::vector<double> tpc_distances_cycles;
  // Each SM in exactly one group; needed for caches of scope kGroup and for clusters.
  std::vector<std::vector<std::uint32_t>> sm_groups;
  std::optional<SliceSpec> slices;
  // Number of SMs near the first L2 partition; the others are near the second. 0: TPCs alternate.
  std::uint32_t sms_near_first_partition = 0;
};

// Throws NotSupportedError: the machine does not say `what` a program needs ("the cost of atomics"). The message
// tells the user to add `field` to the machine file.
[[noreturn]] void refuse_silent(const MachineSpec& spec, const std::string& field, const std::string& what);

// The keys of shared and device memory in MachineSpec::bandwidths; every other key is a CacheSpec::id.
inline constexpr char kSharedLevel[] = "shared";
inline constexpr char kMemoryLevel[] = "memory";

// Returns the path of local loads: the one the machine gives or, on NVIDIA machines, that of global loads if its first
// cache belongs to an SM. Otherwise local loads are not supported.
[[nodiscard]] std::optional<SpaceSpec> local_space(const MachineSpec& spec);

}  // namespace gputopo::sim
