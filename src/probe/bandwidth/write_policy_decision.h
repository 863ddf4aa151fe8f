// What caches do with stores: decided from where loads find lines afterwards, and from the bandwidth left by stores.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "probe/bench/decision.h"

namespace gputopo::probe {

enum class WritePolicy : std::uint8_t { kWriteThrough, kWriteBack };
[[nodiscard]] std::string_view to_string(WritePolicy policy);

struct StoresDecisionParameters {
  // Part of the loads after stores that decides for hits; the rest to 1 decides for misses. A few loads are slow for
  // other reasons (a TLB miss, stores under way). Larger values leave more runs inconclusive; 0.5 decides everything.
  double nearly_all = 0.8;
};

// Part of the lines that the cache holds, by the first of `loads_per_line` consecutive timed loads of each line. Some
// misses look like hits if far hits are as slow as near memory; `distinguishable_misses` is the part of the misses that
// do not.
[[nodiscard]] double part_of_lines(std::span<const std::uint32_t> latencies, std::size_t loads_per_line,
                                   double hit_limit_cycles, double distinguishable_misses = 1);

// Part of another cache's lines that this one holds whole, although it fetches less at a time.
[[nodiscard]] double part_of_whole_lines(std::span<const std::uint32_t> latencies, std::size_t loads_per_line,
                                         std::size_t loads_per_fetch, double hit_limit_cycles);

// Part of the lines held, by comparing the first load of each with an earlier load of the line from memory: a hit
// takes less than `hit_part` of that. Both loads go to the same home, near or far.
[[nodiscard]] double part_quicker(std::span<const std::uint32_t> latencies, std::span<const std::uint32_t> cold,
                                  std::size_t loads_per_line, double hit_part);

// Parts of the lines found in the cache, each the median over the copies of the program.
struct StoreHits {
  double unstored = 0;      // never stored: what the program finds there anyway
  double stored = 0;        // stored while the cache did not hold them
  double stored_again = 0;  // stored while the cache held them
};

struct StoreTreatment {
  bool allocates = false;          // a store that misses brings its line in
  std::optional<bool> keeps_hits;  // a store that hits keeps its line; empty if unclear
};

// No value if lines that were not stored are found, or if only some of the stored lines are.
[[nodiscard]] Decision<StoreTreatment> decide_allocation(const StoreHits& hits,
                                                         const StoresDecisionParameters& parameters = {});

// The same for lines that a store finds in L1 but not in L2.
struct PassingHits {
  double in_l1 = 0;         // whole in L1 before the store; missing sectors may be stored past it
  double unstored = 0;      // never stored, found in L2 by loads that bypass L1
  double stored_in_l2 = 0;  // the same after the store
};

// For L1. No value if L1 does not keep the lines, or if L2 does.
[[nodiscard]] Decision<WritePolicy> decide_passing_on(const PassingHits& hits,
                                                      const StoresDecisionParameters& parameters = {});

struct WritesBesideReadsParameters {
  // Reads and writes together must exceed the memory peak by this factor to prove write-back. Larger values accept
  // only rates far beyond the peak as proof.
  double clear = 1.02;
  // Least loss of reads to writes to memory, as part of the rate that remains. Larger values leave GPUs with separate
  // memory lanes for writes undecided; smaller values let noise decide.
  double least_contrast = 0.2;
  // Part of this loss that reads must regain while writes could stay in the cache: from here on it is write-back ...
  double back = 0.5;
  // ... and up to here write-through. In between, nothing is decided.
  double through = 0.2;
};

// Bytes per second read from memory.
struct ReadRates {
  double alone = 0;
  double with_memory_writes = 0;  // while as much is written to memory
  double with_cache_writes = 0;   // while as much is written repeatedly to a part of the cache
  double in_cache = 0;            // from one part of the cache, while as much is written to another: the most there is
};

// For the last cache before memory. `memory_peak`: bytes per second that memory can move, 0 if unknown.
[[nodiscard]] Decision<WritePolicy> policy_by_read_interference(const ReadRates& rates, double memory_peak,
                                                                const WritesBesideReadsParameters& parameters = {});

struct WriteBandwidthParameters {
  // Sustained writes that are this much faster than what the next level takes stay in the cache. The ratio exceeds the
  // variation of bandwidths.
  double write_back_ratio = 1.2;
};

// For a cache that takes `written` bytes per second in front of a level that takes at most `next`. It can only prove
// write-back, never write-through.
[[nodiscard]] Decision<WritePolicy> policy_by_bandwidth(double written, double next,
                                                        const WriteBandwidthParameters& parameters = {});

}  // namespace gputopo::probe
