// Compares sizes by this project's method with sizes by the change-point method on random machines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/truths.h"
#include "support/wide_machine.h"

namespace gputopo::truth {

// One size that the machine shows, by both methods.
struct ComparedSize {
  std::string element;
  Judged ours;
  Judged theirs;
  std::string_view suits;  // how well the machine fits the assumptions of the change-point method, as a row title
};

// Compares each cache that MT4G measures and the machine shows. For a partitioned L2, the truth is the whole L2 for
// this project's method, and one partition for the other method, which finds segments.
[[nodiscard]] std::vector<ComparedSize> compare_sizes(const sim::MachineSpec& machine, std::uint64_t seed);

struct MethodTally {
  std::uint64_t right = 0;
  std::uint64_t wrong = 0;  // with or without a flag
  std::uint64_t none = 0;
  void add(const Judged& judged);
};

struct SizesTally {
  MethodTally ours;
  MethodTally theirs;
  std::uint64_t theirs_close = 0;  // off by at most 10%
  void add(const ComparedSize& size);
  [[nodiscard]] std::uint64_t sizes() const { return ours.right + ours.wrong + ours.none; }
};

// Tallies of random machines by element, noise tier and suitability for the other method, and of all of them; `real`
// tallies the models of real GPUs.
struct MethodComparison {
  std::map<std::string, SizesTally> by_element;
  std::map<Tier, SizesTally> by_tier;
  std::map<std::string_view, SizesTally> by_suitability;
  SizesTally all;
  SizesTally real;
  std::uint64_t first_seed = 0;
  std::uint64_t machines = 0;
};

// Leaves `real` empty.
[[nodiscard]] MethodComparison compare_methods(std::uint64_t first_seed, std::uint64_t machines);

// Uses the models of real GPUs (machines/) with the noise in their files.
[[nodiscard]] SizesTally compare_on_models();

inline constexpr std::string_view kComparisonHeading = "## Beside the change-point method\n";
// The section of the accuracy report, with its heading.
[[nodiscard]] std::string section_of(const MethodComparison& comparison);
// The same section of an existing report, or nothing if the report has none.
[[nodiscard]] std::string comparison_section(std::string_view report);

}  // namespace gputopo::truth
