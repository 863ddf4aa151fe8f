#include "probe/tlb/level_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/tlb/sets_decision.h"

namespace gputopo::probe {
namespace {

struct TlbLevelMissParameters {
  // Least half width of the interval, as a part of the penalty: misses differ by where the next level's entry or the
  // page table lies. Larger values widen intervals.
  double least_error = 0.05;
  // The same in cycles: the error of histogram bins and of the clock's steps.
  double least_error_cycles = 1.5;
  // Both for a level whose bytes per entry are not known.
  double least_error_of_unknown = 0.15;
  double least_error_cycles_of_unknown = 3;
};

struct AbsentLevelParameters {
  // A level that the sweep did not show is absent only if this part of the memory was swept; otherwise its reach may
  // be larger. The sweep of an idle GPU covers two thirds or more.
  double least_of_memory = 0.5;
  // A level is absent only if this many pages were loaded at once, more than any known TLB has; else it may have more.
  std::uint64_t least_pages = 16384;
  // And only if the sweep reached far enough: on no known GPU does the first level reach farther than this, or the
  // second farther than this multiple of the first (256 on an H200). Larger values report less for GPUs with little
  // memory. No known GPU has a third level.
  double first_reaches_at_most = 16.0 * (1ull << 30);
  double second_times_first = 512;
  // Entries of the level may cover less than those of the first. GPU memory is mapped in pages of at least this size.
  std::uint64_t least_entry_bytes = 64 << 10;
};
constexpr AbsentLevelParameters kAbsentLevelParameters;

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

// Whether an unseen level may reach beyond the sweep or, with the smallest entries, have more than there were pages.
bool may_have_unseen_level(const TlbSurvey& survey, std::size_t depth) {
  const auto finest = static_cast<double>(survey.most_pages * kAbsentLevelParameters.least_entry_bytes);
  const auto swept = static_cast<double>(survey.largest_bytes);
  if (survey.levels.empty()) return swept < kAbsentLevelParameters.first_reaches_at_most;
  const double reach = kAbsentLevelParameters.second_times_first * survey.levels.front().last_fit_bytes;
  return depth == 1 && std::min(swept, finest) < reach;
}

}  // namespace

const TlbLevel& tlb_level(const TlbSurvey& survey, std::size_t depth) {
  if (depth < survey.levels.size()) return survey.levels[depth];
  if (!survey.unsure.empty()) throw Inconclusive(survey.unsure);
  if (survey.is_limited) {
    throw NotSupportedError(
        fmt::format("arrays in this space hold at most {} B, and loads from the largest array miss no further TLB "
                    "level: if this level exists, its reach is at least that large",
                    survey.largest_bytes));
  }
  if (static_cast<double>(survey.largest_bytes) <
      kAbsentLevelParameters.least_of_memory * static_cast<double>(survey.memory_bytes)) {
    throw Inconclusive(
        fmt::format("loads spread over {} B miss no further TLB level: if this level exists, its reach is at least "
                    "that large; free more GPU memory to test a larger reach",
                    survey.largest_bytes));
  }
  if (survey.most_pages < kAbsentLevelParameters.least_pages) {
    throw NotSupportedError(
        fmt::format("loads from {} pages, the largest number whose lines stay in L2, miss no further TLB level: if "
                    "this level exists, it has at least that many entries",
                    survey.most_pages));
  }
  if (may_have_unseen_level(survey, depth)) {
    throw NotSupportedError(
        fmt::format("loads spread over {} B, most of the memory, and up to {} pages miss no further TLB level: if this "
                    "level exists, it has a larger reach or more entries",
                    survey.largest_bytes, survey.most_pages));
  }
  throw NotPresent(fmt::format("loads spread over up to {} B of memory and at most {} pages show {} TLB level{}",
                               survey.largest_bytes, survey.most_pages, survey.levels.size(),
                               survey.levels.size() == 1 ? "" : "s"));
}

bool is_window(const TlbSurvey& survey, std::size_t depth) {
  return survey.window.has_value() && depth + 1 == survey.levels.size();
}

Attribute tlb_reach(const ProbeRunner& runner, const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  if (!level.unsure_reach.empty()) throw Inconclusive(level.unsure_reach);
  Attribute attribute = measured(survey.conditions, whole(level.last_fit_bytes), "B", level.reach_bytes, "page_sweep");
  if (runner.keep_samples()) attribute.samples.push_back(survey.sweep);
  return attribute;
}

Attribute tlb_entry_bytes(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  if (level.entry_bytes == 0) {
    throw Inconclusive(
        "the tested pages do not show how many bytes an entry covers; this needs pages well beyond the reach of this "
        "level, or smaller pages");
  }
  return measured_exactly(survey.conditions, static_cast<std::int64_t>(level.entry_bytes), "B",
                          "random_line_per_block");
}

Attribute tlb_entries(const TlbSurvey& survey, std::size_t depth) {
  const auto bytes = static_cast<double>(std::get<std::int64_t>(tlb_entry_bytes(survey, depth).value));
  const TlbLevel& level = tlb_level(survey, depth);
  if (!level.unsure_reach.empty()) throw Inconclusive(level.unsure_reach);
  return measured(survey.conditions, whole(level.last_fit_bytes / bytes), "",
                  stats::Interval{level.reach_bytes.low / bytes, level.reach_bytes.high / bytes}, "reach_over_entry");
}

Attribute tlb_ways(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  if (!level.unsure_reach.empty()) throw Inconclusive(level.unsure_reach);
  const std::uint64_t max_entries = TlbSetsParameters{}.max_entries;
  if (level.sets.empty()) {
    if (level.entry_bytes > 0 && level.last_fit_bytes > static_cast<double>(max_entries * level.entry_bytes)) {
      throw NotSupportedError(
          fmt::format("with more than {} entries, the ways can be found only if misses grow evenly, by one whole set "
                      "with each further page: {}",
                      max_entries, level.no_sets.empty() ? "noise hides the misses" : level.no_sets));
    }
    throw Inconclusive(
        level.is_behind_larger
            ? "the nearer TLB has as many entries as this one and hides which pages share a set"
            : "the misses that each page beyond the reach causes do not add up to the number of entries");
  }
  const auto [least, most] = std::minmax_element(level.sets.begin(), level.sets.end());
  Attribute attribute =
      measured(survey.conditions, static_cast<std::int64_t>(*most), "",
               stats::Interval{static_cast<double>(*least), static_cast<double>(*most)}, "misses_per_page_beyond");
  attribute.add_detail("sets", static_cast<std::int64_t>(level.sets.size()));
  constexpr std::size_t kMostListed = 64;
  if (level.sets.size() <= kMostListed) {
    attribute.add_detail("ways_of_each_set", std::vector<double>(level.sets.begin(), level.sets.end()));
  }
  return attribute;
}

Attribute tlb_miss_penalty(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  const auto rounded = [](double cycles) { return std::round(cycles * 10) / 10; };
  if (level.penalty) {
    Attribute attribute = measured(survey.conditions, rounded(level.penalty->cycles), "cycles", level.penalty->interval,
                                   "same_lines_apart_and_together");
    std::vector<double> by_sm;
    for (const double cycles : level.penalty->cycles_by_sm) by_sm.push_back(rounded(cycles));
    attribute.add_detail("miss_cycles_by_sm", by_sm);
    attribute.add_detail("sampled_sms", std::vector<double>(level.penalty->sms.begin(), level.penalty->sms.end()));
    return attribute;
  }
  const TlbLevelMissParameters parameters;
  // If pages are not known to be whole entries, some of them may not miss.
  const bool knows_entry = level.entry_bytes > 0;
  if (!knows_entry && !level.unsure_reach.empty()) throw Inconclusive(level.unsure_reach);
  if (!level.unsure_penalty.empty()) throw Inconclusive(level.unsure_penalty);
  const double part =
      std::max(knows_entry ? parameters.least_error : parameters.least_error_of_unknown, level.miss_error);
  const double slack = std::max(knows_entry ? parameters.least_error_cycles : parameters.least_error_cycles_of_unknown,
                                part * level.miss_cycles);
  // The sweep's step and pages of whole entries are two experiments; the interval covers both.
  const auto [least, most] = std::minmax(level.miss_cycles, level.swept_miss_cycles);
  return measured(survey.conditions, rounded(level.miss_cycles), "cycles", stats::Interval{least - slack, most + slack},
                  "step_of_page_sweep");
}

}  // namespace gputopo::probe
