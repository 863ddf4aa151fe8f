// TLBs, from the latency of loads over ever more pages: a sweep of their number (sweep.h), and a look at each of
// its steps (level.h).
#include "probe/tlb/tlb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/bench/paired_histogram.h"
#include "probe/tlb/check_decision.h"
#include "probe/tlb/level.h"
#include "probe/tlb/penalty.h"
#include "probe/tlb/sets_decision.h"
#include "probe/tlb/sweep.h"

namespace gputopo::probe {
namespace {

struct TlbLevelMissParameters {
  // Of the interval, as a part of the penalty: misses differ by where the next level's entry or the page table lies.
  // Larger: wider intervals.
  double least_error = 0.05;
  // And in cycles: what the bins of histograms and the clock's steps make of it.
  double least_error_cycles = 1.5;
  // The same where it is not known what an entry covers.
  double least_error_of_unknown = 0.15;
  double least_error_cycles_of_unknown = 3;
};

struct AbsenceParameters {
  // A level that the sweep did not show is none only if this part of the memory was swept: else its reach may be
  // larger. The sweep of an idle GPU takes two thirds and more.
  double least_of_memory = 0.5;
  // And so many pages at once: else it may have more entries. More than any TLB that was ever described has.
  std::uint64_t least_pages = 16384;
  // And so far that a level would show: the first of no GPU known reaches farther than this, nor the second so many
  // times as far as the first (an H200's: 256 times). Larger: less is said of GPUs of little memory. No GPU known has a
  // third.
  double first_reaches_at_most = 16.0 * (1ull << 30);
  double second_times_first = 512;
  // Its entries may cover less than those of the first. The least page that memory of a GPU is mapped in.
  std::uint64_t least_entry_bytes = 64 << 10;
  // What loads within a level's reach may wait beyond what the levels before it explain: more, and there is one that
  // the sweep did not show, so that the next is not the one that it would be counted as. Less than any miss costs.
  double unexplained_cycles = 4;
  // At the last point before a step a few loads miss already where code and results take entries too: so much of the
  // step. More: levels of cheap misses just before another are not noticed.
  double few_of_step = 0.05;
};
constexpr AbsenceParameters kAbsence;

// A level that is seen again with other lines.
struct KnownLevelParameters {
  // Its misses cost as much again but for this part, and so many cycles. Larger: another level is taken for it.
  double part = 0.2;
  double least_cycles = 4;
};
constexpr KnownLevelParameters kKnown;

// Lines of which a second survey is made where the first does not tell.
struct OtherLinesParameters {
  // Part of what L2 keeps: as in the first. Larger: fewer pages at once.
  std::uint64_t surely_stays = 12;
  // And where a level may have more entries than that. Smaller: sets of L2 overflow, and nothing is told.
  std::uint64_t mostly_stays = 4;
};

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::llround(value)); }

SampleTable sweep_table(const std::vector<SweepPoint>& points) {
  SampleTable table = make_table("sweep", Plot::kLine,
                                 {axis("reach_bytes", "reach", "B"), series("stride_bytes", "stride", "B"),
                                  values("added_cycles", "added", "cycles")});
  for (const SweepPoint& point : points) {
    table.data[0].push_back(static_cast<double>(point.reach_bytes));
    table.data[1].push_back(static_cast<double>(point.stride_bytes));
    table.data[2].push_back(std::round(100 * point.mean_cycles) / 100);
  }
  return table;
}

std::optional<TlbPenalty> penalty_of(const PageWalker& walker, const TlbLevel& level, const TlbStep& step,
                                     const NearerTlb& nearer, const std::vector<TlbLevel>& before,
                                     std::uint64_t most_bytes) {
  std::vector<TlbPenalty> penalties;
  for (const TlbLevel& one : before) {
    if (!one.penalty) return std::nullopt;
    penalties.push_back(*one.penalty);
  }
  try {
    return penalty_by_orders(walker, level, step.signature, nearer, penalties, most_bytes);
  } catch (const DeviceMemoryError&) {
    return std::nullopt;
  }
}

// A level that the sweep did not show, than all that was swept. Or has more entries than there were pages, where these
// cover as little as any do.
bool may_reach_farther(const TlbSurvey& survey, std::size_t depth) {
  const auto finest = static_cast<double>(survey.most_pages * kAbsence.least_entry_bytes);
  const auto swept = static_cast<double>(survey.largest_bytes);
  if (survey.levels.empty()) return swept < kAbsence.first_reaches_at_most;
  const double reach = kAbsence.second_times_first * survey.levels.front().last_fit_bytes;
  return depth == 1 && std::min(swept, finest) < reach;
}

}  // namespace

const TlbLevel& tlb_level(const TlbSurvey& survey, std::size_t depth) {
  if (depth < survey.levels.size()) return survey.levels[depth];
  if (!survey.unsure.empty()) throw Inconclusive(survey.unsure);
  if (survey.is_limited) {
    throw NotSupportedError(
        fmt::format("arrays of this space hold {} B at most, and loads over all of one miss no further level: if it is "
                    "there, it reaches at least that far",
                    survey.largest_bytes));
  }
  if (static_cast<double>(survey.largest_bytes) < kAbsence.least_of_memory * static_cast<double>(survey.memory_bytes)) {
    throw Inconclusive(
        fmt::format("loads over {} B miss no further level: its reach is at least that large, with the "
                    "memory that is free",
                    survey.largest_bytes));
  }
  if (survey.most_pages < kAbsence.least_pages) {
    throw NotSupportedError(
        fmt::format("loads of lines on {} pages, as many as stay in L2, miss no further level: it has at least as many "
                    "entries, if it is there",
                    survey.most_pages));
  }
  if (may_reach_farther(survey, depth)) {
    throw NotSupportedError(
        fmt::format("loads over {} B, most of the memory, on up to {} pages miss no further level: if it is there, it "
                    "reaches farther or has more entries",
                    survey.largest_bytes, survey.most_pages));
  }
  throw NotPresent(fmt::format("loads over up to {} B of memory, in at most {} pages, show {} level{} of TLB",
                               survey.largest_bytes, survey.most_pages, survey.levels.size(),
                               survey.levels.size() == 1 ? "" : "s"));
}

bool is_window(const TlbSurvey& survey, std::size_t depth) {
  return survey.window.has_value() && depth + 1 == survey.levels.size();
}

NearerTlb nearer_tlb(const TlbSurvey& survey, std::size_t depth) {
  if (depth == 0) return {};
  const TlbLevel& level = survey.levels.at(depth - 1);
  return {level.entry_bytes, level.last_fit_bytes};
}

namespace {

// Of loads that the nearest cache cannot be kept from serving: why nothing is told where the first ones already wait.
std::string why_unsure_at_first(const PageWalker& walker, const SweepPoint& first, const stats::Histogram& quiet) {
  const double waits = first.mean_cycles - added_by_translation(quiet);
  if (!walker.nearest().serves() || waits <= kAbsence.unexplained_cycles) return "";
  return fmt::format(
      "loads over {} B, as few as the SM's own cache does not hold, already wait {:.1f} cycles for translations",
      first.reach_bytes, waits);
}

// And of a step where they differ among themselves by more than a miss costs.
std::string why_unsure_of_step(const PageWalker& walker, const stats::Histogram& quiet, const TlbStep& step) {
  if (!walker.nearest().serves()) return "";
  const PairedHistogramParameters fast{.slow_part = 1 - PairedHistogramParameters{}.slow_part};
  const double differ = slow_difference(quiet) - slow_difference(quiet, fast);
  if (differ <= step.rise.rise_cycles) return "";
  return fmt::format("loads that the SM's own cache misses differ by {:.1f} cycles, more than a miss adds ({:.1f})",
                     differ, step.rise.rise_cycles);
}

// Whether the step is where a level begins to miss that is known of other lines, and costs what its misses do.
bool is_step_of(const TlbStep& step, const std::vector<SweepPoint>& points, const TlbLevel& level) {
  const auto last = static_cast<double>(points[step.rise.last_before].reach_bytes);
  const auto first = static_cast<double>(points[step.rise.first_after].reach_bytes);
  const double slack = std::max(kKnown.least_cycles, kKnown.part * level.miss_cycles);
  return last <= level.reach_bytes.high && level.reach_bytes.low <= first &&
         std::abs(step.rise.rise_cycles - level.miss_cycles) <= slack;
}

bool is_told(const TlbLevel& level) { return level.entry_bytes > 0 && level.unsure_reach.empty(); }

std::size_t count_told(const TlbSurvey& survey) {
  std::size_t told = 0;
  while (told < survey.levels.size() && is_told(survey.levels[told])) ++told;
  return told;
}

// Of the first step: loads that fit before it wait already.
std::string why_unsure_of_first(const std::vector<SweepPoint>& points, const TlbStep& step) {
  const auto waits_at = [&](std::size_t point) { return points[point].mean_cycles - points.front().mean_cycles; };
  const std::size_t last = step.rise.last_before;
  const bool few_miss = last > 0 && waits_at(last) < kAbsence.few_of_step * step.rise.rise_cycles;
  const double waits = few_miss ? waits_at(last - 1) : waits_at(last);
  if (waits <= kAbsence.unexplained_cycles) return "";
  return fmt::format("loads over {} B already wait {:.1f} cycles for translations, and no level shows where",
                     points[last].reach_bytes, waits);
}

// Up to there loads miss no level beyond that of this step.
std::uint64_t bytes_before_next(const PageWalker& walker, const std::vector<SweepPoint>& points,
                                const std::vector<TlbStep>& steps, std::size_t step) {
  if (step + 1 == steps.size()) return walker.largest_bytes();
  return points[steps[step + 1].rise.last_before].reach_bytes;
}

void take_penalty(TlbLevel& level, bool rose_by_more, bool lines_miss) {
  if (level.penalty) {
    level.miss_cycles = level.penalty->cycles;
  } else if (rose_by_more) {
    level.unsure_penalty = "misses well beyond its reach cost less than where they begin: others are among them";
  } else if (lines_miss) {
    level.unsure_penalty =
        "its lines do not all stay in L2, so that its misses may be of loads that memory serves, which take another "
        "time";
  }
}

// `known`: levels that are known of other lines, nearest first, all of which show.
TlbSurvey survey_with(const PageWalker& walker, const std::vector<TlbLevel>& known = {}) {
  const std::vector<SweepPoint> points = sweep_pages(walker);
  TlbSurvey survey{.largest_bytes = points.back().reach_bytes,
                   .memory_bytes = walker.lab().info().memory_bytes.value_or(0),
                   .most_pages = walker.max_pages(),
                   .spreads_lines = walker.parameters().spreads_lines,
                   .is_limited = walker.is_limited(),
                   .sweep = sweep_table(points)};
  const stats::Histogram quiet = quiet_loads(walker);
  std::optional<TlbRise> last_level;
  std::optional<TlbRise> passing;
  survey.unsure = why_unsure_at_first(walker, points.front(), quiet);
  if (!survey.unsure.empty()) return survey;
  const std::vector<TlbStep> steps = find_tlb_steps(walker, points, quiet);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    TlbStep step = steps[i];
    if (passing) {
      step.rise = with_passing(step.rise, *passing);
      step.signature = signature_of(step.rise, quiet);
    }
    survey.unsure = why_unsure_of_step(walker, quiet, step);
    survey.lines_differ = !survey.unsure.empty();
    if (survey.lines_differ) break;
    if (const std::size_t depth = survey.levels.size(); depth < known.size()) {
      if (!is_step_of(step, points, known[depth])) {
        survey.unsure = "loads that memory serves do not wait for the level that others show";
        break;
      }
      survey.levels.push_back(known[depth]);
      last_level = step.rise;
      continue;
    }
    if (survey.levels.empty()) survey.unsure = why_unsure_of_first(points, step);
    if (!survey.unsure.empty()) break;
    const std::uint64_t fitting_bytes = points[step.rise.last_before].reach_bytes;
    const SlowBeyond beyond = look_beyond(walker, step, points);
    const StepIs seems = judge_step(beyond, step.signature);
    if (seems == StepIs::kLevel && last_level && has_fallen_back(step.rise, *last_level)) {
      survey.unsure = fmt::format(
          "over {} B fewer loads miss than over less: the pages, as many as stay in L2, are farther apart than entries",
          fitting_bytes);
      break;
    }
    const NearerTlb nearer = nearer_tlb(survey, survey.levels.size());
    LookedAt looked = seems == StepIs::kLevel ? look_at_level(walker, step, points, nearer) : LookedAt{seems, {}};
    if (looked.is == StepIs::kPassing) {
      passing = step.rise;
      continue;
    }
    if (looked.is == StepIs::kCacheMisses) {
      survey.unsure =
          fmt::format("beyond {} B, lines do not stay in L2, and its misses look like those of a TLB", fitting_bytes);
      break;
    }
    TlbLevel& level = looked.level;
    const std::uint64_t most_bytes = bytes_before_next(walker, points, steps, i);
    level.penalty = penalty_of(walker, level, step, nearer, survey.levels, most_bytes);
    take_penalty(level, rose_by_more_than_misses(beyond, step.signature), lines_miss_cache(beyond, step.signature));
    survey.levels.push_back(std::move(level));
    last_level = step.rise;
  }
  survey.conditions = walker.lab().conditions();
  return survey;
}

// Of the levels before the last: what they reach together, and the nearest entry that is known.
NearerTlb all_nearer_tlbs(const TlbSurvey& survey) {
  NearerTlb nearer = nearer_tlb(survey, survey.levels.size() - 1);
  for (std::size_t depth = survey.levels.size() - 1; nearer.entry_bytes == 0 && depth > 0; --depth) {
    nearer.entry_bytes = survey.levels[depth - 1].entry_bytes;
  }
  return nearer;
}

// Lines that meet in the sets of L2, or levels of more entries than there were pages, show among other lines.
void look_with_other_lines(const PageWalker& walker, TlbSurvey& survey) {
  const auto tells_more = [&](const TlbSurvey& other) {
    // First lines that wait a little, hardly told from noise, are no sign that there is no level.
    if (walker.nearest().serves() && other.levels.empty()) return false;
    return other.levels.size() > survey.levels.size() ||
           (other.levels.size() == survey.levels.size() && !survey.unsure.empty() && other.unsure.empty());
  };
  const auto try_part = [&](std::uint64_t l2_part) {
    TlbSurvey other = survey_with(walker.with_spread_lines(l2_part));
    if (tells_more(other)) survey = std::move(other);
  };
  constexpr OtherLinesParameters kParameters;
  if (!survey.unsure.empty()) try_part(kParameters.surely_stays);
  const bool tells_all = !survey.levels.empty() && survey.unsure.empty();
  if (walker.has_few_lines() && !tells_all) try_part(kParameters.mostly_stays);
}

// Misses of loads that memory serves may cost another time than of those that a cache does.
void check_penalty_of_memory(TlbLevel& level, const TlbLevel* other) {
  const double slack = std::max(kKnown.least_cycles, kKnown.part * level.miss_cycles);
  if (other != nullptr && std::abs(other->miss_cycles - level.miss_cycles) <= slack) return;
  level.unsure_penalty = "its misses cost loads that memory serves another time than those that a cache serves";
  if (other == nullptr) {
    level.unsure_penalty = fmt::format(
        "seen of loads alone that memory serves, where a miss takes {:.1f} cycles: of those that a cache serves it may "
        "take another time",
        level.miss_cycles);
  }
}

// A level of more entries than lines stay in a small L2 shows where memory serves all loads.
void look_past_l2(const PageWalker& walker, TlbSurvey& survey) {
  constexpr std::size_t kLevels = 2;
  const std::size_t told = count_told(survey);
  if (survey.unsure.empty() && told == survey.levels.size() && told >= kLevels) return;
  try {
    const std::optional<PageWalker> past = walker.past_l2(nearer_tlb(survey, told));
    if (!past) return;
    const std::vector<TlbLevel> known(survey.levels.begin(), survey.levels.begin() + static_cast<std::ptrdiff_t>(told));
    TlbSurvey other = survey_with(*past, known);
    if (count_told(other) <= told) return;
    for (std::size_t depth = told; depth < other.levels.size(); ++depth) {
      check_penalty_of_memory(other.levels[depth], depth < survey.levels.size() ? &survey.levels[depth] : nullptr);
    }
    survey = std::move(other);
  } catch (const Inconclusive& error) {
    walker.lab().log(fmt::format("tlb: nothing of loads that memory serves: {}", error.what()));
  }
}

// With ever more lines at once, until a survey tells all that it sees.
TlbSurvey survey_past_nearest(Lab& lab, const Site& site) {
  std::optional<TlbSurvey> best;
  std::string why;
  for (const std::uint64_t times_lines : NearestCacheParameters{}.times_lines) {
    try {
      const PageWalker walker(lab, site, times_lines);
      TlbSurvey survey = survey_with(walker);
      const bool lines_differ = survey.lines_differ;  // as others would
      if (!lines_differ) {
        look_with_other_lines(walker, survey);
        look_past_l2(walker, survey);
      }
      if (walker.nearest().of_memory) {
        for (TlbLevel& level : survey.levels) check_penalty_of_memory(level, nullptr);
      }
      if (lines_differ) return survey;
      // None at all is told only if it was not unsure of fewer lines or more.
      if (survey.unsure.empty() && (!best || !survey.levels.empty())) return survey;
      if (!best || count_told(survey) > count_told(*best)) best = std::move(survey);
    } catch (const Inconclusive& error) {
      if (why.empty()) why = error.what();
    }
  }
  if (!best) throw Inconclusive(why);
  return *best;
}

}  // namespace

TlbSurvey survey_tlbs(Lab& lab, const Site& site) {
  if (site.space == Space::kTexture) return survey_past_nearest(lab, site);
  const PageWalker walker(lab, site);
  TlbSurvey survey = survey_with(walker);
  look_with_other_lines(walker, survey);
  // What an entry covers is known of a TLB that has some.
  if (survey.levels.size() > 1 && survey.levels.back().entry_bytes == 0) {
    survey.window = find_page_window(walker, all_nearer_tlbs(survey), survey.levels.back().miss_cycles);
  }
  return survey;
}

Attribute tlb_reach(const Lab& lab, const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  if (!level.unsure_reach.empty()) throw Inconclusive(level.unsure_reach);
  Attribute attribute = measured(survey.conditions, whole(level.last_fit_bytes), "B", level.reach_bytes, "page_sweep");
  if (lab.keep_samples()) attribute.samples.push_back(survey.sweep);
  return attribute;
}

Attribute tlb_entry_bytes(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  if (level.entry_bytes == 0) {
    throw Inconclusive(
        "how much an entry covers takes reaches well beyond this level's, or finer pages, than there are");
  }
  return measured_exactly(survey.conditions, static_cast<std::int64_t>(level.entry_bytes), "B",
                          "random_places_of_blocks");
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
          fmt::format("of TLBs of more than {} entries ways are told where misses grow evenly, by whole sets: {}",
                      max_entries, level.no_sets.empty() ? "noise hides them" : level.no_sets));
    }
    throw Inconclusive("the misses of single pages beyond the reach do not add up to its entries");
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
    attribute.add_detail("cycles_of_some_sms", by_sm);
    attribute.add_detail("some_sms", std::vector<double>(level.penalty->sms.begin(), level.penalty->sms.end()));
    return attribute;
  }
  const TlbLevelMissParameters parameters;
  // Of pages that are not known to be whole entries, some may not miss.
  const bool knows_entry = level.entry_bytes > 0;
  if (!knows_entry && !level.unsure_reach.empty()) throw Inconclusive(level.unsure_reach);
  if (!level.unsure_penalty.empty()) throw Inconclusive(level.unsure_penalty);
  const double part =
      std::max(knows_entry ? parameters.least_error : parameters.least_error_of_unknown, level.miss_error);
  const double slack = std::max(knows_entry ? parameters.least_error_cycles : parameters.least_error_cycles_of_unknown,
                                part * level.miss_cycles);
  // The sweep's step and pages of whole entries are two experiments: where they differ, it is one or the other.
  const auto [least, most] = std::minmax(level.miss_cycles, level.swept_miss_cycles);
  return measured(survey.conditions, rounded(level.miss_cycles), "cycles", stats::Interval{least - slack, most + slack},
                  "step_of_page_sweep");
}

}  // namespace gputopo::probe
