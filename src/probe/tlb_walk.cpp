#include "probe/tlb_walk.h"

#include <fmt/format.h>

#include <numeric>

#include "probe/paired_histogram.h"
#include "probe/tlb_step_decision.h"

namespace gputopo::probe {
namespace {

// Of neighbouring lines, what their first loads take longer than their second ones, for each of these sizes.
std::vector<stats::Histogram> pairs_of_neighbours(Lab& lab, const Site& site, const std::vector<std::uint64_t>& bytes,
                                                  const PageWalkParameters& parameters) {
  std::vector<ChaseProgram> programs;
  for (const std::uint64_t one : bytes) {
    const ChaseArray array = make_array(site, one, parameters.line_bytes);
    const std::uint64_t loads = std::min(array.element_count(), parameters.kept_loads);
    programs.push_back(
        make_program(site, {array}, {warm_step(site, array), {.kind = StepKind::kPaired, .loads = loads}}));
  }
  std::vector<stats::Histogram> histograms;
  for (ChaseResult& result : lab.chase(programs)) histograms.push_back(std::move(result.steps[1].histogram));
  return histograms;
}

// Bytes of neighbouring lines that stay, of sizes from that for `most_pages` down to that for `least_pages`.
std::uint64_t kept_bytes_between(Lab& lab, const Site& site, std::uint64_t most_pages, std::uint64_t least_pages,
                                 const PageWalkParameters& parameters) {
  const std::uint64_t of_page = parameters.l2_part * parameters.line_bytes;
  std::vector<std::uint64_t> tried;
  for (std::uint64_t pages = most_pages; pages >= least_pages; pages /= parameters.kept_steps) {
    tried.push_back(pages * of_page);
  }
  tried.push_back(parameters.kept_lines_of_any * parameters.line_bytes);
  const std::vector<stats::Histogram> pairs = pairs_of_neighbours(lab, site, tried, parameters);
  for (std::size_t i = 0; i + 1 < tried.size(); ++i) {
    if (!stay_in_cache(pairs[i], pairs.back())) continue;
    // Halfway to the next, which did not stay.
    const std::uint64_t more = tried[i] * parameters.kept_steps / 2;
    if (i == 0 || !stay_in_cache(pairs_of_neighbours(lab, site, {more}, parameters).front(), pairs.back())) {
      return tried[i];
    }
    return more;
  }
  return 0;
}

// Bytes of neighbouring lines that stay in the cache behind the translation, of those that are tried. What the vendor
// tells may be the whole of several parts, or of an L2 that loads do not have to themselves.
std::uint64_t kept_bytes(Lab& lab, const Site& site, const PageWalkParameters& parameters) {
  const std::uint64_t most = parameters.max_pages;
  // Loads that cannot bypass L1 find the second of each pair there.
  if (site.space != Space::kGlobalBypassL1) {
    return lab.info().l2_bytes.value_or(most * parameters.l2_part * parameters.line_bytes);
  }
  const std::uint64_t kept = kept_bytes_between(lab, site, most, parameters.least_pages, parameters);
  if (kept > 0) return kept;
  return kept_bytes_between(lab, site, parameters.least_pages / 2, parameters.least_pages_of_small, parameters);
}

// A line of each page, in a window at its beginning. Of pages that follow one another the low bits of the lines'
// numbers differ, however many of these choose the set, and all else is as by chance, so that no way of choosing sets
// piles them up. x (2x + 1) modulo a power of two takes every value once.
std::vector<std::uint32_t> spread_lines(std::uint64_t pages, std::uint64_t lines_of_page, std::uint64_t lines_of_window,
                                        std::uint64_t variant) {
  constexpr std::uint64_t kShift = 37;  // where there are more pages than lines of a window: others of the next ones
  constexpr std::uint64_t kVariants = 2741;  // apart
  std::vector<std::uint32_t> lines;
  for (std::uint64_t page = 0; page < pages; ++page) {
    const std::uint64_t x = page + page / lines_of_window * kShift + variant * kVariants;
    const std::uint64_t place = x * (2 * x + 1) * (2 * variant + 1) % lines_of_window;
    lines.push_back(static_cast<std::uint32_t>(page * lines_of_page + place));
  }
  return lines;
}

// All that a chain visits is loaded: once by many threads, because loads that miss all caches and TLBs take longest,
// and again in the chain's order, which is what stays of the first. A touch cannot follow listed elements: those are
// walked twice.
std::vector<ChaseStep> warm_pages(const ChaseArray& array) {
  const std::uint64_t n = array.chain_length();
  if (!array.elements.empty()) return {{.kind = StepKind::kWarm, .loads = 2 * n}};
  return {{.kind = StepKind::kTouch}, {.kind = StepKind::kWarm, .loads = n}};
}

ChaseProgram warmed_pairs(const Site& site, ChaseArray array, std::uint64_t loads) {
  std::vector<ChaseStep> steps = warm_pages(array);
  steps.push_back({.kind = StepKind::kPaired, .loads = loads});
  return make_program(site, {std::move(array)}, std::move(steps));
}

std::uint64_t line_within(std::uint64_t bytes, const PageWalkParameters& parameters) {
  return std::max(parameters.line_bytes, std::bit_ceil(bytes / parameters.max_elements));
}

// The elements ascend.
ChaseArray spread_pages(const Site& site, std::uint64_t pages, std::uint64_t stride_bytes, const NearerTlb& nearer,
                        const PageWalkParameters& parameters, std::uint64_t variant) {
  const std::uint64_t line = line_within(pages * stride_bytes, parameters);
  ChaseArray array = make_array(site, pages * stride_bytes, line);
  array.order = nearer.entry_bytes > stride_bytes ? Order::kSequential : Order::kShuffled;
  const std::uint64_t window = std::max(line, std::min(std::bit_floor(stride_bytes), parameters.spread_window_bytes));
  array.elements = past_nearer(spread_lines(pages, stride_bytes / line, window / line, variant), stride_bytes, nearer);
  return array;
}

}  // namespace

ChaseArray pages_apart(const Lab& lab, const Site& site, std::uint64_t pages, std::uint64_t stride_bytes,
                       const NearerTlb& nearer, const PageWalkParameters& parameters, std::uint64_t variant) {
  if (parameters.spreads_lines) return spread_pages(site, pages, stride_bytes, nearer, parameters, variant);
  ChaseArray array = make_array(site, pages * stride_bytes, stride_bytes);
  const std::uint64_t page =
      lab.info().l2_bytes ? parameters.smallest_page_with_l2_bytes : parameters.smallest_page_bytes;
  array.stagger_bytes = parameters.line_bytes * (2 * variant + 1);
  array.stagger_window_bytes = std::min(page, std::bit_floor(array.stride_bytes));
  // Shuffled, or of pages much larger than the stride only the first load of each would meet a miss.
  array.order = Order::kShuffled;
  if (nearer.entry_bytes > stride_bytes) {
    array.elements.resize(pages);
    std::iota(array.elements.begin(), array.elements.end(), 0u);
    array.elements = past_nearer(array.elements, stride_bytes, nearer);
    array.order = Order::kSequential;
  }
  return array;
}

PageWalker::PageWalker(Lab& lab, const Site& site)
    : lab_(lab), site_(site), kept_bytes_(kept_bytes(lab, site, parameters_)), max_pages_(parameters_.max_pages) {
  max_pages_ = std::min(max_pages_, kept_bytes_ / parameters_.l2_part / parameters_.line_bytes);
  if (max_pages_ == 0) throw Inconclusive("lines do not stay in L2, so misses of a TLB do not show");
  lab.log(fmt::format("tlb: at most {} pages at once, a line on each", max_pages_));
  largest_bytes_ =
      static_cast<std::uint64_t>(lab.parameters().tlb_reach_of_free * static_cast<double>(lab.info().max_array_bytes));
}

PageWalker PageWalker::with_spread_lines(std::uint64_t l2_part) const {
  PageWalker spread = *this;
  spread.parameters_.spreads_lines = true;
  spread.parameters_.l2_part = l2_part;
  spread.max_pages_ = std::min(parameters_.max_pages, kept_bytes_ / l2_part / parameters_.line_bytes);
  lab_.log(fmt::format("tlb: once more, lines spread over the pages, of at most {} of them", spread.max_pages_));
  return spread;
}

std::uint64_t PageWalker::line_for(std::uint64_t bytes) const { return line_within(bytes, parameters_); }

std::uint64_t PageWalker::stride_for(double reach_bytes) const {
  const auto bytes = static_cast<std::uint64_t>(reach_bytes);
  return std::max({std::min(parameters_.wanted_stride_bytes, std::bit_floor(bytes / parameters_.least_lines)),
                   std::bit_ceil(bytes / max_pages_), parameters_.line_bytes});
}

ChaseProgram PageWalker::program_over(ChaseArray array, std::uint64_t max_loads) const {
  const std::uint64_t n = array.chain_length();
  // Not std::clamp(): where L2 is small the most is less than the least.
  const std::uint64_t loads = std::min(std::max(n, parameters_.least_loads), max_loads);
  return warmed_pairs(site_, std::move(array), loads);
}

std::vector<stats::Histogram> PageWalker::run(const std::vector<ChaseProgram>& programs) const {
  std::vector<stats::Histogram> histograms;
  for (ChaseResult& result : lab_.chase(programs)) histograms.push_back(std::move(result.steps.back().histogram));
  return histograms;
}

WalkPasses PageWalker::passes_over(std::uint64_t pages, bool noisy) const {
  const bool few = noisy && pages <= parameters_.few_pages;
  const std::uint64_t loads = few ? parameters_.walk_loads_of_few : parameters_.walk_loads;
  const std::uint64_t passes = std::max(parameters_.least_passes, loads / pages);
  if (noisy) return {passes, parameters_.orders};
  return {std::min(passes, parameters_.max_passes)};
}

WalkPasses PageWalker::quiet_passes_over(std::uint64_t lines) const {
  return {std::max(parameters_.least_passes, parameters_.quiet_loads / lines), parameters_.orders};
}

stats::Histogram PageWalker::walk(std::uint64_t pages, std::uint64_t page_bytes, const NearerTlb& nearer,
                                  const WalkPasses& passes, std::uint64_t variant) const {
  const std::uint64_t of_order = std::max<std::uint64_t>(1, passes.passes / passes.orders);
  std::vector<ChaseProgram> programs;
  for (std::uint64_t order = 0; order < passes.orders; ++order) {
    ChaseArray array = pages_apart(pages, page_bytes, nearer, variant + order);
    array.seed += order;
    programs.push_back(warmed_pairs(site_, std::move(array), of_order * pages));
  }
  stats::Histogram sum;
  for (const stats::Histogram& one : run(programs)) stats::accumulate(sum, one);
  return sum;
}

}  // namespace gputopo::probe
