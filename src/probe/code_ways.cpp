// Ways of an instruction cache, from how steep its edge is. Straight-line code that is run again and again fills one
// set after the other; under LRU a line too many makes all lines of its set miss, its ways and itself. So what a pass
// takes longer grows by as many misses as there are ways, and one more, with each line, until all sets overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "probe/code.h"
#include "probe/code_trial.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

class Ramp {
 public:
  Ramp(Lab& lab, const CodeCache& cache)
      : lab_(lab),
        cache_(cache),
        fits_(cache.fits_instructions),
        all_miss_(cache.survey->instructions[cache.next().first]) {}

  // Lengths of which a good part misses, and not nearly all; whole blocks. Where little misses, it may be because
  // something else lies in some of the sets.
  std::vector<std::uint32_t> lengths() {
    constexpr double kGoodPart = 0.2;
    constexpr double kNearlyAll = 0.9;
    const std::uint32_t last = last_within(kNearlyAll, fits_ / kCodeBlockInstructions);
    const std::uint32_t first = last_within(kGoodPart, fits_ / kCodeBlockInstructions) + 1;
    constexpr std::uint32_t kLengths = 8;
    std::set<std::uint32_t> blocks;
    for (std::uint32_t i = 0; i < kLengths && first <= last; ++i) {
      blocks.insert(first + i * (last - first) / (kLengths - 1));
    }
    std::vector<std::uint32_t> lengths;
    for (const std::uint32_t block : blocks) lengths.push_back(block * kCodeBlockInstructions);
    return lengths;
  }

 private:
  // The most blocks, `least` or more, of which no more than this part misses.
  std::uint32_t last_within(double part, std::uint32_t least) {
    std::uint32_t beyond = all_miss_ / kCodeBlockInstructions;
    while (beyond - least > 1) {
      const std::uint32_t middle = (least + beyond) / 2;
      (missed_parts(lab_, cache_, {middle * kCodeBlockInstructions}).front() > part ? beyond : least) = middle;
    }
    return least;
  }

  Lab& lab_;
  const CodeCache& cache_;
  std::uint32_t fits_;  // instructions
  std::uint32_t all_miss_;
};

}  // namespace

Attribute measure_code_ways(Lab& lab, const CodeCache& cache, const CodeEdgeOf& edge_of) {
  Ramp ramp(lab, cache);
  const std::vector<std::uint32_t> lengths = ramp.lengths();
  constexpr std::size_t kLeastLengths = 3;
  if (lengths.size() < kLeastLengths) {
    const CodeEdge edge = edge_of();
    return measured_exactly(edge.conditions, edge.ways, "", "stairs_of_edge");
  }
  const std::vector<double> parts = missed_parts(lab, cache, lengths);
  std::vector<double> x;
  std::vector<double> missed;  // instructions of a pass
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    x.push_back(lengths[i]);
    missed.push_back(parts[i] * lengths[i]);
  }
  const stats::Line line = stats::fit_line(x, missed);
  double furthest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    furthest = std::max(furthest, std::abs(missed[i] - line.intercept - line.slope * x[i]));
  }
  lab.log(fmt::format("code: {:.2f} instructions more miss with each that is too much, {:.0f} off the line at most",
                      line.slope, furthest));
  const double ways = line.slope - 1;
  // Replacement at random is as steep, whatever the ways.
  constexpr double kLeastWays = 1.5;
  constexpr double kStraight = 0.03;  // of the most misses
  if (furthest > kStraight * missed.back() || ways < kLeastWays) {
    throw Inconclusive(
        "what misses does not grow in one line with the code: it is not the oldest line of a set that is replaced, or "
        "not all sets are alike");
  }
  // All of it misses as soon as every set has a line too many.
  const double end = -line.intercept / ways;
  const std::uint32_t behind = (static_cast<std::uint32_t>(end / kCodeBlockInstructions) + 1) * kCodeBlockInstructions;
  constexpr double kAll = 0.96;
  if (const double part = missed_parts(lab, cache, {behind}).front(); part < kAll) {
    throw Inconclusive(
        fmt::format("of {} instructions {:.0f}% miss, of sets of {:.1f} ways all would", behind, 100 * part, ways));
  }
  // What a miss takes is known to two in a hundred.
  constexpr double kOfMiss = 0.02;
  const double margin = line.slope * (kOfMiss + furthest / missed.back() / std::sqrt(static_cast<double>(x.size())));
  double low = std::ceil(ways - margin);
  double high = std::floor(ways + margin);
  if (low > high) std::swap(low, high);  // between two numbers, each as likely
  const double value = std::clamp(std::round(ways), low, high);
  Attribute attribute =
      measured(lab.conditions(), static_cast<std::int64_t>(value), "", stats::Interval{low, high}, "slope_of_edge");
  attribute.add_detail("misses_per_instruction_too_much", std::round(100 * line.slope) / 100);
  return attribute;
}

}  // namespace gputopo::probe
