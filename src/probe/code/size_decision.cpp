#include "probe/code/size_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gputopo/program.h"

namespace gputopo::probe {

namespace {

// How far the intercept of a line moves without the first or the last point.
double intercept_error(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 3) return 0;
  const std::size_t others = x.size() - 1;
  const double all = stats::fit_line(x, y).intercept;
  return std::max(std::abs(stats::fit_line(x.first(others), y.first(others)).intercept - all),
                  std::abs(stats::fit_line(x.last(others), y.last(others)).intercept - all));
}

}  // namespace

CodeSweep read_code_sweep(const std::vector<CodePasses>& lengths, double block_bytes,
                          const CodeSweepParameters& parameters) {
  CodeSweep sweep;
  if (lengths.empty()) return sweep;
  std::vector<double> cycles;
  std::vector<double> short_lengths;
  std::vector<double> short_cycles;
  for (const CodePasses& length : lengths) {
    sweep.instructions.push_back(length.instructions);
    cycles.push_back(stats::median(length.cycles));
    if (length.instructions > parameters.line_blocks * kCodeBlockInstructions) continue;
    short_lengths.push_back(length.instructions);
    short_cycles.push_back(cycles.back());
  }
  sweep.pass_cycles = std::max(0.0, stats::fit_line(short_lengths, short_cycles).intercept);
  sweep.pass_error_cycles = intercept_error(short_lengths, short_cycles);
  if (short_cycles.size() > 2) {
    const double first = short_cycles[1] - short_cycles[0];
    const double last = short_cycles.back() - short_cycles[short_cycles.size() - 2];
    sweep.bend_cycles = last - first;
    sweep.short_block_cycles = last;
  }
  for (std::size_t i = 0; i < cycles.size(); ++i) {
    sweep.footprints_bytes.push_back(sweep.instructions[i] * block_bytes / kCodeBlockInstructions);
    sweep.cycles_per_instruction.push_back((cycles[i] - sweep.pass_cycles) / sweep.instructions[i]);
  }
  sweep.levels = stats::find_plateaus(sweep.footprints_bytes, sweep.cycles_per_instruction);
  return sweep;
}

bool begins_with_level(const CodeSweep& sweep, const CodeSweepParameters& parameters) {
  if (sweep.levels.empty()) return false;
  if (sweep.bend_cycles > std::max(parameters.bend_cycles, parameters.quicker_before * sweep.short_block_cycles)) {
    return false;
  }
  const stats::Plateau& nearest = sweep.levels.front();
  if (sweep.instructions[nearest.first] > parameters.first_level_blocks * kCodeBlockInstructions) return false;
  const auto is_quicker = [&](double cycles) { return cycles < (1 - parameters.quicker_before) * nearest.value; };
  const auto before = std::span(sweep.cycles_per_instruction).first(nearest.first);
  return std::ranges::adjacent_find(
             before, [&](double one, double next) { return is_quicker(one) && is_quicker(next); }) == before.end();
}

double rate_without(double cycles, double nearer_cycles, double nearer_part, const CodeSweepParameters& parameters) {
  const double part = std::clamp(nearer_part, 0.0, parameters.most_served_nearer);
  return (cycles - part * nearer_cycles) / (1 - part);
}

LinesAtOnce lines_at_once(double line_bytes, double asking_line_bytes, const CodeSweepParameters& parameters) {
  if (line_bytes == 0 || asking_line_bytes == 0) return {1, parameters.most_lines_at_once};
  const double lines = std::max(1.0, line_bytes / asking_line_bytes);
  return {lines, lines};
}

double rate_of_first_lines(double cycles, double before_cycles, double lines) {
  return lines * cycles - (lines - 1) * before_cycles;
}

namespace {

// Misses of one cache grow until all of the code misses. If they stall and grow again, there are two caches.
std::optional<double> stall_bytes(const CodeSweep& sweep, std::size_t level, const HiddenLevelParameters& parameters) {
  const stats::Plateau& near = sweep.levels[level];
  const stats::Plateau& far = sweep.levels[level + 1];
  const auto part = [&](std::size_t i) {
    return (sweep.cycles_per_instruction[i] - near.value) / (far.value - near.value);
  };
  const auto octaves = [&](std::size_t i, std::size_t j) {
    return std::log2(sweep.footprints_bytes[j] / sweep.footprints_bytes[i]);
  };
  const auto growth = [&](std::size_t i, std::size_t j) { return (part(j) - part(i)) / octaves(i, j); };
  for (std::size_t i = near.last + 1; i < far.first; ++i) {
    if (sweep.footprints_bytes[i] < parameters.stall_from * sweep.footprints_bytes[near.last]) continue;
    if (part(i) - part(near.last) < parameters.stall_rise) continue;
    for (std::size_t j = i + 2; j < far.first; ++j) {
      if (octaves(i, j) < parameters.stall_octaves || part(far.first) - part(j) < parameters.stall_rise) continue;
      std::size_t after = j + 1;
      while (after < far.first && octaves(j, after) < parameters.stall_octaves) ++after;
      if (growth(i, j) < parameters.stall_growth * std::min(growth(near.last, i), growth(j, after))) {
        return sweep.footprints_bytes[i];
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> hidden_level_bytes(const CodeSweep& sweep, std::size_t level, const HeldCode& found,
                                         const HiddenLevelParameters& parameters) {
  const stats::Plateau& near = sweep.levels[level];
  const stats::Plateau& far = sweep.levels[level + 1];
  const double step = far.value - near.value;
  const double times = found.is_sharp ? parameters.held_sharp : parameters.held;
  const double quicker_part = found.is_sharp
                                  ? std::max(parameters.quicker_part_sharp, parameters.drift * far.value / step)
                                  : parameters.quicker_part;
  std::size_t quicker = 0;
  for (std::size_t i = near.last + 1; i < far.first; ++i) {
    const double held = std::min(1.0, times * found.bytes / sweep.footprints_bytes[i]);
    const bool is_quicker = sweep.cycles_per_instruction[i] < far.value - (held + quicker_part) * step;
    quicker = is_quicker ? quicker + 1 : 0;
    if (quicker >= parameters.lengths) return sweep.footprints_bytes[i];
  }
  return stall_bytes(sweep, level, parameters);
}

double overlooked_part(const CodeComparison& code, const CodeSizeParameters& parameters) {
  const double noise = parameters.least_difference_cycles / code.instructions;
  const double least =
      std::max({parameters.exceeds * code.gap_cycles, parameters.unevenness * code.fitting_cycles, noise});
  constexpr double kMost = 0.5;
  if (code.gap_cycles <= 0 || code.fitting_cycles <= 0) return kMost;
  return std::min(kMost, least / std::min(code.gap_cycles, code.fitting_cycles));
}

bool takes_longer(const CodeComparison& code, double part, const CodeSizeParameters& parameters) {
  const double noise = parameters.least_difference_cycles / code.instructions;
  return stats::median(code.differences) >
         std::max({part * code.gap_cycles, parameters.unevenness * code.fitting_cycles, noise});
}

namespace {

// Whether misses continue in proportion to the excess code, from `beginning`.
bool goes_on_straight(const EdgeBlocks& edge, double beginning, const CodeSizeParameters& parameters) {
  const double far = edge.far + 1;
  double expected = edge.high + 1;
  if (edge.low != edge.high) {
    const double missed_more = parameters.edge_high * (edge.high + 1) - parameters.edge_low * (edge.low + 1);
    const double growth = missed_more / (edge.high - edge.low);  // of the misses, with the code
    if (growth <= parameters.edge_far) return false;
    expected = growth * beginning / (growth - parameters.edge_far);
  }
  return std::abs(far - expected) <= parameters.sharp_blocks + parameters.straight_part * far;
}

}  // namespace

Decision<CodeCapacity> decide_code_capacity(const EdgeBlocks& edge, const CodeSizeParameters& parameters) {
  const auto beginning = [&]() -> double {
    const double first = edge.low + 1;
    const double second = edge.high + 1;
    if (edge.low == edge.high) return edge.low;  // a cliff
    return first - parameters.edge_low * first * (second - first) /
                       (parameters.edge_high * second - parameters.edge_low * first);
  };
  CodeCapacity capacity{.least_blocks = edge.fits, .beginning = beginning()};
  const double off = std::abs(capacity.beginning - edge.fits);
  const bool straight = goes_on_straight(edge, capacity.beginning, parameters);
  capacity.sharp = straight && off <= std::max(parameters.sharp_blocks, parameters.sharp_part * edge.fits);
  capacity.in_turn = straight && off <= std::max(parameters.sharp_blocks, parameters.in_turn_part * edge.fits);
  capacity.blocks =
      capacity.sharp ? edge.fits : std::clamp<double>(std::round(capacity.beginning), edge.fits, edge.low + 1);
  // One block more does not fit.
  capacity.most_blocks = (capacity.sharp ? std::max<double>(edge.fits, std::ceil(capacity.beginning)) : edge.far) + 1;
  return {capacity, fmt::format("up to {} blocks fit; a tenth of the code misses beyond {} blocks, three quarters "
                                "beyond {}; misses extrapolate back to zero at {:.1f} blocks",
                                edge.fits, edge.low, edge.far, capacity.beginning)};
}

}  // namespace gputopo::probe
