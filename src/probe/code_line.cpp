// The line of an instruction cache. Code that is a little more than the cache holds is begun earlier and earlier, in
// the lead: what a pass takes rises with each line that it needs more, by the misses of all lines of that line's set,
// and between two such stairs by what the instructions themselves take. How far the stairs are apart is the line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "probe/code.h"
#include "probe/code_trial.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kLeads = kCodeLeadInstructions / kCodeLeadStep;

// By how many blocks code is longer than what fits: with the lead and without it some sets overflow and some do not, in
// caches of a few sets as in those of many.
constexpr int kLengths[] = {-3, -2, -1, 0, 1, 2, 4, 6, 8};
constexpr std::uint32_t kMostExtraBlocks = kLengths[std::size(kLengths) - 1];

InstructionProgram run_with_lead(std::uint32_t count, std::uint32_t lead) {
  InstructionProgram program = repeated_run(count);
  for (CodeStep& step : program.steps) step.lead = lead;
  return program;
}

// What a pass over `count` instructions takes longer with each step of the lead than its neighbours make it.
std::vector<double> stairs_of(Lab& lab, std::uint32_t count) {
  std::vector<InstructionProgram> programs;
  for (std::uint32_t lead = 1; lead <= kLeads; ++lead) {
    programs.insert(programs.end(), kCodeCopies, run_with_lead(count, lead * kCodeLeadStep));
  }
  const std::vector<double> cycles = steady_medians(lab.code(programs));
  std::vector<double> stairs;
  for (std::size_t i = 2; i + 1 < cycles.size(); ++i) {
    const double own = cycles[i] - cycles[i - 1];
    const double before = cycles[i - 1] - cycles[i - 2];
    const double after = cycles[i + 1] - cycles[i];
    stairs.push_back(own - (before + after) / 2);
  }
  return stairs;
}

// The steps from `begin` on that are `period` apart.
std::vector<double> every(const std::vector<double>& steps, std::size_t begin, std::size_t period) {
  std::vector<double> found;
  for (std::size_t at = begin; at < steps.size(); at += period) found.push_back(steps[at]);
  return found;
}

// Whether there is a stair every `period` steps, and none between. How high they are differs: what else lies in a set
// misses too.
bool has_stairs(const std::vector<double>& steps, std::size_t period) {
  // Of each period, its highest step.
  std::vector<std::size_t> highest(period);
  const std::size_t periods = steps.size() / period;
  for (std::size_t i = 0; i < periods; ++i) {
    const auto first = steps.begin() + static_cast<std::ptrdiff_t>(i * period);
    ++highest[static_cast<std::size_t>(std::max_element(first, first + static_cast<std::ptrdiff_t>(period)) - first)];
  }
  const auto most = std::max_element(highest.begin(), highest.end());
  constexpr double kAlways = 0.9;
  if (static_cast<double>(*most) < kAlways * static_cast<double>(periods)) return false;
  const auto stair = static_cast<std::size_t>(most - highest.begin());
  const auto height = [&](std::size_t begin, std::size_t apart) {
    return stats::median(every(steps, begin % apart, apart));
  };
  // Were the stairs closer, some of those between would be about as high; were they twice as far apart, every second
  // would not be.
  constexpr double kLower = 0.5;
  double between = 0;
  for (std::size_t i = 1; i < period; ++i) between = std::max(between, height(stair + i, period));
  const double ones = height(stair, 2 * period);
  const double others = height(stair + period, 2 * period);
  return between < kLower * height(stair, period) && std::min(ones, others) > kLower * std::max(ones, others);
}

}  // namespace

Attribute measure_code_line(Lab& lab, const CodeCache& cache, const CodeEdgeOf& edge_of) {
  constexpr std::uint32_t kMostBlocks = kMostCodeBehindLead / kCodeBlockInstructions - kMostExtraBlocks;
  if (cache.fits_instructions > kMostBlocks * kCodeBlockInstructions) {
    throw NotSupportedError(
        fmt::format("code shows the lines of caches of up to {:.0f} B here", kMostBlocks * cache.survey->block_bytes));
  }
  // Where all sets overflow before the code is two blocks too long, a stair shows at one length only, which makes
  // stairs look a block apart. With one block too much, half of the sets do then, and a little more than half of the
  // code misses.
  constexpr double kMostMissing = 0.64;
  const double part = missed_parts(lab, cache, {cache.fits_instructions + kCodeBlockInstructions}).front();
  const auto line_of_steep_edge = [&] {
    const CodeEdge edge = edge_of();
    return measured_exactly(edge.conditions, edge.line_bytes, "B", "stairs_of_edge");
  };
  if (part > kMostMissing) return line_of_steep_edge();
  const std::uint32_t all_miss = cache.survey->instructions[cache.next().first];
  std::vector<std::vector<double>> lengths;
  for (const int blocks : kLengths) {
    const std::int64_t count = cache.fits_instructions + std::int64_t{blocks} * kCodeBlockInstructions;
    if (count > 0 && (blocks <= 1 || count <= all_miss)) {
      lengths.push_back(stairs_of(lab, static_cast<std::uint32_t>(count)));
    }
  }
  // What else a pass runs may begin to miss at one length, so a stair counts that shows at several. Stairs that are as
  // far apart as lengths are must show at half of them, or those of different lengths might look like one row.
  constexpr double kSeveral = 0.75;
  constexpr double kHalf = 0.5;
  const auto showing_at = [&](double part_of_lengths) {
    std::vector<double> stairs;
    for (std::size_t i = 0; i < lengths.front().size(); ++i) {
      std::vector<double> of_lengths;
      for (const std::vector<double>& length : lengths) of_lengths.push_back(length[i]);
      stairs.push_back(stats::quantile(of_lengths, part_of_lengths));
    }
    return stairs;
  };
  const std::vector<double> stairs = showing_at(kSeveral);
  lab.log(fmt::format("code: stairs by steps of the lead: {:.1f}", fmt::join(stairs, " ")));
  constexpr std::size_t kLeastStairs = 4;
  std::size_t period = std::bit_floor(kLeads / kLeastStairs);
  constexpr std::size_t kBlockPeriod = kCodeBlockInstructions / kCodeLeadStep;
  const auto shows = [&](std::size_t apart) {
    return has_stairs(stairs, apart) && (apart != kBlockPeriod || has_stairs(showing_at(kHalf), apart));
  };
  while (period > 1 && !shows(period)) period /= 2;
  if (period < 2) return line_of_steep_edge();
  const double line =
      std::exp2(std::round(std::log2(static_cast<double>(period) * kCodeLeadStep * cache.bytes_per_instruction())));
  return measured_exactly(lab.conditions(), std::llround(line), "B", "stairs_of_code_length");
}

}  // namespace gputopo::probe
