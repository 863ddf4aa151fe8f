// The reach of a TLB level, from how many pages of a given number miss: first coarsely, then to the page. Other pages
// (code, results) fool the method: the sets that hold them overflow early. The misses must therefore begin where they
// grow with every page, by one set for each.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "probe/tlb/miss_decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// ---- Coarse search ----

struct CoarseEdgeParameters {
  // The edge is near enough at 1 / near of the pages: as near as the exact search needs to start.
  std::uint64_t near = 256;
  // Standard deviations of chance above which loads count as misses. Larger values place the edge later.
  double deviations = 4;
  // Factor by which the part that may go undetected exceeds the part that must miss, because chance may bring less
  // than its average. Larger values widen intervals among noise.
  double untold_chance = 1.5;
  // Largest part of the reach that noise is assumed to hide.
  double max_undetectable_part = 0.5;
};

// Result of a walk over pages.
struct MissedPart {
  double part = 0;  // part of the loads that missed
  double loads = 0;
};
using MissedPartCallback = std::function<MissedPart(std::uint64_t pages)>;

// The part of this many loads, all hits, that may look like misses by chance.
[[nodiscard]] double missed_by_chance(const MissSignature& signature, double loads,
                                      const CoarseEdgeParameters& parameters = {});

struct CoarseEdge {
  // The last number of pages that fits, less what noise of lines may hide, and the first that does not.
  stats::Interval pages;
  double undetectable_by_chance = 0;  // part of the pages by which noise may lower the low end further
};
// Searches between a number of pages that fits and one that does not.
[[nodiscard]] CoarseEdge find_coarse_edge(std::uint64_t fitting_pages, std::uint64_t exceeding_pages,
                                          const MissSignature& signature, const MissedPartCallback& missed_part_of,
                                          const CoarseEdgeParameters& parameters = {},
                                          const TlbMissParameters& miss_parameters = {});

// ---- Exact search ----

// Pages that miss in one pass over contiguous pages of one entry each, which are walked repeatedly.
struct MissedPages {
  double count = 0;
  double noise = 0;  // count that noise alone may reach

  [[nodiscard]] bool any() const { return count > noise; }
};
using MissedPagesCallback = std::function<MissedPages(std::uint64_t pages)>;

struct TlbGrowthParameters {
  // Misses are counted between these multiples of where they begin. With smaller values fewer sets have overflowed and
  // noise weighs more; with larger ones all sets of a small level have, and the misses grow no more.
  double from = 1.03;
  double to = 1.1;
  int points = 6;
  // Student's t at 95%, for that many points less the two parameters of the line.
  double student = 2.78;
  // Largest distance of a point from a straight line, as a part of the most misses. Larger values accept bent lines.
  double straight_part = 0.1;
  // A line is sharp if it locates the beginning to this many pages.
  double sharp_pages = 4;
  // Attempts with the same pages while the line is straight but not sharp.
  int max_attempts = 3;
  // Attempts at larger numbers of pages, needed if some sets overflow before the others.
  int max_windows = 4;
};

struct TlbReachParameters {
  // Fewest pages on either side of the coarse edge that are searched.
  std::uint64_t least_around = 12;
  // Also 1 / around_part of them: the coarse edge may lie some percent late, where enough sets overflow to be seen.
  std::uint64_t around_part = 24;
  // The reach of the nearer level widens the search by at most 1 / max_nearer_part.
  std::uint64_t max_nearer_part = 4;
  // Each page beyond the last that fits makes one more set overflow, so pages_beyond pages must miss as at least
  // sets_beyond sets; otherwise the set of the first page too many holds some other page. More pages give less weight
  // to sets that share a page with something else.
  std::uint64_t pages_beyond = 4;
  double sets_beyond = 2.8;
  // A line of growth must lead back to the first page too many to within this part, or it belongs to something else.
  double near_part = 0.15;
  // It must agree with the search to within this part, or two pages: a few sets may overflow early, one by one.
  double agrees_part = 0.002;
  double agrees_pages = 2;
  // Missed part of the pages that shows a single set. Smaller values skip the search for growth with several sets.
  double one_set_part = 0.8;
  // If even the fewest pages miss, the search shrinks to this part, this many times. More make it surer to find a fit.
  double fewer = 0.7;
  int times_fewer = 4;
  TlbGrowthParameters growth = {};
};

// Facts known before the search, in pages.
struct TlbReachQuestion {
  std::uint64_t edge_pages = 0;    // where the coarse edge begins
  std::uint64_t width_pages = 0;   // width of the coarse edge
  std::uint64_t nearer_pages = 0;  // twice what the nearer level holds: it serves some of the loads
  double max_pages = 0;            // room for pages
};

struct TlbReachFound {
  bool known = false;     // false: the search added nothing
  stats::Interval pages;  // the last number that fits, and the first that does not
  double last_fit_pages = 0;
  bool overflows_at_once = false;    // there is one set
  double missed_per_page = 0;        // further misses with each page beyond; 0: not known
  double missed_per_page_error = 0;  // at 95%
  bool none_fit = false;             // not even the fewest pages that were tried
  bool more_fit = false;             // more pages fit than the coarse edge allows
  std::string why;
};
[[nodiscard]] TlbReachFound find_tlb_reach(const TlbReachQuestion& question, const MissedPagesCallback& missed_pages_of,
                                           const TlbReachParameters& parameters = {});

// Misses beyond the reach: they grow by one set with each page, along a straight line that leads back to the reach.
struct TlbGrowth {
  std::vector<double> pages;
  std::vector<double> missed;
  stats::Line line;
  double margin_pages = std::numeric_limits<double>::infinity();  // error of begin()
  double slope_margin = std::numeric_limits<double>::infinity();

  // The page after which misses begin; 0 if they do not grow.
  [[nodiscard]] double begin() const;
  [[nodiscard]] bool is_straight(const TlbGrowthParameters& parameters = {}) const;
  // The pages that the last two points lead back to; the last point if they show no growth.
  [[nodiscard]] double next_from() const;
};
// Fits the line through the counts.
[[nodiscard]] TlbGrowth make_tlb_growth(std::vector<double> pages, std::vector<double> missed,
                                        const TlbGrowthParameters& parameters = {});

}  // namespace gputopo::probe
