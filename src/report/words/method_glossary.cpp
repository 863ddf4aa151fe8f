#include "report/words/method_glossary.h"

#include <algorithm>
#include <iterator>

namespace gputopo::report {
namespace {

// Sorted by page. tests/unit/method_pages_test.cpp checks the table against docs/methods.
constexpr MethodWords kMethods[] = {
    {"best_stream", "bandwidth",
     "All SMs stream at once, with several combinations of blocks, threads and accesses in flight. The best "
     "combination runs again, and the value is the median of these runs."},
    {"best_stream_of_one_sm", "bandwidth",
     "One block on one SM streams, with several combinations of threads and accesses in flight. The best combination "
     "runs again, and the value is the median of these runs."},
    {"largest_fitting_footprint", "cache_sizes",
     "The largest footprint that can be walked repeatedly without misses beyond the noise."},
    {"near_part_times_partitions", "cache_sizes",
     "This L2 has several partitions, and each keeps copies of other partitions' lines, so one SM can use only part of "
     "the capacity. The size is the capacity of the partition near the SM times the number of partitions."},
    {"seen_by_one_sm", "cache_sizes",
     "The capacity of a partitioned L2 that one SM can use. It is not known whether the partitions keep copies of one "
     "another's lines."},
    {"resident_backwards", "cache_sizes",
     "A footprint of several times the capacity is walked once and then read backwards. The size is the number of "
     "bytes at the positions that still hit."},
    {"packed_places", "cache_sizes",
     "The largest set of lines, at any addresses, that stay resident together. Lines are added one by one and kept if "
     "all lines still hit."},
    {"sampled_residency", "cache_sizes",
     "After a walk over several times the capacity, a few random elements are timed. The size is the fraction that "
     "hits times the footprint."},
    {"clear_memory_loads", "cache_sizes",
     "After a walk over several times the capacity, a few random elements are timed. Hits in a far partition take "
     "about as long as loads from memory, so only loads that are clearly from memory count as misses."},
    {"constants_beside_code", "cache_sizes",
     "Constants are walked, code runs, and the constants are walked again. The code grows until the constants begin to "
     "miss: constants and code then fill the cache that they share."},
    {"sparse_footprint", "cache_sizes",
     "A footprint that is twice as large as one that fits is loaded at several strides. If the stride is at most the "
     "line size, the loads touch all lines, which do not fit. If the stride is twice the line size, the loads touch "
     "only half of the lines, which fit."},
    {"packed_halves", "cache_sizes",
     "One random half of each block is loaded, and the halves that stay resident together are counted. If a half is a "
     "whole line, the bytes of these halves add up to the capacity. If a half is only half of a line, the bytes add "
     "up to half of the capacity."},
    {"cold_pass", "cache_sizes",
     "A pass with a small stride loads data that is in no cache. A miss fetches the bytes of several loads, so only "
     "the first of these loads misses."},
    {"change_point", "change_point",
     "MT4G's method: arrays of growing size are chased, and the latencies of each array are reduced to one number. The "
     "size is where that number changes most, if a Kolmogorov-Smirnov test confirms the change."},
    {"largest_launch", "clusters", "Clusters of every size are launched. The value is the largest size that runs."},
    {"sms_seen_in_one_cluster", "clusters",
     "A cluster lies within one GPC, so SMs that were seen in the same cluster share a GPC."},
    {"clocks_agree_and_clusters_lie_within", "clusters",
     "The clock registers of the SMs in a GPC agree. Groups of SMs whose clocks agree count as GPCs if every cluster "
     "lies within one group."},
    {"chase_through_clusters", "clusters",
     "One block of each cluster chases pointers through the shared memory of every other block in turn, with one load "
     "in flight."},
    {"best_ring_of_reads", "clusters",
     "Every block reads the shared memory of the next block in its cluster. The value is the bandwidth with the best "
     "number of warps."},
    {"dependent_bulk_copies", "clusters",
     "Asynchronous bulk copies run one after another, and each waits for the previous one."},
    {"best_copies_in_flight", "clusters",
     "One thread of each SM keeps several bulk copies in flight. The value is the bandwidth with the best number and "
     "size of copies."},
    {"2_x_clock_x_bus_width", "device",
     "Two transfers per clock, times the memory clock, times the bus width. The driver reports the clock and the "
     "width."},
    {"from_recording", "device", "gputopo read the value on the host that made the recording."},
    {"clock64_against_globaltimer", "device",
     "For each measurement program, the SM cycles of its launch are divided by the wall time. The value is the mean "
     "over all programs."},
    {"table_by_compute_capability", "device",
     "A table lists the values that the vendor documents for each compute capability."},
    {"table_by_architecture", "device", "A table lists the values that the vendor documents for each architecture."},
    {"sm_count_over_xcd_count", "device", "The number of CUs divided by the number of compute dies."},
    {"max_threads_per_sm_over_warp_size", "device",
     "The maximum number of threads per SM divided by the number of threads per warp."},
    {"longest_fitting_code", "instruction_caches",
     "The longest straight-line code whose instructions take no longer than those of shorter code."},
    {"beginning_of_edge", "instruction_caches",
     "The code length at which the cycles per instruction begin to rise from one plateau to the next, extrapolated "
     "from two points on the rise."},
    {"plateau_of_code_sweep", "instruction_caches",
     "Cycles per instruction of code that this level serves: the median of its plateau in a sweep over code lengths."},
    {"plateau_of_jumps", "instruction_caches",
     "Cycles per jump between blocks of code that this level serves: the median of its plateau."},
    {"step_of_passes", "instruction_caches",
     "Straight-line code runs in a loop. If it exceeds this cache, the jump back to its start waits for the next "
     "cache. The value is the length of the longest code whose jump does not wait."},
    {"period_of_jumps", "instruction_caches",
     "Code jumps between blocks, and is timed again with blocks that begin at a slightly higher address each time. The "
     "value is the distance after which the times repeat."},
    {"edge_of_jumps", "instruction_caches",
     "Code jumps through adjacent blocks. The value is the length of the longest row of blocks whose jumps take no "
     "longer than those of shorter rows."},
    {"chain_from_every_sm", "latency",
     "Each SM in turn runs a chain of loads over lines that the cache holds. The values are the smallest and the "
     "largest of the SMs' means."},
    {"edge_of_operands", "constant_operands",
     "Operations use more and more constants. The value is the size of the model cache (sets, ways, lines) that "
     "explains the misses. If no model explains them, the value is the largest amount of constants that causes no "
     "miss."},
    {"plateau_of_operands", "constant_operands",
     "How much longer an operation takes when the next level serves all constants."},
    {"misses_behind_edge", "constant_operands",
     "Each line beyond the capacity makes all lines of its set miss. The value is the number of ways of the model "
     "cache that explains all misses."},
    {"eviction_by_constant_loads", "constant_operands",
     "Operations on constants run before and after loads of other constants. If the operations miss afterwards, the "
     "loads use the same cache."},
    {"code_length_staircase", "instruction_caches",
     "The code starts at a slightly lower address each time. The time of a pass then rises in steps that are one line "
     "apart."},
    {"edge_staircase", "instruction_caches",
     "Code grows by two instructions at a time. All combinations of line size, sets and ways that give this capacity "
     "are compared. The value is from the combination that predicts the misses best."},
    {"line_of_constants_beside_code", "instruction_caches",
     "Code and constants share this cache, so the value is the line size of the constant cache."},
    {"slope_of_edge", "instruction_caches",
     "Each line beyond the capacity makes all lines of its set miss. The number of ways follows from how fast the "
     "misses grow with the code."},
    {"eviction_by_constants", "instruction_caches",
     "Code fills the cache, constants are walked, and the code runs again. If it misses, code and constants share the "
     "cache."},
    {"sides_by_first_loads", "l2_map",
     "One SM loads lines, and then another SM loads each of them twice. If the first of the two loads is slower, the "
     "SMs are near different partitions."},
    {"near_part_of_resident", "l2_map",
     "One SM loads a footprint that fits in the cache. The number of partitions follows from the fraction of the "
     "footprint that has the latency of the near partition."},
    {"atomic_latency_profiles", "l2_map",
     "Every SM times atomics to the same lines. Two lines lie in one slice if each SM measures the same "
     "latency for both."},
    {"untimed_chain", "latency",
     "Dependent loads run in segments of different lengths, without timing single loads. The latency is the time of "
     "each additional load, so it does not include the timer."},
    {"timed_loads_in_band", "latency",
     "Loads are timed one by one. The value is the mean of those in the latency band of this level, minus the timer "
     "cost."},
    {"timed_loads_after_eviction", "latency",
     "Lines are evicted while their translations stay in the TLBs. They are then loaded and timed one by one."},
    {"next_level_minus_hit", "latency", "The latency of loads that the next level serves, minus that of a hit."},
    {"device_latency_minus_near_hit", "latency",
     "The latency of device memory with a warm TLB, minus that of a near hit."},
    {"latencies_and_miss_penalties", "latency",
     "The latency of each combination of hits and misses, either measured or a sum of measured latencies and miss "
     "penalties."},
    {"dependent_atomics_of_a_warp", "load",
     "Each lane of a warp adds the result of its previous atomic addition, so the additions run one after another."},
    {"atomics_of_all_warps", "load",
     "All warps add to their own words at once. The value is the median over several placements of these words."},
    {"littles_law", "load",
     "More and more warps load until the throughput stops growing. The latency is the number of loads in flight "
     "divided by the loads per cycle."},
    {"chain_of_operations", "operations", "One warp runs a chain in which each operation waits for the previous one."},
    {"chains_for_two_seconds", "units",
     "All SMs run the fastest operation of the type for two seconds. The value is the rate after the first second."},
    {"chains_of_all_warps", "operations",
     "All SMs run chains of operations in many warps. The value is the highest throughput."},
    {"pairs_of_operations", "operations",
     "Each operation runs together with every other operation. Operations that are no faster together than one after "
     "the other share a unit."},
    {"layout_that_explains_strides", "scratchpad",
     "A warp loads words at strides of 0 to 64 words. The value is from the bank layout (number and width of banks) "
     "that explains the times best."},
    {"lanes_that_share_words", "scratchpad",
     "Adjacent lanes load adjacent words, but every N lanes start again at the first word, for growing N. Lanes that "
     "load the same word take one pass over the banks if one request serves them, and two passes if two requests do. "
     "The value is the number of lanes per request that explains the times best."},
    {"slope_over_conflicts", "scratchpad", "The time that each additional conflict adds to a load."},
    {"slope_over_addresses", "load",
     "The time that each additional address within a warp adds to a load of constants."},
    {"store_and_load_of_one_word", "scratchpad",
     "A word is stored and loaded again, and the loaded value is stored next. The value is the time from a store until "
     "a load returns the stored value."},
    {"eviction_between_warps", "sharing",
     "One warp fills the cache, another warp of the SM walks other data or runs other code, and the first warp runs "
     "again. If it misses, both warps share the cache."},
    {"eviction_between_spaces", "sharing",
     "Loads of one space fill the cache, and loads of another space walk other data. The spaces share one cache if "
     "each evicts the lines of the other."},
    {"eviction_between_sms", "sharing",
     "One SM fills the cache or TLB, another SM walks other data or runs other code, and the first SM runs again. If "
     "it misses, both SMs share the cache or TLB."},
    {"all_dies_reach_it", "sharing",
     "On this kind of GPU, all compute dies use the same cache. No vendor interface reports this."},
    {"loads_after_stores", "stores",
     "Half of an array that is not in the cache is stored and then loaded. The loads show whether the cache holds the "
     "stored lines."},
    {"loads_past_l1_after_stores", "stores",
     "Data that only L1 holds is stored, and then loaded by loads that bypass L1. The loads show whether L2 received "
     "the stores."},
    {"reads_from_memory_beside_writes", "stores",
     "Memory is read while other memory is written, and while a footprint that fits in L2 is written. The rates show "
     "whether all writes go to memory."},
    {"write_bandwidth_against_memory", "stores",
     "The cache sustains writes to a footprint that fits in it at a higher throughput than the levels behind it "
     "accept, so it does not pass on every write."},
    {"minimal_conflict_sets", "structure",
     "The smallest sets of lines that evict one another. Each has one line more than the cache has ways."},
    {"ways_of_code_beside_constants", "structure",
     "Code and constants share this cache. The value is the number of ways that was measured with code."},
    {"stride_of_a_set", "structure", "The distance between lines of the same set."},
    {"lines_over_ways", "structure", "The number of lines (size over line size) divided by the number of ways."},
    {"addresses_of_conflict_sets", "structure", "The address bits that the lines of one set have in common."},
    {"policies_on_random_sequences", "structure",
     "The lines of a set are loaded in random sequences. The value is the policy that predicts the hits best."},
    {"victim_of_a_new_line", "structure",
     "The lines of a full set and one more line are loaded, many times. The value follows from which lines are "
     "evicted."},
    {"page_sweep", "tlb", "Lines on more and more pages are walked until translations miss."},
    {"reach_over_entry", "tlb", "The reach divided by the bytes that one entry covers."},
    {"random_line_per_block", "tlb",
     "One random line is loaded in each block of memory, for several block sizes. The fraction of loads that miss is "
     "largest if a block is exactly the range that one entry covers."},
    {"misses_per_page_beyond", "tlb",
     "The number of ways follows from the number of misses that each page beyond the reach adds."},
    {"same_lines_apart_and_together", "tlb",
     "The same lines are loaded in two orders. If the lines of each page are loaded far apart, every load misses. If "
     "they are loaded one after another, only the first load of each page misses."},
    {"step_of_page_sweep", "tlb",
     "How much longer loads take from pages that all miss in this TLB than from pages that fit in it."},
    {"co_resident_blocks", "units",
     "More blocks than fit are launched, and each stays for a while. Blocks that are on the SM at the same time are "
     "resident."},
    {"warp_scaling", "units",
     "As long as each warp has its own scheduler, N warps have N times the throughput of one warp."},
    {"readings_in_a_row", "units",
     "Each SM reads its clock and the timer repeatedly. The value is the step by which the readings advance."},
    {"clocks_at_one_moment", "units",
     "The clocks of all SMs are extrapolated to the same moment of the timer. SMs whose clocks are far apart were not "
     "started together."},
    {"empty_kernel_launches", "units",
     "The host launches an empty kernel and waits for it, many times. The value is the median."},
    {"launches_in_a_row", "units",
     "The host launches an empty kernel many times in a row. The value is the time of each additional launch."},
    {"barriers_in_a_row", "units",
     "Straight-line code that consists of barriers is timed. The value is the time of each additional barrier."},
    {"jumps_in_a_row", "units",
     "Straight-line code that consists of branches or calls is timed. The value is the time of each additional branch "
     "or call."},
    {"divergent_paths", "units",
     "A warp diverges at a branch that has 2 to 32 control paths. The time of each additional control path is "
     "measured."},
};

}  // namespace

const MethodWords* find_method(std::string_view id) {
  const auto* const found = std::ranges::find(kMethods, id, &MethodWords::id);
  return found == std::end(kMethods) ? nullptr : found;
}

}  // namespace gputopo::report
