// The pure parts of a survey: how far the sweep goes, where the nearest level ends before the sweep has shown the next
// one, and what the sweep tells of a cache whose latencies are known: what fits, what is resident, what is noise. The
// levels themselves are stats/levels.h.
//
// What fools them: a neighbour that spoils footprints (a larger one that fits then speaks for the smaller ones); levels
// whose latencies overlap, which count as one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/histogram.h"
#include "stats/levels.h"

namespace gputopo::probe {

struct SweepParameters {
  // Footprints per octave. More resolves ramps; fewer is faster. Of what SMs share, where programs take turns, fewer.
  double per_octave = 4;
  double per_octave_of_shared = 2;
  // The smallest footprint: half the smallest cache any GPU had; and of what SMs share.
  double first_bytes = 512;
  double first_bytes_of_shared = 16 << 10;
  // Of what SMs share the largest, in capacities of the last cache by its vendor: memory shows clearly. Where the
  // vendor does not tell that one, the sweep goes on, by so many times, while more than this part of the loads are
  // nearer than memory; up to the largest footprint, and this part of the memory that is free. More hits: a cache is
  // taken for exceeded that replaces at random; fewer: one that is exceeded is swept on and on.
  double beyond_last_cache = 2.5;
  double still_nearer = 0.4;
  std::uint64_t last_limit_bytes_of_shared = 512u << 20;
  std::uint64_t memory_divisor = 8;
  // Memory is the nearest level that this part of cold loads has. Larger: near memory that is rare counts as a cache.
  double of_cold = 0.1;
  // The sweep goes up to the first limit, and then on, by so much at a time, up to the last one while more than this
  // part of the loads still hits.
  std::uint64_t first_limit_bytes = 1u << 20;
  std::uint64_t last_limit_bytes = 16u << 20;
  double limit_growth = 4;
  double still_hits = 0.25;
  // Loads that are counted of a footprint, where the parameters of all probes do not ask for less: passes, and no less
  // than so many loads; of what SMs share, one of so many elements, and no less than so many.
  std::uint64_t passes = 2;
  std::uint64_t min_loads = 256;
  std::uint64_t elements_of_load = 8;
  std::uint64_t min_loads_of_shared = 64;
  // Copies of a program up to the first limit. More: a neighbour disturbs less; beyond it, where nothing is small, one.
  std::uint32_t copies = 3;
};

// A part of the sweep: footprints in even steps of an octave.
struct SweepPart {
  double from_bytes = 0;
  double to_bytes = 0;
  double per_octave = 0;
  std::uint32_t copies = 1;

  [[nodiscard]] std::vector<double> footprints() const;
};
// Of what each SM has of its own: the first part, or what follows the one up to `swept_bytes`, of whose largest
// footprint this part of the loads hit the nearest level. Nothing where it ends. `clamp_bytes`: largest array; 0: none.
[[nodiscard]] SweepPart first_sweep_part(std::uint64_t clamp_bytes, const SweepParameters& parameters = {});
[[nodiscard]] std::optional<SweepPart> next_sweep_part(double swept_bytes, double hits, std::uint64_t clamp_bytes,
                                                       const SweepParameters& parameters = {});
// Of what SMs share the first part; and what follows where the vendor does not tell the last cache, whose largest
// footprint this part of the loads are of a level before memory.
[[nodiscard]] SweepPart shared_sweep(double last_cache_bytes, const SweepParameters& parameters = {});
[[nodiscard]] std::optional<SweepPart> next_shared_sweep(double swept_bytes, double nearer, std::uint64_t memory_bytes,
                                                         const SweepParameters& parameters = {});
// That part, of a footprint's loads and of cold ones.
[[nodiscard]] double part_before_memory(const stats::Histogram& footprint, const std::vector<stats::Level>& levels,
                                        const stats::Histogram& cold, const SweepParameters& parameters = {});

struct NearestLevelParameters {
  // The tiny array's own spread is up to this quantile; what is slower is an outlier.
  double spread_quantile = 0.95;
  // Between the tiny array and the cold pass there may be levels that neither shows, so the nearest level ends just
  // above that: by this part, and no less than so many cycles.
  double margin = 0.15;
  double min_margin_cycles = 6;
};
// Raw latencies from this on miss the nearest level, from the histogram of a tiny array whose loads all hit.
[[nodiscard]] double nearest_limit_cycles(const stats::Histogram& tiny, const NearestLevelParameters& parameters = {});

struct TinyArrayParameters {
  // Loads of the tiny array are of a nearer level than the nearest that footprints show where they take this part of
  // its latency less, and so many cycles: no slices of one cache are as far apart, nor loads under jitter.
  double nearer_part = 0.25;
  double nearer_cycles = 12;
  // Part of its loads that do, and part that takes as long as that level or longer. Smaller: outliers and slices are
  // levels; larger: arrays of which single lines push one another out are taken to fit.
  double least_nearer = 0.25;
  double least_at_level = 0.08;
};
// Whether even the tiny array does not fit the nearest cache, as where all its lines are of one set of few ways: some
// of its loads hit something nearer than what footprints show as the nearest level, and some do not.
[[nodiscard]] bool tiny_array_is_two(const stats::Histogram& tiny, const stats::Level& nearest,
                                     const TinyArrayParameters& parameters = {});

struct OneLevelParameters {
  // Loads are compared at this quantile: of first loads most may hit what an earlier one of the same line has fetched.
  // Larger: outliers are compared; smaller: those hits.
  double slow_quantile = 0.9;
  // First loads where there is no cache differ from repeated ones by no more than this part: they lie elsewhere in
  // memory. Larger: a cache almost as slow as memory is taken for none.
  double same_part = 0.04;
};
// Where repeated loads show one level only: whether that is memory, as first loads take as long. If not, it may be a
// cache whose misses take hardly longer than its hits. Raw latencies.
[[nodiscard]] bool is_memory_alone(double hit_cycles, double cold_cycles, const OneLevelParameters& parameters = {});

struct TranslatedLevelParameters {
  // A level is a nearer one with a miss of a TLB where its latency is that within this part, or so many cycles. Larger:
  // far parts of L2 are left out; smaller: misses become levels.
  double same_part = 0.05;
  double same_cycles = 6;
  // Between a level with the longest miss and the next level there must be this part of the next one's latency.
  double clear_part = 0.03;
  // Part of the loads of a footprint that hit some cache where it exceeds them all so clearly that none need be larger:
  // the methods walk three to four capacities.
  double exceeded_hits = 0.35;
};

// Whether most loads of a footprint go to the last of its levels.
[[nodiscard]] bool shows_all_levels(const stats::Histogram& footprint, const std::vector<stats::Level>& levels,
                                    const TranslatedLevelParameters& parameters = {});

// Of the levels of all footprints those that those with free translations show too, and those that are no nearer one
// and a miss of a TLB. Loads between two of them count as the farther from halfway between the nearer with the longest
// miss and the farther on. `added_cycles`: what misses add, ascending.
[[nodiscard]] std::vector<stats::Level> levels_without_translation(const std::vector<stats::Level>& of_free,
                                                                   const std::vector<stats::Level>& of_all,
                                                                   const std::vector<double>& added_cycles,
                                                                   const TranslatedLevelParameters& parameters = {});
// The first level whose loads with a miss of a TLB take as long as those of the next.
[[nodiscard]] std::optional<std::size_t> level_hidden_by_translation(const std::vector<stats::Level>& levels,
                                                                     const std::vector<double>& added_cycles,
                                                                     const TranslatedLevelParameters& parameters = {});

struct MemoryLevelsParameters {
  // Memory's are the levels that this part of cold loads, which no cache serves, has. Larger: near memory that is rare
  // is a cache's; smaller: a few hits of what was fetched along make a cache memory.
  double of_cold = 0.1;
  // And a level that this part of them has is memory's, whatever slower ones there are: those wait for translations.
  // Larger: these make memory a part of the cache; smaller: a far part that takes as long as near memory is memory's.
  double nearly_all_cold = 0.95;
  // And of which no footprint has more than this part of its loads while it has hardly any in all farther ones: a far
  // part of a cache is hit without memory.
  double without_farther = 0.05;
  double hardly_any = 0.02;
  // Unless so many are before it: SMs share a cache of a near part and a far one, or two caches. Where far lines are
  // copied, what is at home near is the first to be evicted, so that near memory comes before far memory.
  std::size_t levels_of_caches = 2;
};
// Memory that is near or far, by where the line is at home, is one level, the last. Of levels and the footprints that
// show them.
[[nodiscard]] std::vector<stats::Level> with_memory_as_one(std::vector<stats::Level> levels,
                                                           std::span<const stats::Histogram> footprints,
                                                           const stats::Histogram& cold,
                                                           const MemoryLevelsParameters& parameters = {});

struct CountedPlacesParameters {
  // Loads that are counted of a place, behind one that is not. More: less is translated; fewer: more places tell of
  // more sets and of more of what was touched when.
  std::uint64_t loads_of_place = 32;
  // A program has no more places: each takes two steps.
  std::uint64_t most_places = 512;
};

// Neighbours in a chain: the load from `first` on brings their translation, those behind it are counted.
struct CountedPlace {
  std::uint64_t first = 0;
  std::uint64_t loads = 0;
};
// Places all over a chain of so many elements, about so many loads in all: each somewhere in its part of the chain, so
// that they are not of the same sets of a cache.
[[nodiscard]] std::vector<CountedPlace> counted_places(std::uint64_t elements, std::uint64_t loads, std::uint64_t seed,
                                                       const CountedPlacesParameters& parameters = {});

struct SweepReadingParameters {
  // A footprint fits when at most this part of its loads misses beyond what does of a tiny array. Coarse: the size
  // probe draws the edge.
  double fits_tolerance = 0.01;
  // And the tiny array, where at most this part of its loads misses. Larger: that of a few lines that drive one another
  // out fits; smaller: outliers and slices make a cache of 384 B one of nothing.
  double tiny_misses = 0.1;
  // Loads of a footprint that can tell how many look like misses although they hit.
  std::uint64_t min_loads = 1024;
  // What is held is told by no footprint with fewer hits than so many times those that misses are taken for. Larger:
  // the largest footprints tell nothing of caches close to the next level; smaller: misses look like a larger cache.
  double misjudged_at_most = 2;
};

// A cache as the sweep sees it.
struct CacheBand {
  double floor_cycles = 0;    // raw latencies from this on miss what is nearer
  double limit_cycles = 0;    // raw latencies below this hit in the cache or nearer
  double misses_at_most = 1;  // part of the loads that can miss
  double misjudged = 0;       // part of the misses that look like hits
  // What the tiny array takes, where the cache may be smaller than every footprint. 0: it is not.
  std::uint64_t tiny_bytes = 0;
};

struct SweepReading {
  std::uint64_t fits_bytes = 0;    // largest footprint that fits
  double resident_bytes = 0;       // most bytes of any footprint that were seen resident: a lower bound of the size
  std::uint64_t nearer_bytes = 0;  // the same of the caches before this one
  double noise = 0;                // part of the loads of footprints that fit which do not look like hits
};
// `footprints_bytes` ascend, one for each histogram; `tiny` is of an array whose loads all hit.
[[nodiscard]] SweepReading read_sweep(std::span<const std::uint64_t> footprints_bytes,
                                      std::span<const stats::Histogram> histograms, const stats::Histogram& tiny,
                                      const CacheBand& band, const SweepReadingParameters& parameters = {});

}  // namespace gputopo::probe
