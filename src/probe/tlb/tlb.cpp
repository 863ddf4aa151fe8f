// TLBs, from a sweep over growing numbers of pages (sweep.h) and an examination of each of its steps (level.h).
#include "probe/tlb/tlb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "probe/bench/paired_histogram.h"
#include "probe/tlb/check_decision.h"
#include "probe/tlb/level.h"
#include "probe/tlb/penalty.h"
#include "probe/tlb/sweep.h"

namespace gputopo::probe {
namespace {

// Tolerances that detect loads waiting for a level that the sweep did not show.
struct UnexplainedWaitParameters {
  // Longest wait (cycles) within a level's reach beyond what the levels before it explain. If loads wait longer, the
  // sweep missed a level, and the next one would get the wrong number. Any miss costs more.
  double most_cycles = 4;
  // At the last point before a step, a few loads may miss already if code and results take entries too: up to this
  // part of the step. Larger values overlook levels of cheap misses just before another.
  double max_early_miss_part = 0.05;
};
constexpr UnexplainedWaitParameters kUnexplained;

// Tolerances for a level that other lines show again.
struct KnownLevelParameters {
  // Relative difference and cycles by which the cost of its misses may differ. Larger values accept another level.
  double part = 0.2;
  double least_cycles = 4;
};
constexpr KnownLevelParameters kKnown;

// Lines of a second survey, if the first is not conclusive.
struct OtherLinesParameters {
  // Divisor of what L2 keeps, as in the first survey. Larger values allow fewer pages at once.
  std::uint64_t surely_stays = 12;
  // The same if a level may have more entries than that. Smaller values overflow sets of L2, which is inconclusive.
  std::uint64_t mostly_stays = 4;
};

SampleTable sweep_table(const std::vector<SweepPoint>& points) {
  SampleTable table = make_table("sweep", Plot::kLine,
                                 {axis("reach_bytes", "reach", "B"), series("stride_bytes", "stride", "B"),
                                  values("added_cycles", "added latency", "cycles")});
  for (const SweepPoint& point : points) {
    table.data[0].push_back(static_cast<double>(point.reach_bytes));
    table.data[1].push_back(static_cast<double>(point.stride_bytes));
    table.data[2].push_back(std::round(100 * point.mean_cycles) / 100);
  }
  return table;
}

std::optional<TlbPenalty> penalty_of(const PageChaser& page_chaser, const TlbLevel& level, const TlbStep& step,
                                     const NearerTlb& nearer, const std::vector<TlbLevel>& before,
                                     std::uint64_t most_bytes) {
  std::vector<TlbPenalty> penalties;
  for (const TlbLevel& one : before) {
    if (!one.penalty) return std::nullopt;
    penalties.push_back(*one.penalty);
  }
  try {
    return penalty_by_orders(page_chaser, level, step.signature, nearer, penalties, most_bytes);
  } catch (const DeviceMemoryError&) {
    return std::nullopt;
  }
}

// Why loads that the nearest cache may serve are inconclusive: even the first ones wait for translations.
std::string why_unsure_at_first(const PageChaser& page_chaser, const SweepPoint& first, const stats::Histogram& quiet) {
  const double waits = first.mean_cycles - added_by_translation(quiet);
  if (!page_chaser.nearest().serves() || waits <= kUnexplained.most_cycles) return "";
  return fmt::format(
      "loads spread over {} B, the smallest tested footprint beyond the SM's own cache, already wait {:.1f} cycles for "
      "address translation",
      first.reach_bytes, waits);
}

// Why a step is inconclusive: such loads differ among themselves by more than a miss costs.
std::string why_unsure_of_step(const PageChaser& page_chaser, const stats::Histogram& quiet, const TlbStep& step) {
  if (!page_chaser.nearest().serves()) return "";
  const PairedHistogramParameters fast{.slow_part = 1 - PairedHistogramParameters{}.slow_part};
  const double differ = slow_difference(quiet) - slow_difference(quiet, fast);
  if (differ <= step.rise.rise_cycles) return "";
  return fmt::format(
      "the latencies of loads that miss the SM's own cache vary by {:.1f} cycles, more than a TLB miss adds ({:.1f})",
      differ, step.rise.rise_cycles);
}

// Whether a level known from other lines begins to miss at this step, at the same cost.
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

// Why the first step is inconclusive: loads that fit before it already wait.
std::string why_unsure_of_first(const std::vector<SweepPoint>& points, const TlbStep& step) {
  const auto waits_at = [&](std::size_t point) { return points[point].mean_cycles - points.front().mean_cycles; };
  const std::size_t last = step.rise.last_before;
  const bool few_miss = last > 0 && waits_at(last) < kUnexplained.max_early_miss_part * step.rise.rise_cycles;
  const double waits = few_miss ? waits_at(last - 1) : waits_at(last);
  if (waits <= kUnexplained.most_cycles) return "";
  return fmt::format(
      "loads spread over {} B already wait {:.1f} cycles for address translation, but no level explains this wait",
      points[last].reach_bytes, waits);
}

// The reach up to which loads miss no level beyond that of this step.
std::uint64_t bytes_before_next(const PageChaser& page_chaser, const std::vector<SweepPoint>& points,
                                const std::vector<TlbStep>& steps, std::size_t step) {
  if (step + 1 == steps.size()) return page_chaser.largest_bytes();
  return points[steps[step + 1].rise.last_before].reach_bytes;
}

void take_penalty(TlbLevel& level, bool rose_by_more, bool lines_miss) {
  if (level.penalty) {
    level.miss_cycles = level.penalty->cycles;
  } else if (rose_by_more) {
    level.unsure_penalty =
        "a miss costs less well beyond the reach of this level than just beyond it, so the latency step at the reach "
        "includes other misses";
  } else if (lines_miss) {
    level.unsure_penalty =
        "not all tested lines stay in L2, so memory may serve some of the loads that miss this level, which changes "
        "the cost of a miss";
  }
}

// Finds the TLB levels behind the steps of a sweep, nearest first, until a step is inconclusive.
class LevelSearch {
 public:
  // `known`: levels that other lines have shown, nearest first, all of which must show again.
  explicit LevelSearch(const PageChaser& page_chaser, std::vector<TlbLevel> known = {})
      : walker_(page_chaser),
        known_(std::move(known)),
        points_(sweep_pages(page_chaser)),
        quiet_(quiet_loads(page_chaser)) {}

  TlbSurvey find() {
    survey_ = {.largest_bytes = points_.back().reach_bytes,
               .memory_bytes = walker_.runner().info().memory_bytes.value_or(0),
               .most_pages = walker_.max_pages(),
               .spreads_lines = walker_.parameters().spreads_lines,
               .is_limited = walker_.is_limited(),
               .sweep = sweep_table(points_)};
    survey_.unsure = why_unsure_at_first(walker_, points_.front(), quiet_);
    if (!survey_.unsure.empty()) return std::move(survey_);
    const std::vector<TlbStep> steps = find_tlb_steps(walker_, points_, quiet_);
    for (std::size_t i = 0; i < steps.size() && survey_.unsure.empty(); ++i) {
      take_step(steps[i], bytes_before_next(walker_, points_, steps, i));
    }
    survey_.conditions = walker_.runner().conditions();
    return std::move(survey_);
  }

 private:
  void take_step(TlbStep step, std::uint64_t most_bytes) {
    if (passing_) {
      step.rise = with_passing(step.rise, *passing_);
      step.signature = signature_of(step.rise, quiet_);
    }
    survey_.unsure = why_unsure_of_step(walker_, quiet_, step);
    survey_.lines_differ = !survey_.unsure.empty();
    if (survey_.lines_differ) return;
    const std::size_t depth = survey_.levels.size();
    if (depth < known_.size()) return take_known_level(step, known_[depth]);
    if (depth == 0) survey_.unsure = why_unsure_of_first(points_, step);
    if (survey_.unsure.empty()) take_new_level(step, most_bytes);
  }

  void take_known_level(const TlbStep& step, const TlbLevel& level) {
    if (!is_step_of(step, points_, level)) {
      survey_.unsure = "loads that memory serves do not show the TLB level that other loads show";
      return;
    }
    survey_.levels.push_back(level);
    last_level_ = step.rise;
  }

  void take_new_level(const TlbStep& step, std::uint64_t most_bytes) {
    const std::uint64_t fitting_bytes = points_[step.rise.last_before].reach_bytes;
    const SlowBeyond beyond = look_beyond(walker_, step, points_);
    const StepCause seems = classify_step(beyond, step.signature);
    if (seems == StepCause::kLevel && last_level_ && has_fallen_back(step.rise, *last_level_)) {
      survey_.unsure = fmt::format(
          "beyond {} B, fewer loads miss than in smaller footprints: L2 holds the lines of so few pages that the pages "
          "are farther apart than an entry covers",
          fitting_bytes);
      return;
    }
    const NearerTlb nearer = nearer_tlb(survey_, survey_.levels.size());
    LevelVerdict looked =
        seems == StepCause::kLevel ? examine_level(walker_, step, points_, nearer) : LevelVerdict{seems, {}};
    if (looked.is == StepCause::kTransient) {
      passing_ = step.rise;
      return;
    }
    if (looked.is == StepCause::kCacheMisses) {
      survey_.unsure =
          fmt::format("beyond {} B, lines do not stay in L2, and L2 misses look like TLB misses", fitting_bytes);
      return;
    }
    TlbLevel& level = looked.level;
    level.penalty = penalty_of(walker_, level, step, nearer, survey_.levels, most_bytes);
    take_penalty(level, rose_by_more_than_misses(beyond, step.signature), lines_miss_cache(beyond, step.signature));
    survey_.levels.push_back(std::move(level));
    last_level_ = step.rise;
  }

  const PageChaser& walker_;
  std::vector<TlbLevel> known_;
  std::vector<SweepPoint> points_;
  stats::Histogram quiet_;
  std::optional<TlbRise> last_level_;
  std::optional<TlbRise> passing_;
  TlbSurvey survey_;
};

// The levels before the last: their common reach, and the nearest entry that is known.
NearerTlb all_nearer_tlbs(const TlbSurvey& survey) {
  NearerTlb nearer = nearer_tlb(survey, survey.levels.size() - 1);
  for (std::size_t depth = survey.levels.size() - 1; nearer.entry_bytes == 0 && depth > 0; --depth) {
    nearer.entry_bytes = survey.levels[depth - 1].entry_bytes;
  }
  return nearer;
}

// Other lines show levels where lines conflict in the sets of L2, or that have more entries than there were pages.
void look_with_other_lines(const PageChaser& page_chaser, TlbSurvey& survey) {
  const auto tells_more = [&](const TlbSurvey& other) {
    // First lines that wait slightly, hardly more than noise, do not prove that there is no level.
    if (page_chaser.nearest().serves() && other.levels.empty()) return false;
    return other.levels.size() > survey.levels.size() ||
           (other.levels.size() == survey.levels.size() && !survey.unsure.empty() && other.unsure.empty());
  };
  const auto try_part = [&](std::uint64_t l2_part) {
    const PageChaser spread = page_chaser.with_spread_lines(l2_part);
    TlbSurvey other = LevelSearch(spread).find();
    if (tells_more(other)) survey = std::move(other);
  };
  constexpr OtherLinesParameters kParameters;
  if (!survey.unsure.empty()) try_part(kParameters.surely_stays);
  const bool tells_all = !survey.levels.empty() && survey.unsure.empty();
  if (page_chaser.has_few_lines() && !tells_all) try_part(kParameters.mostly_stays);
}

// Misses of loads that memory serves may cost more or less than those of loads that a cache serves.
void check_penalty_of_memory(TlbLevel& level, const TlbLevel* other) {
  const double slack = std::max(kKnown.least_cycles, kKnown.part * level.miss_cycles);
  if (other != nullptr && std::abs(other->miss_cycles - level.miss_cycles) <= slack) return;
  level.unsure_penalty =
      "a miss takes a different time for loads that memory serves than for loads that a cache serves";
  if (other == nullptr) {
    level.unsure_penalty = fmt::format(
        "only loads that memory serves show this level; a miss takes {:.1f} cycles for them, but may take a different "
        "time for loads that a cache serves",
        level.miss_cycles);
  }
}

// A level with more entries than lines stay in a small L2 shows if memory serves all loads.
void look_past_l2(const PageChaser& page_chaser, TlbSurvey& survey) {
  constexpr std::size_t kLevels = 2;
  const std::size_t told = count_told(survey);
  if (survey.unsure.empty() && told == survey.levels.size() && told >= kLevels) return;
  try {
    const std::optional<PageChaser> past = page_chaser.past_l2(nearer_tlb(survey, told));
    if (!past) return;
    std::vector<TlbLevel> known(survey.levels.begin(), survey.levels.begin() + static_cast<std::ptrdiff_t>(told));
    TlbSurvey other = LevelSearch(*past, std::move(known)).find();
    if (count_told(other) <= told) return;
    for (std::size_t depth = told; depth < other.levels.size(); ++depth) {
      check_penalty_of_memory(other.levels[depth], depth < survey.levels.size() ? &survey.levels[depth] : nullptr);
    }
    survey = std::move(other);
  } catch (const Inconclusive& error) {
    page_chaser.runner().log(
        fmt::format("tlb: the measurement with loads that memory serves is inconclusive: {}", error.what()));
  }
}

void check_penalties_of_memory(const PageChaser& page_chaser, std::vector<TlbLevel>& levels) {
  if (!page_chaser.nearest().of_memory) return;
  for (TlbLevel& level : levels) check_penalty_of_memory(level, nullptr);
}

// Tries different numbers of lines at once until a survey explains all that it sees.
TlbSurvey survey_past_nearest(ProbeRunner& runner, const Site& site) {
  std::optional<TlbSurvey> best;
  std::string why;
  for (const std::uint64_t times_lines : NearestCacheParameters{}.times_lines) {
    try {
      const PageChaser page_chaser(runner, site, times_lines);
      TlbSurvey survey = LevelSearch(page_chaser).find();
      const bool lines_differ = survey.lines_differ;  // other lines would too
      if (!lines_differ) {
        look_with_other_lines(page_chaser, survey);
        look_past_l2(page_chaser, survey);
      }
      check_penalties_of_memory(page_chaser, survey.levels);
      // A survey without levels counts only if no survey with other numbers of lines was unsure.
      const bool tells_all = survey.unsure.empty() && (!best || !survey.levels.empty());
      if (lines_differ || tells_all) return survey;
      if (!best || count_told(survey) > count_told(*best)) best = std::move(survey);
    } catch (const Inconclusive& error) {
      if (why.empty()) why = error.what();
    }
  }
  if (!best) throw Inconclusive(why);
  return *best;
}

}  // namespace

NearerTlb nearer_tlb(const TlbSurvey& survey, std::size_t depth) {
  if (depth == 0) return {};
  const TlbLevel& level = survey.levels.at(depth - 1);
  return {level.entry_bytes, level.last_fit_bytes};
}

TlbSurvey survey_tlbs(ProbeRunner& runner, const Site& site) {
  if (site.space == Space::kTexture) return survey_past_nearest(runner, site);
  const PageChaser page_chaser(runner, site);
  TlbSurvey survey = LevelSearch(page_chaser).find();
  look_with_other_lines(page_chaser, survey);
  // The bytes of an entry are known for a TLB with several entries, but not for a window.
  if (survey.levels.size() > 1 && survey.levels.back().entry_bytes == 0) {
    survey.window = find_page_window(page_chaser, all_nearer_tlbs(survey), survey.levels.back().miss_cycles);
  }
  return survey;
}

}  // namespace gputopo::probe
