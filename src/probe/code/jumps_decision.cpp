#include "probe/code/jumps_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gputopo/program.h"
#include "probe/bench/intervals.h"

namespace gputopo::probe {

PassCost cost_of_pass(const std::vector<CodePasses>& near, const CodeJumpParameters& parameters) {
  std::vector<double> few;
  std::vector<double> few_cycles;
  for (const CodePasses& length : near) {
    if (length.instructions > parameters.line_jumps) continue;
    few.push_back(length.instructions);
    few_cycles.push_back(stats::median(length.cycles));
  }
  if (few.size() < 3) return {};
  const stats::Line line = stats::fit_line(few, few_cycles);
  double most = 0.5;  // cycles are whole
  for (std::size_t i = 0; i < few.size(); ++i) {
    most = std::max(most, std::abs(few_cycles[i] - line.intercept - line.slope * few[i]));
  }
  return {std::max(0.0, line.intercept), parameters.deviations * most / std::sqrt(static_cast<double>(few.size()))};
}

JumpCurve read_jump_curve(const std::vector<CodePasses>& lengths, const PassCost& pass, double block_bytes,
                          double run_bytes) {
  JumpCurve curve{.block_bytes = block_bytes, .run_bytes = run_bytes, .pass_error_cycles = pass.error_cycles};
  for (const CodePasses& length : lengths) {
    curve.jumps.push_back(length.instructions);
    curve.footprints_bytes.push_back(length.instructions * block_bytes);
    curve.cycles_per_jump.push_back((stats::median(length.cycles) - pass.cycles) / length.instructions);
  }
  curve.levels = stats::find_plateaus(curve.footprints_bytes, curve.cycles_per_jump);
  return curve;
}

namespace {

// The least that a block takes of a cache: its executed part may lie in one line.
double least_taken_bytes(const JumpCurve& curve, double line_bytes) {
  return std::min(curve.block_bytes, std::max(curve.run_bytes, line_bytes));
}

// The range in which the level of a cache may end.
stats::Interval ends_of(const JumpCurve& far, const KnownCodeCache& cache, const CodeJumpParameters& parameters) {
  const double line = cache.line_bytes == 0 ? parameters.least_line_bytes : cache.line_bytes;
  const double taken = least_taken_bytes(far, line);
  return {parameters.least_part * cache.bytes.low, parameters.most_times * cache.bytes.high * far.block_bytes / taken};
}

// The number of levels that end.
std::size_t ended_levels(const JumpCurve& curve, const CodeJumpParameters& parameters) {
  if (curve.levels.empty()) return 0;
  const stats::Plateau& last = curve.levels.back();
  const auto beyond = std::span(curve.cycles_per_jump).subspan(last.last + 1);
  const auto longer =
      std::ranges::count_if(beyond, [&](double cycles) { return cycles > (1 + parameters.beyond_last) * last.value; });
  return curve.levels.size() - (static_cast<std::size_t>(longer) >= parameters.counts_beyond_last ? 0 : 1);
}

double end_of(const JumpCurve& curve, std::size_t level) { return curve.footprints_bytes[curve.levels[level].last]; }

// Whether what serves this far-jump level holds too little gapless code to be the cache: a nearer one with shorter
// lines may hold as many far blocks.
bool is_of_smaller_cache(const JumpCurve& near, double cycles, const KnownCodeCache& cache,
                         const CodeJumpParameters& parameters) {
  for (std::size_t level = 0; level < ended_levels(near, parameters); ++level) {
    const bool is_same = std::abs(near.levels[level].value - cycles) <= parameters.same_level * cycles;
    if (is_same && end_of(near, level) < parameters.least_part * cache.bytes.low) return true;
  }
  return false;
}

}  // namespace

std::vector<Decision<std::size_t>> find_jump_levels(const JumpCurve& near, const JumpCurve& far,
                                                    const std::vector<KnownCodeCache>& caches,
                                                    const CodeJumpParameters& parameters) {
  std::vector<Decision<std::size_t>> levels(caches.size());
  for (std::size_t cache = 0; cache < caches.size(); ++cache) {
    const stats::Interval ends = ends_of(far, caches[cache], parameters);
    std::vector<std::size_t> found;
    for (std::size_t level = 0; level < ended_levels(far, parameters); ++level) {
      const double end = end_of(far, level);
      if (end >= ends.low && end <= ends.high) found.push_back(level);
    }
    Decision<std::size_t>& decision = levels[cache];
    if (found.size() != 1) {
      decision.why_not =
          fmt::format("between {:.0f} and {:.0f} B of code, where this cache should end, the jump latency shows {}",
                      ends.low, ends.high, found.empty() ? "no step" : "several steps");
      continue;
    }
    const double end = end_of(far, found.front());
    const bool is_others = std::ranges::any_of(caches, [&](const KnownCodeCache& other) {
      const stats::Interval its = ends_of(far, other, parameters);
      return &other != &caches[cache] && end >= its.low && end <= its.high;
    });
    if (is_others) {
      decision.why_not = fmt::format("the step at {:.0f} B of code may belong to another cache", end);
      continue;
    }
    if (is_of_smaller_cache(near, far.levels[found.front()].value, caches[cache], parameters)) {
      decision.why_not = fmt::format(
          "jumps take {:.1f} cycles in code of up to {:.0f} B, but a cache smaller than this one serves them",
          far.levels[found.front()].value, end);
      continue;
    }
    decision.value = found.front();
    decision.basis = fmt::format("a jump to code in this cache takes {:.1f} cycles if the code has at most {:.0f} B",
                                 far.levels[found.front()].value, end);
  }
  return levels;
}

JumpLatency latency_of_level(const JumpCurve& near, const JumpCurve& far, std::size_t level,
                             const CodeJumpParameters& parameters) {
  const stats::Plateau& plateau = far.levels[level];
  const auto own = std::span(far.cycles_per_jump).subspan(plateau.first, plateau.last + 1 - plateau.first);
  const double drift = IntervalParameters{}.clock_drift * plateau.value;
  JumpLatency latency{
      plateau.value,
      {std::min(std::ranges::min(own), plateau.value - drift), std::max(std::ranges::max(own), plateau.value + drift)}};
  const double pass_error = far.pass_error_cycles / far.jumps[std::midpoint(plateau.first, plateau.last)];
  const double margin = pass_error + IntervalParameters{}.least_margin_cycles;
  latency.interval.low -= margin;
  latency.interval.high += margin;
  const double octaves = std::log2(far.footprints_bytes[plateau.last] / far.footprints_bytes[plateau.first]);
  if (level + 1 < far.levels.size() && octaves < parameters.narrow_octaves) {
    const double rise = far.levels[level + 1].value - plateau.value;
    latency.interval.low = std::min(latency.interval.low, plateau.value - drift - parameters.served_behind * rise);
  }
  if (level == 0) {
    // A few near blocks do not miss.
    const double few = near.levels.empty() ? plateau.value : near.levels.front().value;
    if (few >= (1 - parameters.same_level) * plateau.value) {
      latency.interval.low = std::min(latency.interval.low, few - drift - pass_error);
      if (few <= (1 + parameters.same_level) * plateau.value) {
        latency.interval.high = std::max(latency.interval.high, few + margin);
      }
    }
    return latency;
  }
  const double nearer = far.levels[level - 1].value;
  const double brought_along = std::max(1.0, parameters.longest_line_bytes / far.block_bytes);
  latency.interval.high = std::max(latency.interval.high, nearer + brought_along * (plateau.value - nearer) + margin);
  const double part = parameters.times_nearer * end_of(far, level - 1) / far.footprints_bytes[plateau.last];
  latency.interval.high = std::max(latency.interval.high, rate_without(plateau.value, nearer, part));
  return latency;
}

bool may_hide_nearer(const JumpCurve& near, const JumpCurve& far, std::size_t level,
                     const CodeJumpParameters& parameters) {
  const double cycles = far.levels[level].value;
  const bool few_are_in_none = level == 0 && far.levels[level].first > 0;
  return few_are_in_none || std::ranges::any_of(near.levels, [&](const stats::Plateau& other) {
           return other.value < (1 - parameters.same_level) * cycles;
         });
}

Decision<NearestCode> decide_nearest_code(const JumpCurve& near, const JumpCurve& far, double behind_bytes,
                                          const CodeJumpParameters& parameters) {
  if (near.levels.empty() || far.levels.empty()) return {{}, {}, "the jump latency has no plateau as the code grows"};
  const double held = near.levels.front().value;
  std::vector<double> behind;
  for (std::size_t i = 0; i < near.jumps.size(); ++i) {
    const double part = near.footprints_bytes[i] / behind_bytes;
    if (part >= parameters.behind_from && part <= parameters.behind_to) behind.push_back(near.cycles_per_jump[i]);
  }
  const double rise = behind.empty() ? 0 : stats::median(behind) - held;
  if (rise < parameters.least_rise * held) {
    return {{},
            {},
            "jumps through contiguous code do not slow down once the code exceeds the cache, because the GPU "
            "prefetches the code"};
  }
  // The first count from which all take longer by this part of the rise.
  const auto first_above = [&](double part) {
    std::size_t first = near.jumps.size();
    while (first > 0 && near.cycles_per_jump[first - 1] > held + part * rise) --first;
    return first;
  };
  const std::size_t first = first_above(parameters.first_part);
  const std::size_t last = first_above(parameters.last_part);
  if (first == 0 || last == near.jumps.size()) return {{}, {}, "no tested number of jumps shows where this cache ends"};
  const double bytes = near.footprints_bytes[first - 1];
  const double group = kNearJumpGroup * near.block_bytes;
  const double all_miss = std::ceil(near.footprints_bytes[last] / group) * group;
  const double surely = far.jumps[far.levels.front().last] * far.run_bytes;
  return {NearestCode{bytes, {std::min(surely, bytes), all_miss + near.loop_bytes}},
          fmt::format("jumps through contiguous code begin to slow down at {:.0f} B, and nearly all are slower at "
                      "{:.0f} B; jumps between distant blocks slow down beyond {} blocks",
                      near.footprints_bytes[first], near.footprints_bytes[last], far.jumps[far.levels.front().last])};
}

}  // namespace gputopo::probe
