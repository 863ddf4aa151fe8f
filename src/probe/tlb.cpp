// TLBs, from the latency of loads over ever more pages: a sweep of their number (tlb_sweep.h), and a look at each of
// its steps (tlb_level.h).
#include "probe/tlb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/tlb_level.h"
#include "probe/tlb_sets_decision.h"
#include "probe/tlb_sweep.h"

namespace gputopo::probe {
namespace {

struct MissPenaltyParameters {
  // Of the interval, as a part of the penalty: misses differ by where the next level's entry or the page table lies.
  // Larger: wider intervals.
  double least_error = 0.05;
  // And in cycles: what the bins of histograms and the clock's steps make of it.
  double least_error_cycles = 1.5;
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

}  // namespace

const TlbLevel& tlb_level(const TlbSurvey& survey, std::size_t depth) {
  if (depth < survey.levels.size()) return survey.levels[depth];
  if (!survey.unsure.empty()) throw Inconclusive(survey.unsure);
  throw NotPresent(fmt::format("loads over up to {} B of memory, in at most {} pages, show {} level(s) of TLB",
                               survey.largest_bytes, survey.most_pages, survey.levels.size()));
}

NearerTlb nearer_tlb(const TlbSurvey& survey, std::size_t depth) {
  if (depth == 0) return {};
  const TlbLevel& level = survey.levels.at(depth - 1);
  return {level.entry_bytes, level.last_fit_bytes};
}

TlbSurvey survey_tlbs(Lab& lab, const Site& site) {
  const PageWalker walker(lab, site);
  const std::vector<SweepPoint> points = sweep_pages(walker);
  TlbSurvey survey{
      .largest_bytes = points.back().reach_bytes, .most_pages = walker.max_pages(), .sweep = sweep_table(points)};
  const stats::Histogram quiet = quiet_loads(walker);
  for (const TlbStep& step : find_tlb_steps(walker, points, quiet)) {
    const StepIs is = judge_step(look_beyond(walker, step, points), step.signature.false_part);
    if (is == StepIs::kPassing) continue;
    if (is == StepIs::kCacheMisses) {
      survey.unsure = fmt::format("beyond {} B, lines do not stay in L2, and its misses look like those of a TLB",
                                  points[step.rise.last_before].reach_bytes);
      break;
    }
    survey.levels.push_back(look_at_level(walker, step, points, nearer_tlb(survey, survey.levels.size())));
  }
  survey.conditions = lab.conditions();
  return survey;
}

Attribute tlb_reach(const Lab& lab, const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
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
  return measured(survey.conditions, whole(level.last_fit_bytes / bytes), "",
                  stats::Interval{level.reach_bytes.low / bytes, level.reach_bytes.high / bytes}, "reach_over_entry");
}

Attribute tlb_ways(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  const std::uint64_t max_entries = TlbSetsParameters{}.max_entries;
  if (level.entry_bytes > 0 && level.last_fit_bytes > static_cast<double>(max_entries * level.entry_bytes)) {
    throw NotSupportedError(fmt::format("sets are looked for in TLBs of up to {} entries only", max_entries));
  }
  if (level.sets.empty())
    throw Inconclusive("the misses of single pages beyond the reach do not add up to its entries");
  const auto [least, most] = std::minmax_element(level.sets.begin(), level.sets.end());
  Attribute attribute =
      measured(survey.conditions, static_cast<std::int64_t>(*most), "",
               stats::Interval{static_cast<double>(*least), static_cast<double>(*most)}, "misses_per_page_beyond");
  attribute.add_detail("sets", static_cast<std::int64_t>(level.sets.size()));
  std::vector<double> ways(level.sets.begin(), level.sets.end());
  attribute.add_detail("ways_of_each_set", ways);
  return attribute;
}

Attribute tlb_miss_penalty(const TlbSurvey& survey, std::size_t depth) {
  const TlbLevel& level = tlb_level(survey, depth);
  const MissPenaltyParameters parameters;
  const double part = std::max(parameters.least_error, level.miss_error);
  const double slack = std::max(parameters.least_error_cycles, part * level.miss_cycles);
  return measured(survey.conditions, std::round(level.miss_cycles * 10) / 10, "cycles",
                  stats::Interval{level.miss_cycles - slack, level.miss_cycles + slack}, "step_of_page_sweep");
}

}  // namespace gputopo::probe
