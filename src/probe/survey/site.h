// The target of a probe, and what is known about it so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/program.h"
#include "model/round_up.h"
#include "probe/bench/evidence.h"
#include "probe/bench/probe_runner.h"
#include "stats/descriptive.h"
#include "stats/levels.h"

namespace gputopo::probe {

// One memory space and how programs access it.
struct Site {
  Space space = Space::kGlobal;
  bool exclusive = false;             // SMs share what it measures, so programs run alone
  std::uint64_t limit_bytes = 0;      // largest array of this space; 0: no limit of its own
  std::uint64_t carve_out_bytes = 0;  // shared-memory carve-out to request

  [[nodiscard]] std::uint64_t clamp(std::uint64_t bytes) const {
    return limit_bytes == 0 ? bytes : std::min(bytes, limit_bytes);
  }
  // The shortest stride of one thread's loads, and the shortest possible stride of at least `stride_bytes`.
  [[nodiscard]] std::uint64_t least_stride_bytes() const { return gputopo::least_stride_bytes(space); }
  [[nodiscard]] std::uint64_t reachable(std::uint64_t stride_bytes) const {
    return space == Space::kLocal ? round_up(stride_bytes, kLocalStrideBytes) : stride_bytes;
  }
  // Whether its loads reveal what happens within a line: their shortest stride is less than any line.
  [[nodiscard]] bool reaches_into_lines() const { return least_stride_bytes() == kMinimumStrideBytes; }
};

// The footprint up to which translations are free (0: unknown), and the cycles that they add beyond it: different
// loads wait for different TLBs. Empty: unknown.
struct Translation {
  std::uint64_t free_bytes = 0;
  std::vector<double> added_cycles;  // ascending
};

// What is known about translations of footprints of up to `bytes`.
using TranslationCallback = std::function<Translation(std::uint64_t bytes)>;

// The result of one sweep over the footprints of a space: its levels, and how its nearest cache fetches.
struct Survey {
  Site site;
  std::uint64_t fetch_bytes = 0;              // fetch granularity of the nearest cache
  std::vector<double> tiny_latencies_cycles;  // load-to-use, from untimed chains; one per copy
  double timer_cycles = 0;                    // what timing a single load adds to its latency
  stats::Histogram tiny;                      // timed loads of the tiny array, all hits
  std::vector<std::uint64_t> footprints_bytes;
  std::vector<stats::Histogram> histograms;  // raw latencies, one histogram for each footprint
  std::vector<stats::Level> levels;          // nearest first
  // Set if footprints exceed the reach of a TLB, whose misses are not levels. A level that shows only beyond the reach
  // and is as slow as a nearer level plus a miss is indistinguishable from it, and is left out.
  Translation translation;
  // A level that is really two with indistinguishable latencies; this level and those behind it stay undecided.
  std::optional<std::size_t> unsure_level;
  Conditions conditions;       // of the whole survey
  Conditions tiny_conditions;  // of the tiny array
  Conditions cold_conditions;  // of the first touches and the cold passes
  stats::Histogram cold;       // first touches, one per line
  // Raw latencies of all loads of passes at kMinimumStrideBytes over arrays that were in no cache.
  std::vector<std::vector<std::uint32_t>> cold_passes;
  std::uint64_t tiny_bytes = 0;  // size of the tiny array
  // Whether loads of large footprints are counted in places (add_counted_steps), because TLB misses would hide levels.
  bool counts_in_places = false;
};

// The fetch that a miss of a cache causes.
struct Fetch {
  std::uint64_t bytes = 0;
  double agreement = 0;  // part of the loads of cold passes whose hit or miss these bytes predict
  Conditions conditions;
};

// The unit that a cache evicts.
struct Line {
  std::uint64_t bytes = 0;
  double packed_bytes = 0;  // cache size in these lines, by packing (packing.h); 0: not tried, or too large
  std::string method;
  NamedValues details;
  Conditions conditions;
};

// A cache: the levels [first_level, last_level] of a survey, and what is known about it. A value type: with() (below)
// returns a copy that knows more.
struct Cache {
  const Survey* survey = nullptr;
  std::size_t first_level = 0;
  std::size_t last_level = 0;
  std::uint64_t fetch_bytes = 0;
  double noise = 0;                     // part of the loads of fitting footprints that do not look like hits
  std::uint64_t fits_bytes = 0;         // largest footprint of the survey that fits
  double resident_bytes = 0;            // most bytes seen resident of any footprint: a lower bound of the size
  std::uint64_t nearer_bytes = 0;       // the same of the caches before this one; 0 if it is the nearest
  bool nearer_is_known = false;         // from capacities, not from what looked resident
  std::uint64_t nearer_line_bytes = 0;  // line of the cache before this one; 0 if unknown
  std::optional<Line> line;
  std::optional<double> size_bytes;
  std::string far_part_doubt;  // a flag of what depends on the far part; empty if it is known to be one

  [[nodiscard]] const Site& site() const { return survey->site; }
  // Loads with raw latencies below this hit here or nearer.
  [[nodiscard]] double hit_limit_cycles() const { return survey->levels[last_level].high_cycles; }
  // Loads with raw latencies from this on miss all nearer caches.
  [[nodiscard]] double hit_floor_cycles() const { return survey->levels[first_level].low_cycles; }
  // Whether its misses go to another cache, not to memory.
  [[nodiscard]] bool has_cache_behind() const { return last_level + 2 < survey->levels.size(); }
  [[nodiscard]] bool has_next_level() const { return last_level + 1 < survey->levels.size(); }
  // Fetch granularity of the nearest cache of the space: loads this far apart all reach past it.
  [[nodiscard]] std::uint64_t nearest_fetch_bytes() const {
    return nearer_bytes > 0 ? survey->fetch_bytes : fetch_bytes;
  }
  // Line size, or the fetch granularity if that is larger or the line size is unknown.
  [[nodiscard]] std::uint64_t line_or_fetch_bytes() const { return std::max(fetch_bytes, line ? line->bytes : 0); }
  [[nodiscard]] double packed_bytes() const { return line ? line->packed_bytes : 0; }
  // The most bytes it was seen to hold: all of a footprint or part of one.
  [[nodiscard]] double held_bytes() const { return std::max(static_cast<double>(fits_bytes), resident_bytes); }
  // The largest part of the survey's loads that can miss. A cache behind others may fetch more than the survey's
  // stride at once; then only the first load of each fetch can miss.
  [[nodiscard]] double misses_at_most() const {
    return std::min(1.0, static_cast<double>(survey->fetch_bytes) / static_cast<double>(fetch_bytes));
  }
  // Part of the loads from memory that take no longer than hits of this cache.
  [[nodiscard]] double cold_hits() const { return stats::fraction_below(survey->cold, hit_limit_cycles()); }
  // Whether a footprint of the survey was too large for it.
  [[nodiscard]] bool was_exceeded() const { return has_next_level() && fits_bytes < survey->footprints_bytes.back(); }
};

// ---- Caches of a survey ----

// Number of levels that loads of an array of `bytes` hit, including memory, which serves the first touches. Levels
// behind one that clearly holds the whole array do not count.
[[nodiscard]] std::size_t levels_within(const Survey& survey, std::uint64_t bytes);

// The cache at `depth` of the survey (0: nearest). `farthest`: the last level of a cache with near and far parts (L2).
// Throws NotPresent, or Inconclusive if levels cannot be told apart.
[[nodiscard]] Cache find_cache(const Survey& survey, std::size_t depth,
                               std::optional<std::size_t> farthest = std::nullopt);

// Throws Inconclusive if the survey shows one level and first loads take slightly longer than repeated ones: then
// there may be a cache that is hardly faster than memory.
void require_apart_from_memory(const Survey& survey);

// Whether the last level of several may be memory and a cache that is hardly faster.
[[nodiscard]] bool may_hide_a_cache(const Survey& survey);

// Whether TLB misses hide the end of the nearest cache, because they make it as slow as the level behind it.
[[nodiscard]] bool is_end_hidden(const Survey& survey);

// Throws unless was_exceeded(): NotSupportedError if the space allows no larger array, else Inconclusive.
// `consequence` ends the sentence: "so its lines were never evicted".
void require_exceeded(const Cache& cache, const std::string& consequence);

// Reads the cache off the survey again, after its levels or its fetch granularity have changed.
[[nodiscard]] Cache read_again(Cache cache);
// A copy of the cache with this added.
[[nodiscard]] Cache with(Cache cache, const Fetch& fetch);
[[nodiscard]] Cache with(Cache cache, const Line& line);

// ---- Building programs ----

[[nodiscard]] ChaseArray make_array(const Site& site, std::uint64_t bytes, std::uint64_t stride_bytes,
                                    Order second_order = Order::kReversed, std::uint64_t seed = 1);
// A program of one actor (warp 0, lane 0) at the site.
[[nodiscard]] ChaseProgram make_program(const Site& site, std::vector<ChaseArray> arrays, std::vector<ChaseStep> steps);
// One pass over the array that makes as much of it resident as possible. The actor alone walks it if caches may belong
// to a warp; the whole block touches it if SMs share them.
[[nodiscard]] ChaseStep warm_step(const Site& site, const ChaseArray& array, std::uint32_t index = 0);
// Adds steps that time each load [begin, end) of the second chain of the program's array, and sets how many latencies
// the device keeps of each step.
void add_timed_steps(ChaseProgram& program, std::uint64_t begin, std::uint64_t end);

// Adds steps that count about `loads` loads on the second chain of the program's array, which is large, touched, and
// in counted_order(). The loads are random. If each would wait for a translation, they are neighbors in many places
// instead, each place behind an uncounted load that brings the translation.
[[nodiscard]] Order counted_order(const Survey& survey);
void add_counted_steps(ChaseProgram& program, const Survey& survey, std::uint64_t loads);

// ---- Reading results ----

// The counted loads of all steps but the first.
[[nodiscard]] stats::Histogram counted_loads(const ChaseResult& result);

// Part of the loads of a step that hit the cache or a nearer one.
[[nodiscard]] double hit_fraction(const StepResult& step, double limit_cycles);
// Median over the copies of the hit fraction of step `step`.
[[nodiscard]] double median_hit_fraction(const std::vector<ChaseResult>& copies, std::size_t step, double limit_cycles);

}  // namespace gputopo::probe
