// What caches do with stores, from where lines are found afterwards and from what bandwidth stores leave.
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
  // Part of the loads behind stores that decides for hits, and what is left of it for misses: a few are slow for
  // reasons of their own (a TLB miss, stores still under way). More: more runs are inconclusive; at a half everything
  // is decided.
  double nearly_all = 0.8;
};

// Of lines of which each has `loads_per_line` timed loads in a row, the part that the cache holds, by the first load of
// each. Where far hits take as long as near memory, some misses look like hits: `misses_told` is the part of misses
// that do not.
[[nodiscard]] double part_of_lines(std::span<const std::uint32_t> latencies, std::size_t loads_per_line,
                                   double hit_limit_cycles, double misses_told = 1);

// Of lines of another cache the part that this one holds whole, though it fetches less at a time.
[[nodiscard]] double part_of_whole_lines(std::span<const std::uint32_t> latencies, std::size_t loads_per_line,
                                         std::size_t loads_per_fetch, double hit_limit_cycles);

// The part of lines by the first load of each again, where all were loaded from memory before: a hit takes less than
// `hit_part` of what that took. Wherever the line is at home, both are near or far alike.
[[nodiscard]] double part_quicker(std::span<const std::uint32_t> latencies, std::span<const std::uint32_t> cold,
                                  std::size_t loads_per_line, double hit_part);

// Parts of the lines that were found in the cache, each the median over the copies of the program.
struct StoreHits {
  double unstored = 0;      // never stored: what the program finds there anyhow
  double stored = 0;        // stored while the cache did not hold them
  double stored_again = 0;  // stored while it did
};

struct StoreTreatment {
  bool allocates = false;          // a store that misses brings its line in
  std::optional<bool> keeps_hits;  // a store that hits leaves its line there; nothing where that is not clear
};

// No value where lines are found that were not stored, or some of those that were.
[[nodiscard]] Decision<StoreTreatment> decide_allocation(const StoreHits& hits,
                                                         const StoresDecisionParameters& parameters = {});

// Of lines that a store finds in L1 and not in L2, as above.
struct PassingHits {
  double in_l1 = 0;         // before the store, whole in L1: what of a line is not may be stored past it
  double unstored = 0;      // never stored, in L2 by loads that bypass L1
  double stored_in_l2 = 0;  // the same after the store
};

// Of L1. No value where it does not keep the lines, or where L2 does.
[[nodiscard]] Decision<WritePolicy> decide_passing_on(const PassingHits& hits,
                                                      const StoresDecisionParameters& parameters = {});

struct WritesBesideReadsParameters {
  // Twice the reads are more than memory could move from here on, were the writes to go there as well. More: only what
  // is far beyond its peak is a proof.
  double clear = 1.02;
  // What writes to memory must take from the reads, as a part of what they leave. More: GPUs whose memory has other
  // lanes for writes are inconclusive; less: noise decides.
  double least_contrast = 0.2;
  // Of what writes to memory take from the reads, the part that is left to them where writes stay in the cache: from
  // here on it is write-back ...
  double back = 0.5;
  // ... and up to here write-through. Between the two nothing is decided.
  double through = 0.2;
};

// Bytes per second that are read from memory.
struct ReadRates {
  double alone = 0;
  double beside_memory = 0;  // while as much is written to memory
  double beside_cache = 0;   // while as much is written to a part of the cache again and again
  double in_cache = 0;       // from one part of the cache, while as much is written to another: the most there can be
};

// Of the last cache before memory; `memory_peak`: bytes per second that memory could move, 0 where that is not known.
[[nodiscard]] Decision<WritePolicy> policy_beside_reads(const ReadRates& rates, double memory_peak,
                                                        const WritesBesideReadsParameters& parameters = {});

struct WriteBandwidthParameters {
  // Sustained writes that much faster than what is behind can take them stay in the cache: past what bandwidths vary
  // by.
  double write_back_ratio = 1.2;
};

// Of a cache that takes `written` bytes a second where what is behind it takes at most `next`. It can only prove
// write-back.
[[nodiscard]] Decision<WritePolicy> policy_by_bandwidth(double written, double next,
                                                        const WriteBandwidthParameters& parameters = {});

}  // namespace gputopo::probe
