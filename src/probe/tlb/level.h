// One TLB level, from its step in a sweep over pages. Three questions: where it begins, exactly; how much of the
// address space one entry covers (pages touched at one random half take as many entries as whole pages only if an
// entry covers a page or more); and how many pages each page too many evicts: the ways of its set and itself.
#pragma once

#include <vector>

#include "probe/tlb/sweep.h"
#include "probe/tlb/tlb.h"

namespace gputopo::probe {

struct TlbLevelParameters {
  // Noise depends on the lines. It is measured over this part of the reach, where all pages fit.
  double quiet_reach_part = 0.6;
  std::uint64_t quiet_lines = 1024;
  // Walks over few_lines other lines each, which show how much the noise varies.
  std::uint64_t few_lines = 16;
  std::uint64_t quiet_walks = 32;
  // A miss is measured on this part of the entries, which fit, and on all_miss times the entries, which all miss.
  double fitting_part = 0.7;
  double all_miss = 2;
  // Fewest passes over a level without noise. Fewer give more weight to one disturbance, as a neighbor's turn.
  std::uint64_t least_passes = 4;
  // Choices of lines that are tried if lines do not stay in the cache behind: its set index may undo a choice.
  std::uint64_t variants = 4;
  // Without countable entries, one set that overflows does not stand out from noise, so the reach may be this part
  // smaller. With the few lines that a small L2 allows, several sets may go unseen.
  double unseen_part = 0.02;
  double unseen_part_of_few = 0.2;
  // If noise hides the misses of a few pages, they begin where the mean of all loads has risen by this part of a miss.
  // Larger values find them too late; smaller values find noise of the mean.
  double mean_rise = 0.15;
};

// Checks of a level's entries by experiments of another design.
struct TlbCheckParameters {
  // Least missed part of pages that all miss; the second value is for a level that noise hides.
  double nearly_all = 0.95;
  double nearly_all_if_noisy = 0.8;
  // Walks over these parts of the pages that fit must take the same time, to within this part of a miss.
  double few_pages = 0.6;
  double most_pages = 0.97;
  double same_part = 0.15;
  int looks = 2;  // any of which may show the fit; larger values accept reaches that are too large
  // Pages half as far apart, over this part of the reach, must fit. They do not if entries are smaller.
  double finer_part = 0.9;
  double hardly_missed = 0.25;
  // Strides and part of the fitting pages for the check without countable entries: if bytes count and not pages, these
  // pages are too many. Both strides are odd, so that a power of two of sets is used fully.
  std::vector<std::uint64_t> strides_apart = {3, 5};
  double fewer_pages = 0.7;
  // Least part of them that must miss.
  double many_missed = 0.5;
  // If no block size misses more than this, the check of twice the reach is made at the step itself.
  double no_block_misses = 0.05;
  // If no blocks smaller than an entry were touched, this many times the entries must miss, and as well
  // 1 / farther_divisor of an entry farther apart, an odd number of them. Fewer than least_times_entries tell nothing.
  double times_entries = 2;
  double least_times_entries = 1.1;
  std::uint64_t farther_divisor = 8;
};

// The verdict of the experiments that only levels undergo.
struct LevelVerdict {
  StepCause is = StepCause::kLevel;
  TlbLevel level;
};
// If memory runs out, returns the results up to then.
[[nodiscard]] LevelVerdict examine_level(const PageChaser& page_chaser, const TlbStep& step,
                                         const std::vector<SweepPoint>& points, const NearerTlb& nearer,
                                         const TlbLevelParameters& parameters = {});

}  // namespace gputopo::probe
