// What a probe is aimed at, and what has been found there so far.
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
#include "probe/bench/lab.h"
#include "stats/descriptive.h"
#include "stats/levels.h"

namespace gputopo::probe {

// One space as programs reach it.
struct Site {
  Space space = Space::kGlobal;
  bool exclusive = false;             // what it measures is shared by SMs, so programs run alone
  std::uint64_t limit_bytes = 0;      // largest array of this space; 0: no limit of its own
  std::uint64_t carve_out_bytes = 0;  // shared-memory carve-out to ask for

  [[nodiscard]] std::uint64_t clamp(std::uint64_t bytes) const {
    return limit_bytes == 0 ? bytes : std::min(bytes, limit_bytes);
  }
  // The least that loads of one thread can be apart, and the next distance from so many bytes on that they can.
  [[nodiscard]] std::uint64_t least_stride_bytes() const { return gputopo::least_stride_bytes(space); }
  [[nodiscard]] std::uint64_t reachable(std::uint64_t stride_bytes) const {
    return space == Space::kLocal ? round_up(stride_bytes, kLocalStrideBytes) : stride_bytes;
  }
  // Whether its loads tell what is within a line: they come nearer to one another than the ends of any.
  [[nodiscard]] bool reaches_into_lines() const { return least_stride_bytes() == kMinimumStrideBytes; }
};

// Up to which footprint translations cost nothing, 0 where that is not known, and what they add beyond: to some loads
// the first, to some more. Nothing is added where that is not known.
struct Translation {
  std::uint64_t free_bytes = 0;
  std::vector<double> added_cycles;  // ascending
};

// What is known of it for footprints of up to so many bytes.
using TranslationOf = std::function<Translation(std::uint64_t bytes)>;

// What one sweep over footprints tells of a space: its levels and how its nearest cache fetches.
struct Survey {
  Site site;
  std::uint64_t fetch_bytes = 0;              // fetch granularity of the nearest cache
  std::vector<double> tiny_latencies_cycles;  // load-to-use of a tiny array, one per copy, from untimed chains
  double timer_cycles = 0;                    // what timing a single load adds to its latency
  stats::Histogram tiny;                      // of timed loads of a tiny array: all hits
  std::vector<std::uint64_t> footprints_bytes;
  std::vector<stats::Histogram> histograms;  // of each footprint, raw cycles
  std::vector<stats::Level> levels;          // nearest first
  // Of a survey whose footprints exceed a TLB: its misses are none of the levels. A level beyond that footprint which
  // takes as long as a nearer one with such a miss is not told from it, and is left out.
  Translation translation;
  // Set: this level is two whose latencies single loads do not tell apart, so nothing is told of it and what follows.
  std::optional<std::size_t> unsure_level;
  Conditions conditions;       // of all of it
  Conditions tiny_conditions;  // of the tiny array
  Conditions cold_conditions;  // of the first touches and the cold passes
  stats::Histogram cold;       // of first touches, one per line
  // Raw cycles of every load of passes at kMinimumStrideBytes over arrays that were in no cache.
  std::vector<std::vector<std::uint32_t>> cold_passes;
  std::uint64_t tiny_bytes = 0;  // of the tiny array
  // Set: misses of a TLB would hide levels, so loads of large footprints are counted in places (add_counted_steps).
  bool counts_in_places = false;
};

// What a miss brings into a cache.
struct Fetch {
  std::uint64_t bytes = 0;
  double agreement = 0;  // part of the loads of cold passes whose hit or miss is what these bytes predict
  Conditions conditions;
};

// What a cache evicts at once.
struct Line {
  std::uint64_t bytes = 0;
  double packed_bytes = 0;  // that the cache holds, by packing (packing.h); 0 if that was not tried, or it is too large
  std::string method;
  NamedValues details;
  Conditions conditions;
};

// A cache: the levels [first_level, last_level] of a survey, and what was found of it before. A value: what is found
// later makes another one (with(), below).
struct Cache {
  const Survey* survey = nullptr;
  std::size_t first_level = 0;
  std::size_t last_level = 0;
  std::uint64_t fetch_bytes = 0;
  double noise = 0;                // part of the loads of footprints that fit which do not look like hits
  std::uint64_t fits_bytes = 0;    // largest footprint of the survey that fits
  double resident_bytes = 0;       // most bytes of any footprint that were seen resident: a lower bound of the size
  std::uint64_t nearer_bytes = 0;  // the same of the caches before this one; 0 if it is the nearest
  bool nearer_is_known = false;    // by capacities, not by what looked resident
  std::uint64_t nearer_line_bytes = 0;  // line of the cache before this one; 0 if that is not known
  std::optional<Line> line;
  std::optional<double> size_bytes;

  [[nodiscard]] const Site& site() const { return survey->site; }
  // Raw latencies below this hit here or nearer.
  [[nodiscard]] double hit_limit_cycles() const { return survey->levels[last_level].high_cycles; }
  // Raw latencies from this on miss what is nearer than this cache.
  [[nodiscard]] double hit_floor_cycles() const { return survey->levels[first_level].low_cycles; }
  [[nodiscard]] bool has_next_level() const { return last_level + 1 < survey->levels.size(); }
  // What the nearest cache of the space fetches: the least distance of loads that each reach past it.
  [[nodiscard]] std::uint64_t nearest_fetch_bytes() const {
    return nearer_bytes > 0 ? survey->fetch_bytes : fetch_bytes;
  }
  // The least that takes up a line of its own, as far as is known.
  [[nodiscard]] std::uint64_t line_or_fetch_bytes() const { return std::max(fetch_bytes, line ? line->bytes : 0); }
  [[nodiscard]] double packed_bytes() const { return line ? line->packed_bytes : 0; }
  // The most bytes it was seen to hold, all of a footprint or part of one.
  [[nodiscard]] double held_bytes() const { return std::max(static_cast<double>(fits_bytes), resident_bytes); }
  // The largest part of the survey's loads that can miss: a cache behind others may fetch more at once than the
  // survey's stride, and then only the first load of each fetch can.
  [[nodiscard]] double misses_at_most() const {
    return std::min(1.0, static_cast<double>(survey->fetch_bytes) / static_cast<double>(fetch_bytes));
  }
  // Part of the loads from memory that take no longer than its hits.
  [[nodiscard]] double cold_hits() const { return stats::fraction_below(survey->cold, hit_limit_cycles()); }
  // Whether a footprint of the survey was too large for it.
  [[nodiscard]] bool was_exceeded() const { return has_next_level() && fits_bytes < survey->footprints_bytes.back(); }
};

// ---- Caches of a survey ----

// Of how many levels loads of an array of so many bytes are, the first touches of it too, which come from memory: of
// parts of a cache those behind one that clearly holds all of the array are not among them.
[[nodiscard]] std::size_t levels_within(const Survey& survey, std::uint64_t bytes);

// The cache at `depth` of the survey (0: nearest). Levels that share a cache (near and far L2) are one when
// `merge_rest`: all from there on but the last. Throws NotPresent.
[[nodiscard]] Cache find_cache(const Survey& survey, std::size_t depth, bool merge_rest);

// Throws Inconclusive where memory takes hardly longer than repeated loads: that is no level of its own, and no sign
// that there is none.
void require_apart_from_memory(const Survey& survey);

// Whether misses of a TLB hide where the nearest cache ends, as they take as long as the level behind it.
[[nodiscard]] bool is_end_hidden(const Survey& survey);

// Throws unless was_exceeded(): NotSupportedError where the space allows no larger array, else Inconclusive.
// `consequence` ends the sentence: "so its lines were never evicted".
void require_exceeded(const Cache& cache, const std::string& consequence);

// The cache as it was read off the survey, with other levels or another fetch granularity.
[[nodiscard]] Cache read_again(Cache cache);
// The cache, this known of it too.
[[nodiscard]] Cache with(Cache cache, const Fetch& fetch);
[[nodiscard]] Cache with(Cache cache, const Line& line);

// ---- Building programs ----

[[nodiscard]] ChaseArray make_array(const Site& site, std::uint64_t bytes, std::uint64_t stride_bytes,
                                    Order second_order = Order::kReversed, std::uint64_t seed = 1);
// A program of one actor (warp 0, lane 0) at the site.
[[nodiscard]] ChaseProgram make_program(const Site& site, std::vector<ChaseArray> arrays, std::vector<ChaseStep> steps);
// One pass over the array that leaves it as resident as it gets: by the actor alone where caches may belong to a warp,
// by the whole block where they are shared.
[[nodiscard]] ChaseStep warm_step(const Site& site, const ChaseArray& array, std::uint32_t index = 0);
// Steps that time each load [begin, end) of the second chain of a program's array, as many at a time as are kept, and
// the number of those that the device is to keep.
void add_timed_steps(ChaseProgram& program, std::uint64_t begin, std::uint64_t end);

// Steps that count about so many loads of a program's array, which is large and was touched: of the second chain, of an
// array in counted_order(). Loads at random, or, where each of these would wait for a translation, loads of neighbours
// in many places, each behind one load that is not counted and brings the translation.
[[nodiscard]] Order counted_order(const Survey& survey);
void add_counted_steps(ChaseProgram& program, const Survey& survey, std::uint64_t loads);

// ---- Reading results ----

// What was counted after the first step.
[[nodiscard]] stats::Histogram counted_loads(const ChaseResult& result);

// Part of the loads of a step that hit at or before the cache's level.
[[nodiscard]] double hit_fraction(const StepResult& step, double limit_cycles);
// Median over the copies of the hit fraction of their step `step`.
[[nodiscard]] double median_hit_fraction(const std::vector<ChaseResult>& copies, std::size_t step, double limit_cycles);

}  // namespace gputopo::probe
