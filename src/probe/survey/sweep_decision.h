// The pure parts of a survey: how far the sweep goes; where the nearest level ends before the sweep shows the next
// one; what the sweep says about a cache with known latencies: what fits, what is resident, what is noise.
// stats/levels.h finds the levels themselves.
//
// What fools them: a neighbor that spoils footprints (a larger one that fits overrules smaller ones); levels with
// overlapping latencies, which count as one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/histogram.h"
#include "stats/levels.h"

namespace gputopo::probe {

struct SweepParameters {
  // Footprints per octave. Larger values resolve ramps, smaller ones are faster. Fewer for what SMs share: they queue.
  double per_octave = 4;
  double per_octave_of_shared = 2;
  // Smallest footprint: half the smallest cache of any GPU; and that for what SMs share.
  double first_bytes = 512;
  double first_bytes_of_shared = 16 << 10;
  // Largest footprint for what SMs share, in vendor sizes of the last cache; it shows memory clearly. If the vendor
  // does not report the last cache, the sweep goes on by this factor while more than `still_nearer` of the loads are
  // nearer than memory, up to the limit and the memory over `memory_divisor`. Larger values of `still_nearer` take a
  // cache with random replacement for exceeded; smaller values sweep on and on past an exceeded cache.
  double beyond_last_cache = 2.5;
  double still_nearer = 0.4;
  std::uint64_t last_limit_bytes_of_shared = 512u << 20;
  std::uint64_t memory_divisor = 8;
  // Memory is the nearest level with this part of the cold loads. Larger values count rare near memory as a cache.
  double of_cold = 0.1;
  // If levels are too close to show in the sweep so far, it goes on while the median load is faster than the median
  // cold load by this part and this many cycles. Smaller values go on because of slices; larger ones miss close levels.
  double clear_of_cold = 0.045;
  double clear_of_cold_cycles = 3;
  // The sweep goes up to the first limit. It continues in parts, each up to `limit_growth` times as far, up to the
  // last limit, while more than `still_hits` of the loads hit.
  std::uint64_t first_limit_bytes = 1u << 20;
  std::uint64_t last_limit_bytes = 16u << 20;
  double limit_growth = 4;
  double still_hits = 0.25;
  // Loads counted per footprint, unless Parameters asks for fewer: this many passes, at least `min_loads`. For what
  // SMs share: one load per `elements_of_load` elements, at least `min_loads_of_shared`.
  std::uint64_t passes = 2;
  std::uint64_t min_loads = 256;
  std::uint64_t elements_of_load = 8;
  std::uint64_t min_loads_of_shared = 64;
  // Copies of a program up to the first limit; beyond it, one. Larger values reduce disturbance by neighbors.
  std::uint32_t copies = 3;
};

// A part of the sweep: evenly spaced footprints per octave.
struct SweepPart {
  double from_bytes = 0;
  double to_bytes = 0;
  double per_octave = 0;
  std::uint32_t copies = 1;

  [[nodiscard]] std::vector<double> footprints() const;
};
// For caches of a single SM: the first part, and the part after `swept_bytes`, whose largest footprint hit the nearest
// level with part `hits` of its loads. Empty at the end of the sweep. `clamp_bytes`: largest array; 0: no limit.
[[nodiscard]] SweepPart first_sweep_part(std::uint64_t clamp_bytes, const SweepParameters& parameters = {});
[[nodiscard]] std::optional<SweepPart> next_sweep_part(double swept_bytes, double hits, std::uint64_t clamp_bytes,
                                                       const SweepParameters& parameters = {});
// For what SMs share: the first part, and the next if the vendor does not report the last cache. `nearer`: part of the
// largest footprint's loads that hit a level before memory.
[[nodiscard]] SweepPart shared_sweep(double last_cache_bytes, const SweepParameters& parameters = {});
[[nodiscard]] std::optional<SweepPart> next_shared_sweep(double swept_bytes, double nearer, std::uint64_t memory_bytes,
                                                         const SweepParameters& parameters = {});
// Part of a footprint's loads that hit a level before memory, which cold loads identify.
[[nodiscard]] double part_before_memory(const stats::Histogram& footprint, const std::vector<stats::Level>& levels,
                                        const stats::Histogram& cold, const SweepParameters& parameters = {});

// Whether the loads of a footprint are clearly faster than cold ones, even if they form one level with them.
[[nodiscard]] bool is_nearer_than_memory(const stats::Histogram& footprint, const stats::Histogram& cold,
                                         const SweepParameters& parameters = {});

struct MixedLevelParameters {
  // Least part of a footprint's loads in the level. Smaller values let few loads decide.
  double least_part = 0.3;
  SweepParameters sweep;
};
// Whether a last level before which nothing else shows is memory and a cache that is hardly faster: loads of some
// footprint in it are clearly faster than cold loads. `footprints`: of the survey that shows the levels.
[[nodiscard]] bool last_level_is_mixed(std::span<const stats::Histogram> footprints,
                                       const std::vector<stats::Level>& levels, const stats::Histogram& cold,
                                       const MixedLevelParameters& parameters = {});

struct NearestLevelParameters {
  // Quantile at which the spread of the tiny array ends; slower loads are outliers.
  double spread_quantile = 0.95;
  // Levels between the tiny array and the cold pass may not show in either, so the nearest level ends just above the
  // spread: by this part of it, at least `min_margin_cycles`.
  double margin = 0.15;
  double min_margin_cycles = 6;
};
// Raw latency from which loads miss the nearest level. `tiny`: histogram of a tiny array whose loads all hit.
[[nodiscard]] double nearest_limit_cycles(const stats::Histogram& tiny, const NearestLevelParameters& parameters = {});

struct TinyArrayParameters {
  // Loads of the tiny array hit a nearer level than footprints show if they are faster by this part of that level's
  // latency and by this many cycles. Slices of one cache differ less, and so do loads under jitter.
  double nearer_part = 0.25;
  double nearer_cycles = 12;
  // Part of the tiny array's loads that are nearer, and part that is as slow as that level or slower. Smaller values
  // take outliers and slices for levels; larger values accept arrays whose single lines evict each other.
  double least_nearer = 0.25;
  double least_at_level = 0.08;
};
// Whether even the tiny array does not fit the nearest cache, for example because all its lines are in one set of few
// ways: some loads hit something nearer than the nearest level that footprints show, and some do not.
[[nodiscard]] bool tiny_array_is_two(const stats::Histogram& tiny, const stats::Level& nearest,
                                     const TinyArrayParameters& parameters = {});

struct OneLevelParameters {
  // Quantile at which loads are compared, because most first loads may hit what an earlier load of the line fetched.
  // Larger values compare outliers; smaller values compare those hits.
  double slow_quantile = 0.9;
  // Without a cache, first loads differ from repeated ones by at most this part, because they lie elsewhere in memory.
  // Larger values overlook a cache that is almost as slow as memory.
  double same_part = 0.04;
};
// Whether the only level of repeated loads is memory, because first loads take as long. If not, it may be a cache
// whose misses are hardly slower than its hits. Takes raw latencies.
[[nodiscard]] bool is_memory_alone(double hit_cycles, double cold_cycles, const OneLevelParameters& parameters = {});

struct TranslatedLevelParameters {
  // A level is a nearer one plus a TLB miss if their latencies agree within this part or this many cycles. Larger
  // values drop far parts of L2; smaller values take misses for levels.
  double same_part = 0.05;
  double same_cycles = 6;
  // Least gap between a level with the longest miss and the next level, as part of the next level's latency.
  double clear_part = 0.03;
  // A footprint clearly exceeds all caches if at most this part of its loads hits one of them; larger footprints are
  // then not needed. The methods walk three to four capacities.
  double exceeded_hits = 0.35;
};

// Whether most loads of a footprint go to the last of its levels.
[[nodiscard]] bool shows_all_levels(const stats::Histogram& footprint, const std::vector<stats::Level>& levels,
                                    const TranslatedLevelParameters& parameters = {});

// The levels of all footprints that also show with free translations or that are not a nearer level plus a TLB miss.
// Loads between two levels count as the farther one beyond the midpoint of the nearer level with its longest miss and
// the farther level. `added_cycles`: the cost of misses, ascending.
[[nodiscard]] std::vector<stats::Level> levels_without_translation(const std::vector<stats::Level>& of_free,
                                                                   const std::vector<stats::Level>& of_all,
                                                                   const std::vector<double>& added_cycles,
                                                                   const TranslatedLevelParameters& parameters = {});
// The first level whose loads with a TLB miss are as slow as those of the next level.
[[nodiscard]] std::optional<std::size_t> level_hidden_by_translation(const std::vector<stats::Level>& levels,
                                                                     const std::vector<double>& added_cycles,
                                                                     const TranslatedLevelParameters& parameters = {});

struct MemoryLevelsParameters {
  // Memory is the levels with this part of the cold loads, which no cache serves. Larger values take rare near memory
  // for a cache; smaller values take a cache for memory because a few cold loads hit what a fetch brought along.
  double of_cold = 0.1;
  // A level with this part of the cold loads is memory; slower levels wait for translations. Larger values miss
  // memory and count it as a cache; smaller values take a far part as slow as near memory for memory.
  double nearly_all_cold = 0.95;
  // A far part of a cache is hit without memory: some footprint has more than `without_farther` of its loads there and
  // less than `hardly_any` farther away. Such a level is not memory.
  double without_farther = 0.05;
  double hardly_any = 0.02;
  // This exception needs at most this many levels before the last: SMs share a cache with near and far parts, or two
  // caches. If far lines are copied, lines with a near home are evicted first, so near memory shows before far memory.
  std::size_t levels_of_caches = 2;
};
// Merges the levels of memory that is near or far, depending on the line's home, into one, the last. `footprints` are
// those that show the levels.
[[nodiscard]] std::vector<stats::Level> with_memory_as_one(std::vector<stats::Level> levels,
                                                           std::span<const stats::Histogram> footprints,
                                                           const stats::Histogram& cold,
                                                           const MemoryLevelsParameters& parameters = {});

struct CountedPlacesParameters {
  // Loads counted per place, behind an uncounted one. Larger values need fewer translations; smaller values give more
  // places, which cover more sets and more of the order of touches.
  std::uint64_t loads_of_place = 32;
  // Most places of a program: each takes two steps.
  std::uint64_t most_places = 512;
};

// Neighbors in a chain. The load at `first` brings their translation; the loads behind it are counted.
struct CountedPlace {
  std::uint64_t first = 0;
  std::uint64_t loads = 0;
};
// Places all over a chain of `elements` elements, with about `loads` loads together. Each is at a random position in
// its part of the chain, so that they do not fall into the same sets of a cache.
[[nodiscard]] std::vector<CountedPlace> counted_places(std::uint64_t elements, std::uint64_t loads, std::uint64_t seed,
                                                       const CountedPlacesParameters& parameters = {});

struct SweepReadingParameters {
  // A footprint fits if it misses at most this part of its loads more than the tiny array. A coarse limit is enough:
  // the size probe finds the edge.
  double fits_tolerance = 0.01;
  // The tiny array fits if it misses at most this part of its loads. With larger values a few lines that evict each
  // other fit; with smaller values outliers and slices make a 384 B cache hold nothing.
  double tiny_misses = 0.1;
  // Loads of a footprint that are enough to tell how many hits look like misses.
  std::uint64_t min_loads = 1024;
  // A footprint shows resident bytes only if its hits exceed this many times the misses that look like hits. Larger
  // values ignore the largest footprints of caches close to the next level; smaller values let misses enlarge caches.
  double misjudged_at_most = 2;
};

// A cache as the sweep sees it.
struct CacheBand {
  double floor_cycles = 0;    // raw latencies from this on miss all nearer caches
  double limit_cycles = 0;    // raw latencies below this hit in the cache or nearer
  double misses_at_most = 1;  // part of the loads that can miss
  double misjudged = 0;       // part of the misses that look like hits
  // Bytes of the tiny array if the cache may be smaller than every footprint, else 0.
  std::uint64_t tiny_bytes = 0;
};

struct SweepReading {
  std::uint64_t fits_bytes = 0;    // largest footprint that fits
  double resident_bytes = 0;       // most bytes seen resident of any footprint: a lower bound of the size
  std::uint64_t nearer_bytes = 0;  // the same of the caches before this one
  double noise = 0;                // part of the loads of fitting footprints that do not look like hits
};
// `footprints_bytes` ascend, one for each histogram; `tiny` is of an array whose loads all hit.
[[nodiscard]] SweepReading read_sweep(std::span<const std::uint64_t> footprints_bytes,
                                      std::span<const stats::Histogram> histograms, const stats::Histogram& tiny,
                                      const CacheBand& band, const SweepReadingParameters& parameters = {});

}  // namespace gputopo::probe
