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

constexpr int kCopies = 3;
// Code exceeds a cache when an instruction takes longer than in shorter code by this part of what it takes longer at
// the next level. One line too many makes misses of a whole set: in a cache of 1024 lines in sets of 4, half a percent.
constexpr double kExceeds = 0.01;
// And by this part of the time itself, which differs between lengths of code that fit as well.
constexpr double kUnevenness = 0.004;

SampleTable sweep_table(const CodeSurvey& survey) {
  return {
      "sweep", {"footprint_bytes", "cycles_per_instruction"}, {survey.footprints_bytes, survey.cycles_per_instruction}};
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
  [[nodiscard]] bool exceeds(std::uint32_t blocks) {
    const std::uint32_t count = blocks * kCodeBlockInstructions;
    std::vector<InstructionProgram> programs;
    for (int copy = 0; copy < kCopies; ++copy) {
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
    return stats::median(differences) > std::max(kExceeds * gap, kUnevenness * fitting);
  }

 private:
  Lab& lab_;
  const CodeCache& cache_;
  std::uint32_t reference_ = 0;
};

}  // namespace

Attribute measure_code_size(Lab& lab, CodeCache& cache) {
  const CodeSurvey& survey = *cache.survey;
  EdgeSearch search(lab, cache);
  std::uint32_t fits = search.reference_blocks();
  std::uint32_t exceeds = survey.instructions[cache.next().first] / kCodeBlockInstructions;
  if (!search.exceeds(exceeds)) throw Inconclusive("the next level of the sweep was not seen again");
  while (exceeds - fits > 1) {
    const std::uint32_t middle = (fits + exceeds) / 2;
    (search.exceeds(middle) ? exceeds : fits) = middle;
  }
  cache.fits_instructions = fits * kCodeBlockInstructions;
  const double bytes = fits * survey.block_bytes;
  // One block more does not fit, and what every pass runs besides was there too.
  Attribute size =
      measured(lab, std::round(bytes), "B",
               stats::Interval{std::floor(bytes), std::ceil(bytes + survey.block_bytes + survey.loop_bytes)},
               "longest_fitting_code");
  size.details.emplace_back("first_miss_bytes", static_cast<std::int64_t>(std::llround(exceeds * survey.block_bytes)));
  size.details.emplace_back("all_miss_bytes",
                            static_cast<std::int64_t>(std::llround(survey.footprints_bytes[cache.next().first])));
  size.details.emplace_back("bytes_per_instruction", std::round(100 * cache.bytes_per_instruction()) / 100);
  size.details.emplace_back("loop_bytes_at_most", static_cast<std::int64_t>(survey.loop_bytes));
  if (lab.keep_samples()) size.samples.push_back(sweep_table(survey));
  return size;
}

Attribute measure_code_rate(Lab& lab, const CodeCache& cache) {
  const CodeSurvey& survey = *cache.survey;
  const auto values = [&](const stats::Plateau& level) {
    return std::span(survey.cycles_per_instruction).subspan(level.first, level.last + 1 - level.first);
  };
  const stats::Plateau& level = cache.plateau();
  const auto own = values(level);
  Attribute rate =
      measured(lab, std::round(1000 * level.value) / 1000, "cycles",
               stats::Interval{*std::min_element(own.begin(), own.end()), *std::max_element(own.begin(), own.end())},
               "plateau_of_code_sweep");
  rate.details.emplace_back("bytes_per_cycle", std::round(100 * cache.bytes_per_instruction() / level.value) / 100);
  rate.details.emplace_back("next_level_cycles_per_instruction", std::round(1000 * cache.next().value) / 1000);
  return rate;
}

}  // namespace gputopo::probe
