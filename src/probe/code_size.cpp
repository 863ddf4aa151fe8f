// How much code an instruction cache holds, and how fast it supplies it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/code.h"
#include "probe/code_trial.h"
#include "probe/site.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

constexpr int kEdgeCopies = 5;
// Code exceeds a cache when an instruction takes longer than in shorter code by this part of what it takes longer at
// the next level. One line too many makes misses of a whole set: in a cache of 1024 lines in sets of 4, half a percent.
constexpr double kExceeds = 0.01;
// Where the edge is clear of what goes before, to be followed back to where it begins.
constexpr double kEdgeLow = 0.1;
constexpr double kEdgeHigh = 0.4;
// The beginning that is seen and the one that follows from the edge agree when they differ by no more than this part,
// or two blocks.
constexpr double kSharp = 0.01;
constexpr double kSharpBlocks = 2;
// And by this part of the time itself, which differs between lengths of code that fit as well.
constexpr double kUnevenness = 0.004;
// And by so many cycles of a pass, which its noise may be. A single set that misses takes longer than that.
constexpr double kLeastDifferenceCycles = 6;

SampleTable sweep_table(const CodeSurvey& survey) {
  SampleTable table =
      make_table("sweep", Plot::kLine, {footprint_axis(), values("cycles_per_instruction", "cycles per instruction")});
  table.data = {survey.footprints_bytes, survey.cycles_per_instruction};
  table.marks = {"first_miss_bytes", "all_miss_bytes"};
  return table;
}

class EdgeSearch {
 public:
  EdgeSearch(Lab& lab, const CodeCache& cache) : lab_(lab), cache_(cache) {
    const stats::Plateau& level = cache.plateau();
    // Shorter code of the same level, well before the edge.
    reference_ = cache.survey->instructions[(level.first + level.last) / 2];
  }

  [[nodiscard]] std::uint32_t reference_blocks() const { return reference_ / kCodeBlockInstructions; }

  // Both lengths are measured in turn, so that a drift of the clocks does not look like a difference.
  [[nodiscard]] bool exceeds(std::uint32_t blocks, double part) {
    const std::uint32_t count = blocks * kCodeBlockInstructions;
    std::vector<InstructionProgram> programs;
    for (int copy = 0; copy < kEdgeCopies; ++copy) {
      programs.push_back(repeated_run(reference_));
      programs.push_back(repeated_run(count));
    }
    const std::vector<InstructionResult> results = lab_.code(programs);
    std::vector<double> differences;
    double fitting = 0;
    for (std::size_t i = 0; i < results.size(); i += 2) {
      fitting = (steady_cycles(results[i]) - cache_.survey->pass_cycles) / reference_;
      differences.push_back((steady_cycles(results[i + 1]) - cache_.survey->pass_cycles) / count - fitting);
    }
    const double gap = cache_.next().value - cache_.plateau().value;
    return stats::median(differences) > std::max({part * gap, kUnevenness * fitting, kLeastDifferenceCycles / count});
  }

  // The longest code, from `fits` blocks on, that does not exceed; some code under `exceeds` blocks does.
  [[nodiscard]] std::uint32_t longest(double part, std::uint32_t fits, std::uint32_t exceeding) {
    while (exceeding - fits > 1) {
      const std::uint32_t middle = (fits + exceeding) / 2;
      (exceeds(middle, part) ? exceeding : fits) = middle;
    }
    return fits;
  }

 private:
  Lab& lab_;
  const CodeCache& cache_;
  std::uint32_t reference_ = 0;
};

// Misses begin at `fits` blocks. Under LRU what a pass takes longer then grows in proportion to the code that is too
// much, so two points of the edge lead back to its beginning; if that is elsewhere, misses begin slowly (random
// replacement), or the time grew slowly already because the cache before still holds a little.
struct Edge {
  std::uint32_t fits = 0;
  std::uint32_t low = 0;   // kEdgeLow is not exceeded
  std::uint32_t high = 0;  // kEdgeHigh is not

  [[nodiscard]] double beginning() const {
    const double first = low + 1;
    const double second = high + 1;
    if (low == high) return low;  // a cliff
    return first - kEdgeLow * first * (second - first) / (kEdgeHigh * second - kEdgeLow * first);
  }
  [[nodiscard]] bool sharp() const { return std::abs(beginning() - fits) <= std::max(kSharpBlocks, kSharp * fits); }
};

}  // namespace

CodeSize find_code_size(Lab& lab, const CodeCache& cache) {
  const CodeSurvey& survey = *cache.survey;
  EdgeSearch search(lab, cache);
  const std::uint32_t beyond = survey.instructions[cache.next().first] / kCodeBlockInstructions;
  if (!search.exceeds(beyond, kEdgeHigh)) throw Inconclusive("the next level of the sweep was not seen again");
  Edge edge;
  edge.fits = search.longest(kExceeds, search.reference_blocks(), beyond);
  edge.low = search.longest(kEdgeLow, edge.fits, beyond);
  edge.high = search.longest(kEdgeHigh, edge.low, beyond);
  const double blocks =
      edge.sharp() ? edge.fits : std::clamp<double>(std::round(edge.beginning()), edge.fits, edge.low + 1);
  lab.log(fmt::format("code: up to {} blocks fit; the edge passes a tenth at {} and leads back to {:.1f}", edge.fits,
                      edge.low, edge.beginning()));
  // One block more does not fit, and what every pass runs besides was there too.
  const double most = (edge.sharp() ? std::max<double>(edge.fits, std::ceil(edge.beginning())) : edge.high) + 1;
  CodeSize size;
  size.bytes = blocks * survey.block_bytes;
  size.interval = {std::floor(edge.fits * survey.block_bytes),
                   std::ceil(most * survey.block_bytes + survey.loop_bytes)};
  size.fits_instructions = static_cast<std::uint32_t>(blocks) * kCodeBlockInstructions;
  size.first_miss_bytes = (edge.fits + 1) * survey.block_bytes;
  size.method = edge.sharp() ? "longest_fitting_code" : "beginning_of_edge";
  size.conditions = lab.conditions();
  return size;
}

Attribute to_attribute(const CodeSize& size, const CodeCache& cache, bool keep_samples) {
  const CodeSurvey& survey = *cache.survey;
  Attribute attribute = measured(size.conditions, std::round(size.bytes), "B", size.interval, size.method);
  attribute.add_detail("first_miss_bytes", static_cast<std::int64_t>(std::llround(size.first_miss_bytes)));
  attribute.add_detail("all_miss_bytes",
                       static_cast<std::int64_t>(std::llround(survey.footprints_bytes[cache.next().first])));
  attribute.add_detail("bytes_per_instruction", std::round(100 * cache.bytes_per_instruction()) / 100);
  attribute.add_detail("loop_bytes_at_most", static_cast<std::int64_t>(survey.loop_bytes));
  if (keep_samples) attribute.samples.push_back(sweep_table(survey));
  return attribute;
}

Attribute code_rate(const CodeCache& cache) {
  const CodeSurvey& survey = *cache.survey;
  const auto values = [&](const stats::Plateau& level) {
    return std::span(survey.cycles_per_instruction).subspan(level.first, level.last + 1 - level.first);
  };
  const stats::Plateau& level = cache.plateau();
  const auto own = values(level);
  Attribute rate =
      measured(survey.conditions, std::round(1000 * level.value) / 1000, "cycles",
               stats::Interval{*std::min_element(own.begin(), own.end()), *std::max_element(own.begin(), own.end())},
               "plateau_of_code_sweep");
  rate.add_detail("bytes_per_cycle", std::round(100 * cache.bytes_per_instruction() / level.value) / 100);
  rate.add_detail("next_level_cycles_per_instruction", std::round(1000 * cache.next().value) / 1000);
  return rate;
}

}  // namespace gputopo::probe
