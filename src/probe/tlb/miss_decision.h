// Which of many paired loads missed a TLB level: those that a miss delays, less those that noise alone delays among
// hits. A cheap miss fools the method: whether a load looks like a miss then depends on its line.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probe/tlb/step_decision.h"
#include "stats/histogram.h"

namespace gputopo::probe {

struct TlbMissParameters {
  // A load that waits longer than this many misses of the level missed the cache behind the TLB. Larger values count
  // such loads as misses of the level; smaller values leave out slow misses.
  double max_rises = 2.5;
  // Least difference between the false misses of hits and the part that shows if all loads miss; if noise hides nearly
  // all, nothing is reported. Larger values undercount misses that noise hides.
  double least_contrast = 0.1;
  // Part of false misses that makes a level noisy: walked more often, in several orders. Smaller values take longer.
  double noisy_part = 0.001;
  // Standard errors that exceed noise. Larger values give fewer false misses and overlook more true ones.
  double standard_errors = 3;
  // Passes suffice when noise is at most this many pages. With fewer passes (larger values), misses stand out less.
  double told_pages = 0.5;
  // False misses that may exist, at 95%, though as many loads showed none.
  double unseen_false_loads = 3;
  // Part of the loads that must miss where all should, to measure the cost of a miss; a noisy level is less certain.
  // If fewer miss, the level does not replace the oldest entry.
  double nearly_all = 0.9;
  double nearly_all_if_noisy = 0.75;
  // Largest relative difference to the sweep's cost of a miss. Beyond it, the loads miss more than this level.
  double max_sweep_deviation = 0.25;
  double as_swept_if_noisy = 1.0;
  // Relative error of the sweep's cost if such pages do not confirm it. Larger values widen intervals.
  double unborne_error = 0.3;
  // Relative error if there is no room for such pages.
  double unseen_error = 0.15;
};

// How the misses of one level look among paired loads.
struct MissSignature {
  double before_cycles = 0;  // translation cost of loads that hit the level and miss all nearer ones
  double rise_cycles = 0;    // cost of a miss
  double false_part = 0;     // part of the hits that looks like misses
  double false_loads = 0;    // number of hits behind false_part if they are over the lines of later walks; otherwise 0
  double seen_part = 1;      // part of the misses that looks like misses in spite of noise
  double line_error = 0;     // standard error of false_part over line_error_lines lines; 0 if there is hardly any noise
  double line_error_lines = 1;
  double rise_error = 0;  // relative error of rise_cycles, besides noise
};

// Part of the loads that translation delays by over half of the rise, but less than a miss of the cache would.
[[nodiscard]] double part_beyond(const stats::Histogram& paired, double before_cycles, double rise_cycles,
                                 const TlbMissParameters& parameters = {});

// From the sweep. `quiet`: loads that all hit the nearest level, so that only noise shows.
[[nodiscard]] MissSignature signature_of(const TlbRise& rise, const stats::Histogram& quiet,
                                         const TlbMissParameters& parameters = {});
// Adds what hits show over the lines of later walks.
[[nodiscard]] MissSignature with_hits(MissSignature signature, const stats::Histogram& hits,
                                      const TlbMissParameters& parameters = {});
// Adds how much that varies with the lines. `false_parts`: from walks of `loads` loads over `lines` other lines each.
[[nodiscard]] MissSignature with_line_error(MissSignature signature, const std::vector<double>& false_parts,
                                            std::uint64_t lines, std::uint64_t loads,
                                            const TlbMissParameters& parameters = {});
// Adds what pages of one entry each show: some that fit and, if there was room, so many that all miss.
[[nodiscard]] MissSignature sharpened(MissSignature signature, const stats::Histogram& hits,
                                      const std::optional<stats::Histogram>& misses,
                                      const TlbMissParameters& parameters = {});

// Part of the loads that misses, corrected for noise; may be below 0 or above 1.
[[nodiscard]] double missed_part(const stats::Histogram& paired, const MissSignature& signature,
                                 const TlbMissParameters& parameters = {});
[[nodiscard]] bool is_noisy(const MissSignature& signature, const TlbMissParameters& parameters = {});
// Standard error of the missed part over this many lines, some of which look like misses wherever they are.
[[nodiscard]] double line_error(const MissSignature& signature, double lines);
// The part that must miss to exceed the noise of this many lines.
[[nodiscard]] double undetectable_part(const MissSignature& signature, double lines,
                                       const TlbMissParameters& parameters = {});
// Pages that must miss in a pass over `pages` to exceed noise.
[[nodiscard]] double least_missed_pages(const MissSignature& signature, std::uint64_t pages, std::uint64_t passes,
                                        const TlbMissParameters& parameters = {});

// Passes over `pages` after which one page that misses stands out from chance. At most `most`, which is the answer if
// it is not known what hits look like.
[[nodiscard]] std::uint64_t passes_that_tell(const MissSignature& signature, std::uint64_t pages, std::uint64_t most,
                                             const TlbMissParameters& parameters = {});

struct BeyondStepParameters {
  // Part of the loads beyond a step that is slow for other reasons. Larger values reject levels that hardly any load
  // misses; smaller values count noise as misses of the cache behind.
  double few_slow = 0.1;
  // If a miss costs little, differences between lines make many loads slow, how many varies between sweeps, and as
  // many fast. Then the mean decides: a level delays pages by at least this part of its rise, and other lines by less
  // than this part of that. Larger values count misses of the cache as a level's; smaller values count noise.
  double mean_wait = 0.25;
  // If companions are faster the first time by this part of the rise, second loads miss the cache. Larger values make
  // levels of lines that do not stay; smaller values let noise hide levels.
  double second_loads_miss = 0.5;
};
// Well beyond a step: the part of the loads that is slow, and of loads of another line of the same page right after
// them, which only misses of the cache behind delay.
struct SlowBeyond {
  double pages = 1;
  double companions = 0;
  double pages_wait_cycles = 1;  // mean, above loads that hit the level
  double companions_wait_cycles = 1;
};
enum class StepCause : std::uint8_t {
  kLevel,
  kTransient,    // not there at twice the reach, where a level shows even more: lines of a few points conflicted
  kCacheMisses,  // lines do not stay in the cache, and its misses look like a level
};
[[nodiscard]] StepCause classify_step(const SlowBeyond& slow, const MissSignature& signature,
                                      const BeyondStepParameters& parameters = {});

}  // namespace gputopo::probe
