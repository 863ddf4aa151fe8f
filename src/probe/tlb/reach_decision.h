// The reach of a level of TLB, by asking for one number of pages after another how many of them miss: coarsely, then to
// the page. What fools it is pages of something else (code, results) in the way: the sets that hold them overflow
// before the others. So the misses must begin where they grow with every page, a set more with each.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "probe/tlb/miss_decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// ---- Coarsely ----

struct CoarseEdgeParameters {
  // The edge is near enough at one page in so many: as near as it takes for the exact reach to begin with.
  std::uint64_t near = 256;
  // Standard deviations of chance that are misses. Larger: the edge comes out later.
  double deviations = 4;
  // Of the part that must miss to be told, so many times as much may go untold: what misses by chance may be less than
  // on average. Larger: wider intervals where there is noise.
  double untold_chance = 1.5;
  // The most of the reach that noise is taken to hide.
  double max_untold_part = 0.5;
};

// Of a walk over pages.
struct MissedPart {
  double part = 0;  // that missed
  double loads = 0;
};
using MissedPartOf = std::function<MissedPart(std::uint64_t pages)>;

// Of so many loads that all hit, the part that may seem to miss by chance.
[[nodiscard]] double missed_by_chance(const MissSignature& signature, double loads,
                                      const CoarseEdgeParameters& parameters = {});

struct CoarseEdge {
  // The last number of pages that fits and the first that does not. Lower by what lines hide that look like misses.
  stats::Interval pages;
  double untold_by_chance = 0;  // and part of the pages by which it may be lower, for noise hides as many misses
};
// Between a number that fits and one that does not.
[[nodiscard]] CoarseEdge find_coarse_edge(std::uint64_t fitting_pages, std::uint64_t exceeding_pages,
                                          const MissSignature& signature, const MissedPartOf& missed_part_of,
                                          const CoarseEdgeParameters& parameters = {},
                                          const TlbMissParameters& miss_parameters = {});

// ---- To the page ----

// Of contiguous pages of one entry each, walked again and again, those that miss in a pass.
struct MissedPages {
  double count = 0;
  double noise = 0;  // that may come to as much

  [[nodiscard]] bool any() const { return count > noise; }
};
using MissedPagesOf = std::function<MissedPages(std::uint64_t pages)>;

struct TlbGrowthParameters {
  // Misses are counted from so many times where they begin, to so many times. Nearer: fewer sets have overflowed, and
  // noise weighs more; farther: all sets of a small level have, and they grow no more.
  double from = 1.03;
  double to = 1.1;
  int points = 6;
  // Student's distribution at 95%, for that many points less the two of the line.
  double student = 2.78;
  // Of the most misses, as far as a point of a straight line may lie from it. Larger: lines that bend are straight.
  double straight_part = 0.1;
  // A line that leads back to a place known to this many pages is sharp.
  double sharp_pages = 4;
  // Times that the same pages are tried while they are straight and not sharp.
  int max_attempts = 3;
  // Times that they are tried further on, where some sets have overflowed before the others.
  int max_windows = 4;
};

struct TlbReachParameters {
  // The least pages on either side of the coarse edge that are searched.
  std::uint64_t least_around = 12;
  // And this part of them: the coarse edge may be where sets enough overflow to be seen, some percent beyond.
  std::uint64_t around_part = 24;
  // What the level before holds widens the search by no more than this part.
  std::uint64_t max_nearer_part = 4;
  // So many pages beyond the last that fits, where each makes one more set overflow, miss as this many sets at least;
  // less, and the set with the first page too many holds a page of something else. More pages: sets that share a page
  // with something else count less.
  std::uint64_t pages_beyond = 4;
  double sets_beyond = 2.8;
  // A line of growth leads back to the first page too many within this part, or it is of something else.
  double near_part = 0.15;
  // And agrees with the search within this part, or two pages: a few sets may overflow early, one after the other.
  double agrees_part = 0.002;
  double agrees_pages = 2;
  // Part of the pages that misses where there is one set. Smaller: of several sets no growth is looked for.
  double one_set_part = 0.8;
  // Where the least pages miss too, so much fewer are searched, so many times. More: surer to find where they fit.
  double fewer = 0.7;
  int times_fewer = 4;
  TlbGrowthParameters growth = {};
};

// What is known before, in pages.
struct TlbReachQuestion {
  std::uint64_t edge_pages = 0;    // where the coarse edge begins
  std::uint64_t width_pages = 0;   // of the coarse edge
  std::uint64_t nearer_pages = 0;  // twice what the level before holds: it serves some of the loads
  double max_pages = 0;            // that there is room for
};

struct TlbReachFound {
  bool known = false;     // else no more than before
  stats::Interval pages;  // the last number that fits, and the first that does not
  double last_fit_pages = 0;
  bool overflows_at_once = false;    // there is one set
  double missed_per_page = 0;        // that miss more with each page beyond; 0: not known
  double missed_per_page_error = 0;  // at 95%
  bool none_fit = false;             // of as few pages as were tried
  bool more_fit = false;             // than the coarse edge allows
  std::string why;
};
[[nodiscard]] TlbReachFound find_tlb_reach(const TlbReachQuestion& question, const MissedPagesOf& missed_pages_of,
                                           const TlbReachParameters& parameters = {});

// How many pages miss beyond the reach: a set more with each page, a straight line that leads back to it.
struct TlbGrowth {
  std::vector<double> pages;
  std::vector<double> missed;
  stats::Line line;
  double margin_pages = std::numeric_limits<double>::infinity();  // of begin()
  double slope_margin = std::numeric_limits<double>::infinity();

  // The page behind which the misses begin; 0 where they do not grow.
  [[nodiscard]] double begin() const;
  [[nodiscard]] bool is_straight(const TlbGrowthParameters& parameters = {}) const;
  // Where the last two points lead back to; behind them where they show no growth.
  [[nodiscard]] double next_from() const;
};
// The line through those that were counted.
[[nodiscard]] TlbGrowth make_tlb_growth(std::vector<double> pages, std::vector<double> missed,
                                        const TlbGrowthParameters& parameters = {});

}  // namespace gputopo::probe
