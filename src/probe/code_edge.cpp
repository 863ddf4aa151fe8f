// The steep edge of an instruction cache of few sets: too few blocks of code lie between none and all of it missing,
// but the lead makes code longer by less than a line. Under LRU each line too many makes all lines of one more set
// miss, until all sets overflow, so that what misses rises in as many equal stairs as there are sets; how far they are
// apart is the line, and how high they are says the ways. Which line, sets and ways it is, is told from all lengths at
// once: by how near each comes to what was seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/code.h"
#include "probe/code_trial.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kLeads = kCodeLeadInstructions / kCodeLeadStep;
// Longest edge that is looked at: of two leads.
constexpr std::uint32_t kMostBeyond = 2 * kCodeLeadInstructions;
// What fits is known to so much, either way.
constexpr std::uint32_t kFitsWithin = 2 * kCodeBlockInstructions;

struct Length {
  std::uint32_t instructions = 0;
  double missed = 0;  // of them
};

// What misses, in instructions, of code that is longer by a step of the lead each.
std::vector<Length> lengths_of_edge(Lab& lab, const CodeCache& cache) {
  const std::uint32_t fits = cache.fits_instructions;
  const std::uint32_t begin = fits < kFitsWithin ? 0 : fits - kFitsWithin;
  std::vector<InstructionProgram> programs;
  std::vector<Length> lengths;
  for (std::uint32_t step = 1; begin + step * kCodeLeadStep <= fits + kMostBeyond; ++step) {
    const std::uint32_t lead = (step - 1) % kLeads + 1;
    InstructionProgram program = repeated_run(begin + (step - lead) * kCodeLeadStep);
    for (CodeStep& run : program.steps) run.lead = lead * kCodeLeadStep;
    if (program.steps.front().count == 0) continue;
    programs.insert(programs.end(), kCodeCopies, program);
    lengths.push_back({begin + step * kCodeLeadStep, 0});
  }
  const std::vector<double> cycles = steady_medians(lab.code(programs));
  const double hit = cache.plateau().value;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double excess = cycles[i] - cache.survey->pass_cycles - hit * lengths[i].instructions;
    lengths[i].missed = excess / (cache.next().value - hit);
  }
  return lengths;
}

// A cache as the edge may show it; a line and all that fits in instructions.
struct Shape {
  std::uint32_t line = 0;
  std::uint32_t sets = 0;
  std::uint32_t ways = 0;
  std::uint32_t fits = 0;

  // With `instructions` of code. The line that was begun last is not run whole.
  [[nodiscard]] double missed(double instructions) const {
    if (instructions <= fits) return 0;
    const double over = std::ceil((instructions - fits) / line);
    if (over > sets) return instructions;
    return over * (ways + 1) * line - (fits + over * line - instructions);
  }
  // Standard deviation of what was seen from that, as part of what a set misses. What a miss takes is known to some
  // parts in a hundred, so all may be off by one factor.
  [[nodiscard]] double distance(const std::vector<Length>& lengths) const {
    double product = 0;
    double square = 0;
    for (const Length& length : lengths) {
      const double expected = missed(length.instructions);
      product += expected * length.missed;
      square += expected * expected;
    }
    constexpr double kFactor = 0.05;
    const double factor = square > 0 ? std::clamp(product / square, 1 - kFactor, 1 + kFactor) : 1;
    double sum = 0;
    for (const Length& length : lengths) {
      const double off = length.missed - factor * missed(length.instructions);
      sum += off * off;
    }
    return std::sqrt(sum / static_cast<double>(lengths.size())) / ((ways + 1) * line);
  }
};

}  // namespace

CodeEdge steep_edge(Lab& lab, const CodeCache& cache) {
  if (cache.fits_instructions + kMostBeyond > kMostCodeBehindLead) {
    throw NotSupportedError(fmt::format("the stairs of a steep edge show in caches of up to {:.0f} B here",
                                        (kMostCodeBehindLead - kMostBeyond) * cache.bytes_per_instruction()));
  }
  const std::vector<Length> lengths = lengths_of_edge(lab, cache);
  constexpr std::uint32_t kShortestLine = 32;  // bytes
  constexpr std::uint32_t kLongestLine = 1024;
  constexpr std::uint32_t kMostSets = 64;
  Shape best;
  double best_distance = 0;
  double next_distance = 0;  // of the second best
  const auto consider = [&](const Shape& shape) {
    const double distance = shape.distance(lengths);
    if (best.sets == 0 || distance < best_distance) {
      next_distance = best_distance;
      best = shape;
      best_distance = distance;
    } else if (next_distance == 0 || distance < next_distance) {
      next_distance = distance;
    }
  };
  for (std::uint32_t bytes = kShortestLine; bytes <= kLongestLine; bytes *= 2) {
    const auto line = static_cast<std::uint32_t>(bytes / cache.bytes_per_instruction());
    if (line < 2 * kCodeLeadStep) continue;
    for (std::uint32_t sets = 1; sets <= kMostSets && sets * line <= kMostBeyond; ++sets) {
      for (std::uint32_t ways = 1; ways * sets * line <= cache.fits_instructions + kFitsWithin; ++ways) {
        const std::uint32_t fits = ways * sets * line;
        if (fits + kFitsWithin < cache.fits_instructions) continue;
        consider({line, sets, ways, fits});
      }
    }
  }
  lab.log(
      fmt::format("code: edge of {} sets of {} ways, {} instructions a line: {:.3f} of a stair off, the next {:.3f}",
                  best.sets, best.ways, best.line, best_distance, next_distance));
  constexpr double kNear = 0.1;
  constexpr double kClearly = 1.4;
  if (best.sets == 1 && best_distance <= kNear) {
    throw Inconclusive(
        "all of the code misses with the first line too many: there is one set, and how long its lines are does not "
        "show");
  }
  if (best.sets == 0 || best_distance > kNear || next_distance < kClearly * best_distance) {
    throw Inconclusive(
        "what misses does not rise in equal stairs as the code grows: it is not the oldest line of a set that is "
        "replaced, or not all sets are alike");
  }
  return {.line_bytes = static_cast<std::uint32_t>(best.line * cache.bytes_per_instruction()),
          .ways = best.ways,
          .conditions = lab.conditions()};
}

}  // namespace gputopo::probe
