#include "probe/partitions/sides.h"

#include <algorithm>
#include <cmath>

#include "probe/bench/paired_histogram.h"
#include "probe/bench/value_or_throw.h"
#include "probe/partitions/sides_decision.h"

namespace gputopo::probe {
namespace {

struct SidesParameters {
  // Lines of L2, as many as there are within these limits. Larger values reveal smaller differences between sides. A
  // first look takes fewer, which tell sides that are far apart.
  std::uint64_t most_lines = 256;
  std::uint64_t lines_at_first = 64;
  std::uint64_t least_lines = 64;
  // Largest fraction of L2 that the lines take in all: they must stay in each of its partitions.
  double part_of_l2 = 1.0 / 64;
  // Distance of the lines. On an H200 4 KiB share a home, so each line is another choice of it.
  std::uint64_t stride_bytes = 4096;
  // Loads that bring the pages, before the lines to look at.
  std::uint64_t warm_loads = 8;
  // SMs tried in one program.
  std::uint32_t sms_at_once = 16;
  // Pairs between this quantile and its complement count: beyond are outliers and the first loads of pages.
  double kept_part = 0.9;
  // More sides than this mean that there are none.
  std::size_t most_sides = 16;
};
constexpr SidesParameters kSidesParameters;

// Steps of an SM: the first SM stores and loads; this one brings the pages, then loads in pairs, twice. What both
// passes show does not depend on where the lines were.
constexpr std::size_t kStepsOfSm = 5;

ChaseProgram program_of(const ChaseArray& array, const Site& site, std::uint32_t first,
                        std::span<const std::uint32_t> sms) {
  const std::uint64_t lines = array.element_count();
  ChaseProgram program = make_program(site, {array}, {});
  program.exclusive = true;
  program.actors = {{.sm = first}};
  for (const std::uint32_t sm : sms) {
    const auto actor = static_cast<std::uint32_t>(program.actors.size());
    program.actors.push_back({.sm = sm});
    const std::uint64_t paired = lines - kSidesParameters.warm_loads;
    program.steps.insert(
        program.steps.end(),
        {{.kind = StepKind::kStore, .loads = lines},
         {.kind = StepKind::kWarm, .loads = lines},
         {.kind = StepKind::kWarm, .actor = actor, .loads = kSidesParameters.warm_loads},
         {.kind = StepKind::kPaired, .actor = actor, .loads = paired, .first = kSidesParameters.warm_loads},
         {.kind = StepKind::kPaired, .actor = actor, .loads = paired, .first = kSidesParameters.warm_loads}});
  }
  return program;
}

double mean_of(const stats::Histogram& paired) {
  return added_by_translation(paired, 1e9, {.kept_part = kSidesParameters.kept_part});
}

// Standard error of the mean of pairs that differ by noise alone.
double standard_error(const stats::Histogram& paired) {
  const double quartiles = stats::histogram_quantile(paired, 0.75) - stats::histogram_quantile(paired, 0.25);
  constexpr double kQuartilesOfDeviation = 1.35;  // interquartile range of the standard normal distribution
  const double deviation = std::max<double>(quartiles, kHistogramBinCycles) / kQuartilesOfDeviation;
  // The difference of two such means counts.
  return deviation * std::sqrt(2 / std::max(1.0, static_cast<double>(stats::total_count(paired))));
}

struct TouchedLines {
  FirstTouches means;
  std::vector<stats::Histogram> pairs;  // by other SM
};

TouchedLines touch_after(ProbeRunner& runner, const Cache& l2, const ChaseArray& array, std::uint32_t first,
                         const std::vector<std::uint32_t>& others) {
  std::vector<std::uint32_t> sms = {first};
  sms.insert(sms.end(), others.begin(), others.end());
  std::vector<ChaseProgram> programs;
  for (std::size_t i = 0; i < sms.size(); i += kSidesParameters.sms_at_once) {
    const std::size_t count = std::min<std::size_t>(kSidesParameters.sms_at_once, sms.size() - i);
    programs.push_back(program_of(array, l2.site(), first, std::span(sms).subspan(i, count)));
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  TouchedLines touched{.means = {.near_cycles = l2.survey->levels[l2.first_level].mode_cycles}};
  FirstTouches& touches = touched.means;
  for (std::size_t i = 0; i < sms.size(); ++i) {
    const std::vector<StepResult>& steps = results[i / kSidesParameters.sms_at_once].steps;
    const std::size_t step = i % kSidesParameters.sms_at_once * kStepsOfSm + kStepsOfSm - 2;
    const double cycles = mean_of(steps[step].histogram) - mean_of(steps[step + 1].histogram);
    touches.error_cycles = std::max(touches.error_cycles, standard_error(steps[step + 1].histogram));
    if (i == 0) {
      touches.control_cycles = cycles;
    } else {
      touches.others.push_back({sms[i], cycles});
      touched.pairs.push_back(steps[step].histogram);
    }
  }
  return touched;
}

ChaseArray lines_of(const Cache& l2, std::uint64_t most) {
  const std::uint64_t line = l2.line_or_fetch_bytes();
  const double held = std::max(l2.size_bytes.value_or(0), l2.held_bytes());
  const auto lines = std::clamp(static_cast<std::uint64_t>(kSidesParameters.part_of_l2 * held) / line,
                                kSidesParameters.least_lines, most);
  const std::uint64_t stride = kSidesParameters.stride_bytes + line;  // other sets from line to line
  return make_array(l2.site(), lines * stride, stride, Order::kReversed);
}

}  // namespace

std::size_t SmsByPartition::side_of(std::uint32_t sm) const {
  for (std::size_t side = 0; side < sms.size(); ++side) {
    if (std::ranges::find(sms[side], sm) != sms[side].end()) return side;
  }
  return 0;
}

SmsByPartition find_sides(ProbeRunner& runner, const Cache& l2) {
  if (l2.site().space != Space::kGlobalBypassL1) throw NotSupportedError("L2 does not serve global loads");
  if (runner.info().sm_count < 2) throw NotSupportedError("this measurement needs at least two SMs");
  const ChaseArray few = lines_of(l2, kSidesParameters.lines_at_first);
  const ChaseArray many = lines_of(l2, kSidesParameters.most_lines);
  std::vector<std::uint32_t> left;
  for (std::uint32_t sm = 0; sm < runner.info().sm_count; ++sm) left.push_back(sm);
  SmsByPartition sides;
  while (!left.empty()) {
    if (sides.sms.size() == kSidesParameters.most_sides)
      throw TooManySides("latencies divide the SMs into more groups than L2 can have partitions");
    const std::uint32_t first = left.front();
    left.erase(left.begin());
    TouchedLines touched = touch_after(runner, l2, few, first, left);
    Decision<NearAndFarSms> decision = split_by_first_touch(touched.means);
    // If few lines have parted sides before, they also suffice to show that there is no further side.
    const bool parts_none = !decision.value || (decision.value->far.empty() && sides.sms.empty());
    if (parts_none && few != many) {
      touched = touch_after(runner, l2, many, first, left);
      decision = split_by_first_touch(touched.means);
    }
    NearAndFarSms split = value_or_throw(runner, "sides", decision);
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (std::ranges::binary_search(split.far, left[i])) sides.far_pairs.push_back(touched.pairs[i]);
    }
    split.near.insert(split.near.begin(), first);
    sides.sms.push_back(std::move(split.near));
    sides.first_load_cycles = std::max(sides.first_load_cycles, split.far_cycles);
    left = std::move(split.far);
  }
  sides.conditions = runner.conditions();
  return sides;
}

}  // namespace gputopo::probe
