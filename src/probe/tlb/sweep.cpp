#include "probe/tlb/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "probe/bench/paired_histogram.h"

namespace gputopo::probe {

std::vector<SweepPoint> load_pages(const PageChaser& page_chaser, const std::vector<PageCount>& counts,
                                   const TlbSweepParameters& parameters) {
  const auto copies_of = [&](std::uint64_t pages) { return pages > parameters.many_pages ? 1 : 2; };
  std::vector<ChaseProgram> programs;
  std::vector<SweepPoint> points;
  for (const PageCount& count : counts) {
    ChaseArray array = page_chaser.pages_apart(count.pages, count.stride_bytes);
    for (int copy = 0; copy < copies_of(count.pages); ++copy, ++array.seed) {
      programs.push_back(page_chaser.program_over(array, page_chaser.parameters().max_loads, count.stride_bytes));
    }
    points.push_back({.reach_bytes = count.pages * count.stride_bytes, .stride_bytes = count.stride_bytes});
  }
  const std::vector<stats::Histogram> histograms = page_chaser.run(programs);
  auto histogram = histograms.begin();
  for (SweepPoint& point : points) {
    // Takes the copy with the fewest misses: disturbances only add to them.
    point.mean_cycles = std::numeric_limits<double>::infinity();
    for (int copies = copies_of(point.pages()); copies > 0; --copies, ++histogram) {
      const double mean = added_by_translation(*histogram);
      if (mean < point.mean_cycles) point.histogram = *histogram;
      point.mean_cycles = std::min(point.mean_cycles, mean);
    }
    page_chaser.require_past_nearest(point.histogram);
    point.slow_cycles = slow_difference(point.histogram);
  }
  return points;
}

std::vector<SweepPoint> sweep_pages(const PageChaser& page_chaser, const TlbSweepParameters& parameters) {
  std::vector<SweepPoint> points;
  const auto largest = static_cast<double>(page_chaser.largest_bytes());
  // Lines that the nearest cache does not hold span at least this much.
  const auto exceeding = static_cast<double>(page_chaser.nearest().lines * page_chaser.parameters().line_bytes);
  const double first = std::max(parameters.first_reach_bytes, exceeding);
  for (double reach = first; reach < largest; reach *= 2) {
    std::vector<PageCount> octave;
    for (int i = 0; i < parameters.points_per_octave; ++i) {
      const double wanted = reach * std::exp2(static_cast<double>(i) / parameters.points_per_octave);
      const std::uint64_t stride = page_chaser.stride_for(wanted);
      if (wanted <= largest) octave.push_back({static_cast<std::uint64_t>(wanted) / stride, stride});
    }
    try {
      std::ranges::move(load_pages(page_chaser, octave, parameters), std::back_inserter(points));
    } catch (const DeviceMemoryError& error) {
      page_chaser.runner().log(fmt::format("tlb: the sweep ends before {:.0f} B: {}", reach, error.what()));
      break;
    }
  }
  if (points.size() < parameters.least_points) {
    throw Inconclusive("too little GPU memory is free for a sweep over pages; free some and measure again");
  }
  return points;
}

stats::Histogram quiet_loads(const PageChaser& page_chaser, const TlbSweepParameters& parameters) {
  if (page_chaser.nearest().serves()) return page_chaser.neighbours_past_nearest();
  // Adjacent lines fill only some of the sets of L2, so their number is limited.
  const std::uint64_t lines = std::min(parameters.quiet_lines, page_chaser.max_pages());
  return page_chaser.walk(lines, parameters.quiet_stride_bytes, {}, page_chaser.quiet_passes_over(lines));
}

std::vector<TlbStep> find_tlb_steps(const PageChaser& page_chaser, const std::vector<SweepPoint>& points,
                                    const stats::Histogram& quiet) {
  std::vector<double> slow_cycles;
  for (const SweepPoint& point : points) slow_cycles.push_back(point.slow_cycles);
  std::vector<TlbStep> steps;
  for (const TlbRise& rise : find_tlb_rises(slow_cycles)) {
    const TlbStep& step = steps.emplace_back(TlbStep{rise, signature_of(rise, quiet), added_by_translation(quiet)});
    page_chaser.runner().log(
        fmt::format("tlb: the wait for address translation, {:.1f} cycles, rises by {:.1f} between {} and {} B",
                    step.signature.before_cycles, rise.rise_cycles, points[rise.last_before].reach_bytes,
                    points[rise.first_after].reach_bytes));
  }
  return steps;
}

SlowBeyond look_beyond(const PageChaser& page_chaser, const TlbStep& step, const std::vector<SweepPoint>& points,
                       const TlbSweepParameters& parameters) {
  const double reach = std::min(parameters.beyond * static_cast<double>(points[step.rise.first_after].reach_bytes),
                                static_cast<double>(points.back().reach_bytes));
  const std::uint64_t stride = page_chaser.stride_for(reach);
  const ChaseArray pages = page_chaser.pages_apart(static_cast<std::uint64_t>(reach) / stride, stride);
  ChaseArray alone = make_array(page_chaser.site(), pages.bytes, page_chaser.line_for(pages.bytes));
  ChaseArray beside = alone;
  const std::uint32_t off = page_chaser.nearest().serves()
                                ? std::max(1u, static_cast<std::uint32_t>(page_chaser.window_lines(stride) / 2))
                                : parameters.lines_off;
  for (const std::uint32_t page : chain_order(pages, 0)) {
    const auto line = static_cast<std::uint32_t>(pages.element_offset(page) / alone.stride_bytes);
    alone.elements.push_back(line);
    beside.elements.insert(beside.elements.end(), {line, line ^ off});
  }
  const std::uint64_t loads = page_chaser.parameters().max_loads;
  const std::vector<stats::Histogram> histograms = page_chaser.run(
      {page_chaser.program_over(alone, loads, stride), page_chaser.program_over(beside, 2 * loads, stride, 2)});
  for (const stats::Histogram& histogram : histograms) page_chaser.require_past_nearest(histogram);
  const auto slow_part = [&](const stats::Histogram& histogram, double before_cycles) {
    return 1 - part_below(histogram, before_cycles + step.signature.rise_cycles / 2);
  };
  // The other line of a page misses no level before this one either. Half of the loads in `beside` are the page's own.
  const double alone_cycles = added_by_translation(histograms[0]);
  const SlowBeyond found{
      .pages = slow_part(histograms[0], step.signature.before_cycles),
      .companions = 2 * slow_part(histograms[1], step.quiet_cycles) - slow_part(histograms[0], step.quiet_cycles),
      .pages_wait_cycles = alone_cycles - step.signature.before_cycles,
      .companions_wait_cycles = 2 * added_by_translation(histograms[1]) - alone_cycles - step.quiet_cycles};
  page_chaser.runner().log(fmt::format(
      "tlb: {} pages: fraction of slow loads {:.2f} (mean wait {:.1f} cycles) for one line on each page, {:.2f} "
      "({:.1f} cycles) for a second line on each page",
      pages.chain_length(), found.pages, found.pages_wait_cycles, found.companions, found.companions_wait_cycles));
  return found;
}

}  // namespace gputopo::probe
