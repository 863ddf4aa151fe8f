// Which of many paired loads missed a level of TLB: those that its miss delays, counted against what noise alone makes
// of loads that hit. What fools it is a miss that costs little: then it depends on the line which loads look like one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/tlb/step_decision.h"
#include "stats/histogram.h"

namespace gputopo::probe {

struct TlbMissParameters {
  // A load that waits for more than so many misses of the level missed the cache behind the translation. Larger: those
  // count as misses of the level; smaller: misses that take long are left out.
  double max_rises = 2.5;
  // Part of the loads between what noise alone makes and what a level that misses always shows; where noise hides
  // nearly all, nothing is told. Larger: misses that noise hides count for less than they are.
  double least_contrast = 0.1;
  // False part from which a level is noisy, and is walked more often, in several orders. Smaller: takes longer.
  double noisy_part = 0.001;
  // Standard errors that are more than noise. Larger: fewer false misses, and more true ones that go unseen.
  double standard_errors = 3;
  // Passes over pages are enough where noise comes to no more than so many of them. Larger: fewer passes, and a page
  // that misses stands out less.
  double told_pages = 0.5;
  // False loads that may have gone unseen where none was: of as many loads, at 95%.
  double unseen_false_loads = 3;
  // Part of the loads that must miss where all are thought to, to tell what a miss costs; of a noisy level it is less
  // sure. Where they do not, not the oldest is replaced.
  double nearly_all = 0.9;
  double nearly_all_if_noisy = 0.75;
  // What a miss costs there differs from what the sweep showed by less than this part, or they miss more than the
  // level.
  double as_swept = 0.25;
  double as_swept_if_noisy = 1.0;
  // Of what the sweep showed, as far as that may be off where such pages do not bear it out. Larger: wider intervals.
  double unborne_error = 0.3;
  // And where there is no room for such pages.
  double unseen_error = 0.15;
};

// How the misses of one level look among paired loads.
struct MissSignature {
  double before_cycles = 0;     // that translations add to loads that hit it, and missed all nearer levels
  double rise_cycles = 0;       // that a miss adds
  double false_part = 0;        // of the loads that hit, which look like misses
  double false_loads = 0;       // of so many that were looked at, where they are those that are walked later
  double seen_part = 1;         // of the loads that miss, which look like it, all noise considered
  double line_error = 0;        // standard error of false_part, of a walk over line_error_lines lines
  double line_error_lines = 1;  // 0 error where there is hardly any noise
  double rise_error = 0;        // of rise_cycles, as a part of it, besides noise
};

// Part of the loads that a translation delays by more than half of the rise, but not by so much more that a load missed
// the cache behind it.
[[nodiscard]] double part_beyond(const stats::Histogram& paired, double before_cycles, double rise_cycles,
                                 const TlbMissParameters& parameters = {});

// As the sweep shows it. `quiet`: of loads that all hit the nearest level, which is noise alone.
[[nodiscard]] MissSignature signature_of(const TlbRise& rise, const stats::Histogram& quiet,
                                         const TlbMissParameters& parameters = {});
// The same with what loads show that hit, over the lines that are walked later.
[[nodiscard]] MissSignature with_hits(MissSignature signature, const stats::Histogram& hits,
                                      const TlbMissParameters& parameters = {});
// And with how much that depends on the lines. `false_parts`: of walks over `lines` other lines each, by as many loads.
[[nodiscard]] MissSignature with_line_error(MissSignature signature, const std::vector<double>& false_parts,
                                            std::uint64_t lines, std::uint64_t loads,
                                            const TlbMissParameters& parameters = {});
// And from pages of one entry each: some that fit and, where there was room for them, so many that all miss.
[[nodiscard]] MissSignature sharpened(MissSignature signature, const stats::Histogram& hits,
                                      const std::optional<stats::Histogram>& misses,
                                      const TlbMissParameters& parameters = {});

// Part of the loads that miss, without what noise makes of it: it may come out below 0 or above 1.
[[nodiscard]] double missed_part(const stats::Histogram& paired, const MissSignature& signature,
                                 const TlbMissParameters& parameters = {});
[[nodiscard]] bool is_noisy(const MissSignature& signature, const TlbMissParameters& parameters = {});
// Standard error of the part of so many lines that misses: some look like misses wherever they are.
[[nodiscard]] double line_error(const MissSignature& signature, double lines);
// More than so large a part must miss to be more than noise of so many lines.
[[nodiscard]] double untold_part(const MissSignature& signature, double lines,
                                 const TlbMissParameters& parameters = {});
// Of a walk over so many pages, how many must miss in a pass to be more than noise.
[[nodiscard]] double least_missed_pages(const MissSignature& signature, std::uint64_t pages, std::uint64_t passes,
                                        const TlbMissParameters& parameters = {});

// Passes over so many pages after which a single one that misses stands out from what chance makes of the others. At
// most `most`, which it is where it is not known what loads that hit look like.
[[nodiscard]] std::uint64_t passes_that_tell(const MissSignature& signature, std::uint64_t pages, std::uint64_t most,
                                             const TlbMissParameters& parameters = {});

struct BeyondStepParameters {
  // Part of the loads beyond a step that is slow for other reasons. Larger: levels that hardly any load misses are
  // none; smaller: noise is misses of the cache behind.
  double few_slow = 0.1;
  // Where a miss costs little, lines that differ make a good part of all loads slow, and it differs from sweep to sweep
  // how many; but as many fast. So there the mean counts: a level makes pages wait this part of its rise at least, and
  // other lines no more than this part of what pages do. Larger: misses of the cache are a level's; smaller: noise.
  double mean_wait = 0.25;
  // Companions that are quicker the first time by this part of the rise: second loads miss the cache. Larger: lines
  // that do not stay make levels; smaller: noise hides levels.
  double second_loads_miss = 0.5;
};
// Well beyond a step, the part of the loads that are slow, and of loads of another line of the same page that follow
// them, which only misses of the cache behind delay.
struct SlowBeyond {
  double pages = 1;
  double companions = 0;
  double pages_wait_cycles = 1;  // in the mean, more than loads that do not miss the level
  double companions_wait_cycles = 1;
};
enum class StepIs : std::uint8_t {
  kLevel,
  kPassing,      // at twice the reach a level would show all the more: lines of a few points met in the cache
  kCacheMisses,  // lines do not stay in the cache: what misses there looks like a level
};
[[nodiscard]] StepIs judge_step(const SlowBeyond& slow, const MissSignature& signature,
                                const BeyondStepParameters& parameters = {});

}  // namespace gputopo::probe
