#include "probe/tlb/walk.h"

#include <fmt/format.h>

#include <numeric>
#include <tuple>

#include "probe/bench/paired_histogram.h"
#include "probe/tlb/step_decision.h"

namespace gputopo::probe {
namespace {

// If the SM's own cache serves the second load of a pair, it always takes the same time, so lines are loaded once.
StepKind kind_for(const Site& site) { return site.space == Space::kTexture ? StepKind::kCounted : StepKind::kPaired; }

// Histograms of the last step of each program, as pairs.
std::vector<stats::Histogram> paired_loads(ProbeRunner& runner, const std::vector<ChaseProgram>& programs,
                                           const PageChaseParameters& parameters) {
  std::vector<stats::Histogram> histograms;
  for (ChaseResult& result : runner.chase(programs)) {
    stats::Histogram& histogram = result.steps.back().histogram;
    histograms.push_back(parameters.hit_cycles ? as_paired(histogram, *parameters.hit_cycles) : std::move(histogram));
  }
  return histograms;
}

// Paired loads of adjacent lines, for each of these sizes.
std::vector<stats::Histogram> pairs_of_neighbours(ProbeRunner& runner, const Site& site,
                                                  const std::vector<std::uint64_t>& bytes,
                                                  const PageChaseParameters& parameters) {
  std::vector<ChaseProgram> programs;
  for (const std::uint64_t one : bytes) {
    const ChaseArray array = make_array(site, one, parameters.line_bytes);
    const std::uint64_t loads = std::min(array.element_count(), parameters.kept_loads);
    programs.push_back(make_program(site, {array}, {warm_step(site, array), {.kind = kind_for(site), .loads = loads}}));
  }
  return paired_loads(runner, programs, parameters);
}

// Bytes of adjacent lines that stay, from the size for `most_pages` down to that for `least_pages`.
std::uint64_t kept_bytes_between(ProbeRunner& runner, const Site& site, std::uint64_t most_pages,
                                 std::uint64_t least_pages, const PageChaseParameters& parameters) {
  const std::uint64_t of_page = parameters.l2_part * parameters.line_bytes;
  std::vector<std::uint64_t> tried;
  for (std::uint64_t pages = most_pages; pages >= least_pages; pages /= parameters.kept_steps) {
    tried.push_back(pages * of_page);
  }
  tried.push_back(parameters.kept_lines_of_any * parameters.line_bytes);
  const std::vector<stats::Histogram> pairs = pairs_of_neighbours(runner, site, tried, parameters);
  for (std::size_t i = 0; i + 1 < tried.size(); ++i) {
    if (!stay_in_cache(pairs[i], pairs.back())) continue;
    // Halfway to the next larger size, which did not stay.
    const std::uint64_t more = tried[i] * parameters.kept_steps / 2;
    if (i == 0 || !stay_in_cache(pairs_of_neighbours(runner, site, {more}, parameters).front(), pairs.back())) {
      return tried[i];
    }
    return more;
  }
  return 0;
}

// Bytes of adjacent lines that stay in the cache behind the TLB, among the tried sizes. The vendor's figure may be the
// sum of several parts, or an L2 that other loads share.
std::uint64_t kept_bytes(ProbeRunner& runner, const Site& site, const PageChaseParameters& parameters) {
  const std::uint64_t most = parameters.max_pages;
  // Loads that cannot bypass L1 hit it with the second load of each pair.
  if (site.space != Space::kGlobalBypassL1 && site.space != Space::kTexture) {
    return runner.info().l2_bytes.value_or(most * parameters.l2_part * parameters.line_bytes);
  }
  const std::uint64_t kept = kept_bytes_between(runner, site, most, parameters.least_pages, parameters);
  if (kept > 0) return kept;
  return kept_bytes_between(runner, site, parameters.least_pages / 2, parameters.least_pages_of_small, parameters);
}

// One line of each page, in a window at its beginning. The low bits of the line numbers differ between consecutive
// pages, however many of them select the set; the other bits are as if random, so that no set index piles lines up.
// x (2x + 1) modulo a power of two takes every value once.
std::vector<std::uint32_t> spread_lines(std::uint64_t pages, std::uint64_t lines_of_page, std::uint64_t lines_of_window,
                                        std::uint64_t variant) {
  constexpr std::uint64_t kShift = 37;  // gives later pages other lines if there are more pages than lines in a window
  constexpr std::uint64_t kVariants = 2741;  // distance of variants
  std::vector<std::uint32_t> lines;
  for (std::uint64_t page = 0; page < pages; ++page) {
    const std::uint64_t x = page + page / lines_of_window * kShift + variant * kVariants;
    const std::uint64_t place = x * (2 * x + 1) * (2 * variant + 1) % lines_of_window;
    lines.push_back(static_cast<std::uint32_t>(page * lines_of_page + place));
  }
  return lines;
}

// Loads all that a chain visits: once by many threads, because loads that miss all caches and TLBs take longest, and
// again in the chain's order, which then is what stays. kTouch cannot follow listed elements: these are walked twice.
std::vector<ChaseStep> warm_pages(const ChaseArray& array) {
  const std::uint64_t n = array.chain_length();
  if (!array.elements.empty()) return {{.kind = StepKind::kWarm, .loads = 2 * n}};
  return {{.kind = StepKind::kTouch}, {.kind = StepKind::kWarm, .loads = n}};
}

ChaseProgram warmed_pairs(const Site& site, ChaseArray array, std::uint64_t loads) {
  std::vector<ChaseStep> steps = warm_pages(array);
  steps.push_back({.kind = kind_for(site), .loads = loads});
  return make_program(site, {std::move(array)}, std::move(steps));
}

std::uint64_t line_within(std::uint64_t bytes, const PageChaseParameters& parameters) {
  return std::max(parameters.line_bytes, std::bit_ceil(bytes / parameters.max_elements));
}

// The elements ascend.
ChaseArray spread_pages(const Site& site, std::uint64_t pages, std::uint64_t stride_bytes, const NearerTlb& nearer,
                        const PageChaseParameters& parameters, std::uint64_t variant) {
  const std::uint64_t line = line_within(pages * stride_bytes, parameters);
  ChaseArray array = make_array(site, pages * stride_bytes, line);
  array.order = nearer.entry_bytes > stride_bytes ? Order::kSequential : Order::kShuffled;
  const std::uint64_t window = std::max(line, std::min(std::bit_floor(stride_bytes), parameters.spread_window_bytes));
  array.elements = past_nearer(spread_lines(pages, stride_bytes / line, window / line, variant), stride_bytes, nearer,
                               {.from_middle = true});
  return array;
}

}  // namespace

ChaseArray pages_apart(const ProbeRunner& runner, const Site& site, std::uint64_t pages, std::uint64_t stride_bytes,
                       const NearerTlb& nearer, const PageChaseParameters& parameters, std::uint64_t variant) {
  if (parameters.spreads_lines) return spread_pages(site, pages, stride_bytes, nearer, parameters, variant);
  ChaseArray array = make_array(site, pages * stride_bytes, stride_bytes);
  const std::uint64_t page =
      runner.info().l2_bytes ? parameters.smallest_page_with_l2_bytes : parameters.smallest_page_bytes;
  array.stagger_bytes = parameters.line_bytes * (2 * variant + 1);
  array.stagger_window_bytes = std::min(page, std::bit_floor(array.stride_bytes));
  // Shuffled: in sequence, only the first load of each page would miss if pages are much larger than the stride.
  array.order = Order::kShuffled;
  if (nearer.entry_bytes > stride_bytes) {
    array.elements.resize(pages);
    std::iota(array.elements.begin(), array.elements.end(), 0u);
    array.elements = past_nearer(array.elements, stride_bytes, nearer, {.from_middle = true});
    array.order = Order::kSequential;
  }
  return array;
}

PageChaser::PageChaser(ProbeRunner& runner, const Site& site, std::uint64_t times_lines)
    : runner_(runner), site_(site), max_pages_(parameters_.max_pages) {
  if (site.space == Space::kTexture) look_at_nearest();
  kept_bytes_ = kept_bytes(runner, site, parameters_);
  if (nearest_.serves()) take_lines_past_nearest(times_lines);
  max_pages_ = std::min(max_pages_, kept_bytes_ / parameters_.l2_part / parameters_.line_bytes);
  if (max_pages_ == 0) throw Inconclusive("lines do not stay in L2, so L2 misses hide TLB misses");
  runner.log(fmt::format("tlb: the sweep loads at most {} pages, with one line on each", max_pages_));
  largest_bytes_ = static_cast<std::uint64_t>(runner.parameters().tlb_reach_of_free *
                                              static_cast<double>(runner.info().max_array_bytes));
  if (nearest_.serves()) limit_to_arrays();
}

void PageChaser::look_at_nearest() {
  parameters_.line_bytes = parameters_.texture_line_bytes;
  std::vector<std::uint64_t> tried;
  for (std::uint64_t lines = parameters_.lines_that_hit; lines <= parameters_.max_pages; lines *= 2) {
    tried.push_back(lines * parameters_.line_bytes);
  }
  const std::vector<stats::Histogram> raw = pairs_of_neighbours(runner_, site_, tried, parameters_);
  constexpr double kMiddle = 0.5;
  parameters_.hit_cycles = static_cast<std::uint32_t>(stats::histogram_quantile(raw.front(), kMiddle));
  std::vector<std::pair<std::uint64_t, stats::Histogram>> by_lines;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    by_lines.emplace_back(tried[i] / parameters_.line_bytes, as_paired(raw[i], *parameters_.hit_cycles));
  }
  const std::optional<NearestCache> found = find_nearest_cache(by_lines);
  if (!found) {
    throw Inconclusive(
        fmt::format("the SM's own cache still serves some of {} lines, or is no faster than the level behind it, so "
                    "waits for address translation are not visible",
                    parameters_.max_pages));
  }
  nearest_ = *found;
  runner_.log(fmt::format("tlb: the SM's own cache holds none of {} lines{}; a miss takes {:.1f} cycles longer",
                          nearest_.lines, nearest_.of_memory ? ", and neither does L2" : "", nearest_.gap_cycles));
  // Histograms end at a limit, and what a translation adds must stay below it.
  constexpr double kRoomCycles = 512;
  if (nearest_.gap_cycles + *parameters_.hit_cycles + kRoomCycles > kHistogramBins * kHistogramBinCycles) {
    throw Inconclusive(
        fmt::format("loads that miss the SM's own cache take {:.0f} cycles longer than hits, and an additional TLB "
                    "miss would exceed the histogram limit of {} cycles",
                    nearest_.gap_cycles, kHistogramBins * kHistogramBinCycles));
  }
  parameters_.kept_lines_of_any = nearest_.lines;
}

void PageChaser::take_lines_past_nearest(std::uint64_t times_lines) {
  const std::uint64_t stay = kept_bytes_ / parameters_.line_bytes / NearestCacheParameters{}.part_of_kept;
  const std::uint64_t wanted = times_lines * nearest_.lines;
  if (wanted > std::min(stay, parameters_.max_pages)) {
    throw Inconclusive(
        fmt::format("L2 holds hardly more lines than the {} lines that exceed the SM's own cache", nearest_.lines));
  }
  nearest_.lines = wanted;
}

void PageChaser::limit_to_arrays() {
  // The space itself may limit arrays: linear textures hold only so many texels.
  constexpr std::uint64_t kLeastBytes = 16 << 20;
  for (std::uint64_t bytes = largest_bytes_; bytes >= kLeastBytes; bytes = (std::bit_ceil(bytes) / 2)) {
    ChaseArray array = make_array(site_, bytes, line_for(bytes));
    array.elements = {0};
    try {
      std::ignore = runner_.chase({make_program(site_, {array}, {{.kind = StepKind::kWarm, .loads = 1}})});
      is_limited_ = bytes < largest_bytes_;
      largest_bytes_ = bytes;
      return;
    } catch (const NotSupportedError& error) {
      runner_.log(fmt::format("tlb: {}", error.what()));
    } catch (const DeviceMemoryError&) {
      return;  // the sweep meets it too
    }
  }
}

std::optional<PageChaser> PageChaser::past_l2(const NearerTlb& known) const {
  if (!nearest_.serves() || nearest_.of_memory || !has_few_lines()) return std::nullopt;
  const std::uint64_t lines = std::bit_ceil(parameters_.exceeds_kept * kept_bytes_ / parameters_.line_bytes);
  if (lines > parameters_.max_pages) return std::nullopt;
  const std::vector<stats::Histogram> pairs =
      pairs_of_neighbours(runner_, site_, {lines * parameters_.line_bytes}, parameters_);
  const std::optional<NearestCache> found = past_next_cache(nearest_, lines, pairs.front());
  if (!found) return std::nullopt;
  PageChaser past = *this;
  past.nearest_ = *found;
  past.known_ = known;
  past.max_pages_ = parameters_.max_pages;
  runner_.log(
      fmt::format("tlb: repeating with {} lines, so many that memory serves all loads; a load takes {:.1f} cycles "
                  "longer than a hit in the SM's own cache",
                  found->lines, found->gap_cycles));
  return past;
}

std::uint64_t PageChaser::window_lines(std::uint64_t page_bytes) const {
  const std::uint64_t smallest =
      runner_.info().l2_bytes ? parameters_.smallest_page_with_l2_bytes : parameters_.smallest_page_bytes;
  return std::max<std::uint64_t>(1, std::min(std::bit_floor(page_bytes), smallest) / parameters_.line_bytes);
}

ChaseArray PageChaser::in_rounds(const ChaseArray& array, std::uint64_t page_bytes, std::uint64_t together) const {
  const std::uint64_t line = line_for(array.bytes);
  if (!nearest_.serves() || line != parameters_.line_bytes) return array;
  ChaseArray all = make_array(site_, array.bytes, line);
  std::vector<std::uint32_t> lines;
  for (const std::uint32_t page : chain_order(array, 0)) {
    lines.push_back(static_cast<std::uint32_t>(array.element_offset(page) / line));
  }
  const std::uint64_t window = std::max<std::uint64_t>(1, window_lines(page_bytes) / together);
  const std::uint64_t rounds = std::min(window, (nearest_.lines + lines.size() - 1) / lines.size());
  all.elements = probe::in_rounds(lines, window, rounds);
  // The window of the last page may end beyond the array.
  const auto is_outside = [&](std::uint32_t element) { return element >= all.element_count(); };
  std::erase_if(all.elements, is_outside);
  return all;
}

PageChaser PageChaser::with_spread_lines(std::uint64_t l2_part) const {
  PageChaser spread = *this;
  spread.parameters_.spreads_lines = true;
  spread.parameters_.l2_part = l2_part;
  spread.max_pages_ = std::min(parameters_.max_pages, kept_bytes_ / l2_part / parameters_.line_bytes);
  runner_.log(fmt::format("tlb: repeating with lines spread over their pages, on at most {} pages", spread.max_pages_));
  return spread;
}

stats::Histogram PageChaser::neighbours_past_nearest() const {
  return pairs_of_neighbours(runner_, site_, {nearest_.lines * parameters_.line_bytes}, parameters_).front();
}

void PageChaser::require_past_nearest(const stats::Histogram& paired) const {
  const NearestCacheParameters parameters;
  const double served = served_part(paired, nearest_);
  if (served <= parameters.few_served_of_walk) return;
  throw Inconclusive(
      fmt::format("nearer caches still serve {:.0f}% of the loads of a sweep over pages, because of the addresses of "
                  "the loaded lines",
                  100 * served));
}

std::uint64_t PageChaser::line_for(std::uint64_t bytes) const { return line_within(bytes, parameters_); }

std::uint64_t PageChaser::stride_for(double reach_bytes) const {
  const auto bytes = static_cast<std::uint64_t>(reach_bytes);
  return std::max({std::min(parameters_.wanted_stride_bytes, std::bit_floor(bytes / parameters_.least_lines)),
                   std::bit_ceil(bytes / max_pages_), parameters_.line_bytes});
}

ChaseProgram PageChaser::program_over(ChaseArray array, std::uint64_t max_loads, std::uint64_t page_bytes,
                                      std::uint64_t together) const {
  array = in_rounds(array, page_bytes, together);
  const std::uint64_t n = array.chain_length();
  // Not std::clamp(): with a small L2, max_loads may be below least_loads.
  const std::uint64_t loads = std::min(std::max(n, parameters_.least_loads), max_loads);
  return warmed_pairs(site_, std::move(array), loads);
}

std::vector<stats::Histogram> PageChaser::run(const std::vector<ChaseProgram>& programs) const {
  return paired_loads(runner_, programs, parameters_);
}

ChasePasses PageChaser::passes_over(std::uint64_t pages, bool noisy) const {
  const bool few = noisy && pages <= parameters_.few_pages;
  const std::uint64_t loads = few ? parameters_.walk_loads_of_few : parameters_.walk_loads;
  const std::uint64_t passes = std::max(parameters_.least_passes, loads / pages);
  if (noisy) return {passes, parameters_.orders};
  return {std::min(passes, parameters_.max_passes)};
}

ChasePasses PageChaser::quiet_passes_over(std::uint64_t lines) const {
  return {std::max(parameters_.least_passes, parameters_.quiet_loads / lines), parameters_.orders};
}

stats::Histogram PageChaser::walk(std::uint64_t pages, std::uint64_t page_bytes, const NearerTlb& nearer,
                                  const ChasePasses& passes, std::uint64_t variant) const {
  const std::uint64_t of_order = std::max<std::uint64_t>(1, passes.passes / passes.orders);
  std::vector<ChaseProgram> programs;
  for (std::uint64_t order = 0; order < passes.orders; ++order) {
    ChaseArray array = pages_apart(pages, page_bytes, nearer, variant + order);
    array.seed += order;
    programs.push_back(warmed_pairs(site_, in_rounds(array, page_bytes, 1), of_order * pages));
  }
  stats::Histogram sum;
  for (const stats::Histogram& one : run(programs)) stats::accumulate(sum, one);
  require_past_nearest(sum);
  return sum;
}

}  // namespace gputopo::probe
