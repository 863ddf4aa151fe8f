// The latency of loads over growing numbers of pages (Wong et al. 2010, section IV-I; Mei et al. 2014, section 4.2).
// In repeated walks, an LRU-like TLB has no misses up to its reach and more and more beyond: each level is a step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "probe/tlb/miss_decision.h"
#include "probe/tlb/walk.h"

namespace gputopo::probe {

struct TlbSweepParameters {
  // Smallest reach (B): no TLB covers less than twice this, eight pages of 4 KiB.
  double first_reach_bytes = 16 << 10;
  // Larger values separate steps that are close together, but take longer.
  int points_per_octave = 4;
  // Fewest points of a sweep.
  std::size_t least_points = 8;
  // Above this many pages one copy is enough; below, the one with the fewest misses of two counts.
  std::uint64_t many_pages = 4096;
  // Enough lines to represent all, close enough to fit any first level: the second load of a line may differ from the
  // first for other reasons, which depend on where the line lies.
  std::uint64_t quiet_lines = 1024;
  std::uint64_t quiet_stride_bytes = 512;
  // Multiple of the reach at which pages and lines are told apart: with as many pages as in later experiments.
  double beyond = 2;
  // Offset, in lines, of the line beside that of each page: within the smallest page, but in another line of L2.
  std::uint32_t lines_off = 4;
};

struct SweepPoint {
  std::uint64_t reach_bytes = 0;
  std::uint64_t stride_bytes = 0;
  double mean_cycles = 0;      // mean translation delay of a load
  double slow_cycles = 0;      // translation delay of the slowest loads
  stats::Histogram histogram;  // paired loads

  [[nodiscard]] std::uint64_t pages() const { return reach_bytes / stride_bytes; }
};

struct PageCount {
  std::uint64_t pages = 0;
  std::uint64_t stride_bytes = 0;
};
// Loads over each of these numbers of pages.
[[nodiscard]] std::vector<SweepPoint> load_pages(const PageChaser& page_chaser, const std::vector<PageCount>& counts,
                                                 const TlbSweepParameters& parameters = {});

// The sweep, up to the memory limit. Throws Inconclusive if that is too little.
[[nodiscard]] std::vector<SweepPoint> sweep_pages(const PageChaser& page_chaser,
                                                  const TlbSweepParameters& parameters = {});
// Loads that miss no level, and so show noise alone.
[[nodiscard]] stats::Histogram quiet_loads(const PageChaser& page_chaser, const TlbSweepParameters& parameters = {});

// A rise of the sweep, with the signature of a level's misses.
struct TlbStep {
  TlbRise rise;
  MissSignature signature;
  double quiet_cycles = 0;  // translation delay if no level misses
};
[[nodiscard]] std::vector<TlbStep> find_tlb_steps(const PageChaser& page_chaser, const std::vector<SweepPoint>& points,
                                                  const stats::Histogram& quiet);

// Second experiment on each step: beyond it, another line of each page is loaded right after the first. Both share a
// translation but lie in different places of L2, so a delay of the second is not due to a TLB.
[[nodiscard]] SlowBeyond look_beyond(const PageChaser& page_chaser, const TlbStep& step,
                                     const std::vector<SweepPoint>& points, const TlbSweepParameters& parameters = {});

}  // namespace gputopo::probe
