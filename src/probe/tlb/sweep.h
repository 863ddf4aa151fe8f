// The latency of loads over ever more pages (Wong et al. 2010, section IV-I; Mei et al. 2014, section 4.2). Walked
// again and again, an LRU-like TLB misses nothing up to its reach, and beyond it more and more: every level is a step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "probe/tlb/miss_decision.h"
#include "probe/tlb/walk.h"

namespace gputopo::probe {

struct TlbSweepParameters {
  // Smaller reaches are not tried: no TLB would cover less than twice this, eight pages of 4 KiB.
  double first_reach_bytes = 16 << 10;
  // Reaches per octave. More: steps close to one another are told apart; takes longer.
  int points_per_octave = 4;
  // Fewer are no sweep.
  std::size_t least_points = 8;
  // Of more pages one copy speaks for itself; else that of two with the least misses counts.
  std::uint64_t many_pages = 4096;
  // Lines within so few bytes that they fit any first level, and enough of them to stand for all: the second load of a
  // line may take longer or less than the first for other reasons, which depend on where the line lies.
  std::uint64_t quiet_lines = 1024;
  std::uint64_t quiet_stride_bytes = 512;
  // Whether it is pages that miss and not lines is asked at so many times the reach: as many pages as later.
  double beyond = 2;
  // The line that is loaded beside that of each page: within the smallest page, and not in its line of L2.
  std::uint32_t lines_off = 4;
};

struct SweepPoint {
  std::uint64_t reach_bytes = 0;
  std::uint64_t stride_bytes = 0;
  double mean_cycles = 0;      // that translations add to a load
  double slow_cycles = 0;      // that they add to the slowest of them
  stats::Histogram histogram;  // of paired loads

  [[nodiscard]] std::uint64_t pages() const { return reach_bytes / stride_bytes; }
};

struct PageCount {
  std::uint64_t pages = 0;
  std::uint64_t stride_bytes = 0;
};
// Loads over each of these.
[[nodiscard]] std::vector<SweepPoint> load_pages(const PageWalker& walker, const std::vector<PageCount>& counts,
                                                 const TlbSweepParameters& parameters = {});

// Up to what memory allows. Throws Inconclusive where that is too little.
[[nodiscard]] std::vector<SweepPoint> sweep_pages(const PageWalker& walker, const TlbSweepParameters& parameters = {});
// Of loads that miss no level: noise alone.
[[nodiscard]] stats::Histogram quiet_loads(const PageWalker& walker, const TlbSweepParameters& parameters = {});

// A rise of the sweep as a level's misses look.
struct TlbStep {
  TlbRise rise;
  MissSignature signature;
  double quiet_cycles = 0;  // that translations add where no level misses
};
[[nodiscard]] std::vector<TlbStep> find_tlb_steps(const PageWalker& walker, const std::vector<SweepPoint>& points,
                                                  const stats::Histogram& quiet);

// A second experiment on each step: beyond it, another line of each page is loaded right behind the first. It has the
// same translation and lies elsewhere in L2, so what delays it too is no TLB.
[[nodiscard]] SlowBeyond look_beyond(const PageWalker& walker, const TlbStep& step,
                                     const std::vector<SweepPoint>& points, const TlbSweepParameters& parameters = {});

}  // namespace gputopo::probe
