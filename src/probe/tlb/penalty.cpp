// The cost of a miss of a level on several SMs, from two orders of the lines of the same pages.
#include "probe/tlb/penalty.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/bench/paired_histogram.h"

namespace gputopo::probe {
namespace {

struct TlbOrdersParameters {
  // Multiple of the entries at which all pages miss a level, whatever its sets.
  double all_miss = 2;
  double about_all_miss = 1.8;  // enough, as a multiple of the largest possible reach, which is an entry more
  double least_miss = 1.25;     // enough if nearly_all of the loads are seen to miss
  double nearly_all = 0.98;
  // Lines of a page, 512 B apart, within the smallest page. With more, the one miss of lines that are together weighs
  // less, but fewer pages stay in the cache.
  std::uint64_t most_lines = 8;
  std::uint32_t line_bits = 4;
  // SMs that are measured. With more, the mean depends less on where they lie, but takes longer.
  std::uint32_t sms = 8;
  // Pairs that are counted for each order and SM, in whole passes; one pass if the pages alone are as many.
  std::uint64_t pairs = 4096;
  // Loads above this multiple of the cost of misses plus outlier_cycles are outliers.
  double outlier_times = 2.5;
  double outlier_cycles = 60;
  // The spread of the loads is measured between the quantiles 1 - core_part and core_part.
  double core_part = 0.97;
};
constexpr TlbOrdersParameters kTlbOrdersParameters;

struct PagesAndLines {
  std::uint64_t pages = 0;
  std::uint64_t lines = 0;
};

// Nothing if pages that all miss, with two lines on each, exceed the memory or the cache.
std::optional<PagesAndLines> pages_and_lines(const PageChaser& page_chaser, const TlbLevel& level,
                                             std::uint64_t most_bytes) {
  const double entries = level.last_fit_bytes / static_cast<double>(level.entry_bytes);
  const std::uint64_t room =
      std::min(std::min(page_chaser.largest_bytes(), most_bytes) / level.entry_bytes, page_chaser.max_pages() / 2);
  const auto wanted = static_cast<std::uint64_t>(std::ceil(kTlbOrdersParameters.all_miss * entries));
  const std::uint64_t pages = std::min(wanted, room);
  if (pages == 0) return std::nullopt;
  if (static_cast<double>(pages) < kTlbOrdersParameters.least_miss * entries) return std::nullopt;
  const std::uint64_t most = std::min(page_chaser.max_pages(), kTlbOrdersParameters.pairs);
  return PagesAndLines{pages, std::clamp<std::uint64_t>(most / pages, 2, kTlbOrdersParameters.most_lines)};
}

// Loads all that a chain of listed lines visits, in its order, or nearly so if many threads take part.
ChaseStep pass_over(const ChaseArray& array) {
  // Threads overtake one another by about kTouchThreads, which keeps so many lines in order well enough. Larger values
  // make walks over many lines slower; smaller ones put loads out of order by more than a quarter of them.
  constexpr std::uint64_t kManyLines = 4 * kTouchThreads;
  const std::uint64_t n = array.chain_length();
  const bool by_many = n >= kManyLines && is_global(array.space);
  return {.kind = by_many ? StepKind::kTouchChain : StepKind::kWarm, .loads = n};
}

ChaseProgram program_on(const PageChaser& page_chaser, std::uint32_t sm, const ChaseArray& array) {
  const std::uint64_t n = array.chain_length();
  const std::uint64_t passes = std::max<std::uint64_t>(1, kTlbOrdersParameters.pairs / n);
  ChaseProgram program =
      make_program(page_chaser.site(), {array}, {pass_over(array), {.kind = StepKind::kPaired, .loads = passes * n}});
  program.sm = sm;
  return program;
}

// Lines apart and lines together, different lines on each SM.
std::vector<ChaseProgram> programs_on(const PageChaser& page_chaser, std::uint32_t sm, std::uint64_t index,
                                      const TlbLevel& level, const PagesAndLines& wanted) {
  const ChaseArray pages = page_chaser.pages_apart(wanted.pages, level.entry_bytes, {}, index);
  ChaseArray apart = make_array(page_chaser.site(), pages.bytes, page_chaser.line_for(pages.bytes));
  ChaseArray together = apart;
  std::vector<std::uint32_t> first_lines;
  for (const std::uint32_t page : chain_order(pages, 0)) {
    first_lines.push_back(static_cast<std::uint32_t>(pages.element_offset(page) / apart.stride_bytes));
  }
  const auto line_of = [](std::uint32_t first, std::uint64_t line) {
    return first ^ static_cast<std::uint32_t>(kTlbOrdersParameters.line_bits * line);
  };
  for (std::uint64_t line = 0; line < wanted.lines; ++line) {
    for (const std::uint32_t first : first_lines) apart.elements.push_back(line_of(first, line));
  }
  for (const std::uint32_t first : first_lines) {
    for (std::uint64_t line = 0; line < wanted.lines; ++line) together.elements.push_back(line_of(first, line));
  }
  return {program_on(page_chaser, sm, apart), program_on(page_chaser, sm, together)};
}

// Spread over all SMs, because the next level may be farther from some.
std::vector<std::uint32_t> sampled_sms(std::uint32_t count) {
  std::vector<std::uint32_t> sms;
  const std::uint32_t wanted = std::min(kTlbOrdersParameters.sms, count);
  for (std::uint32_t i = 0; i < wanted; ++i) sms.push_back(i * count / wanted);
  return sms;
}

}  // namespace

std::optional<TlbPenalty> penalty_by_orders(const PageChaser& page_chaser, const TlbLevel& level,
                                            const MissSignature& signature, const NearerTlb& nearer,
                                            const std::vector<TlbPenalty>& before, std::uint64_t most_bytes) {
  // Lines that are together would wait for misses of the SM's own cache, which differ.
  if (page_chaser.nearest().serves()) return std::nullopt;
  // The levels before must miss with every load too.
  const bool nearer_misses =
      nearer.reach_bytes == 0 || (nearer.entry_bytes > 0 && nearer.entry_bytes <= level.entry_bytes);
  if (level.entry_bytes == 0 || !level.unsure_reach.empty() || !nearer_misses) return std::nullopt;
  const std::optional<PagesAndLines> wanted = pages_and_lines(page_chaser, level, most_bytes);
  // If elements are larger than a line, another line of a page may belong to another page.
  if (!wanted || page_chaser.line_for(wanted->pages * level.entry_bytes) != page_chaser.parameters().line_bytes) {
    return std::nullopt;
  }
  const std::vector<std::uint32_t> sms = sampled_sms(page_chaser.runner().info().sm_count);
  std::vector<ChaseProgram> programs;
  for (std::size_t i = 0; i < sms.size(); ++i) {
    std::ranges::move(programs_on(page_chaser, sms[i], i, level, *wanted), std::back_inserter(programs));
  }
  const std::vector<stats::Histogram> histograms = page_chaser.run(programs);
  double all_cycles = level.miss_cycles;
  for (const TlbPenalty& one : before) all_cycles += one.cycles;
  const double most = kTlbOrdersParameters.outlier_times * all_cycles + kTlbOrdersParameters.outlier_cycles;
  stats::Histogram apart;
  std::vector<TlbOrders> by_sm;
  for (std::size_t i = 0; i < histograms.size(); i += 2) {
    stats::accumulate(apart, histograms[i]);
    by_sm.push_back({added_by_translation(histograms[i], most, {.kept_part = 1}),
                     added_by_translation(histograms[i + 1], most, {.kept_part = 1})});
  }
  const double missed = missed_part(apart, signature);
  const bool all_miss = static_cast<double>(wanted->pages * level.entry_bytes) >=
                        kTlbOrdersParameters.about_all_miss * std::max(level.last_fit_bytes, level.reach_bytes.high);
  // If all miss, noise may hide some of the misses.
  const double hidden = all_miss && is_noisy(signature)
                            ? signature.false_part + undetectable_part(signature, static_cast<double>(wanted->pages))
                            : 0;
  if (missed < kTlbOrdersParameters.nearly_all - hidden) return std::nullopt;
  const double core = kTlbOrdersParameters.core_part;
  const stats::BandSummary spread = stats::summarise_band(apart, stats::histogram_quantile(apart, 1 - core),
                                                          stats::histogram_quantile(apart, core) + kHistogramBinCycles);
  std::optional<TlbPenalty> found = find_tlb_penalty(by_sm, wanted->lines, spread.deviation, before);
  if (found) {
    found->sms = sms;
    page_chaser.runner().log(
        fmt::format("tlb: {} lines on each of {} pages, with the lines of a page first apart and then in sequence in "
                    "the load order: a miss takes {:.2f} [{:.2f}, {:.2f}] cycles",
                    wanted->lines, wanted->pages, found->cycles, found->interval.low, found->interval.high));
  }
  return found;
}

}  // namespace gputopo::probe
