// Sizes by this project's method beside those by the change-point method, on random machines: how often each is right.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/truths.h"
#include "support/wide_machine.h"

namespace gputopo::truth {

// One size of a machine that shows it, by both.
struct ComparedSize {
  std::string element;
  Judged ours;
  Judged theirs;
  std::string_view suits;  // whether the machine is as the other method takes it to be, in words
};

// Of each cache that MT4G measures and the machine shows. The truth of an L2 in partitions is all of it for this
// project's method, and one of them for the other, which finds segments.
[[nodiscard]] std::vector<ComparedSize> compare_sizes(const sim::MachineSpec& machine, std::uint64_t seed);

struct MethodTally {
  std::uint64_t right = 0;
  std::uint64_t wrong = 0;  // flagged or not
  std::uint64_t none = 0;
  void add(const Judged& judged);
};

struct SizesTally {
  MethodTally ours;
  MethodTally theirs;
  std::uint64_t theirs_close = 0;  // off by a tenth at most
  void add(const ComparedSize& size);
  [[nodiscard]] std::uint64_t sizes() const { return ours.right + ours.wrong + ours.none; }
};

// Of random machines by element, by tier of noise, by what suits the other method, and of all. And of the models of
// real GPUs.
struct MethodComparison {
  std::map<std::string, SizesTally> by_element;
  std::map<Tier, SizesTally> by_tier;
  std::map<std::string_view, SizesTally> by_suitability;
  SizesTally all;
  SizesTally real;
  std::uint64_t first_seed = 0;
  std::uint64_t machines = 0;
};

// Without the models of real GPUs.
[[nodiscard]] MethodComparison compare_methods(std::uint64_t first_seed, std::uint64_t machines);

// Of the models of real GPUs (machines/), with the noise that these have.
[[nodiscard]] SizesTally compare_on_models();

inline constexpr std::string_view kComparisonHeading = "## Beside the change-point method\n";
// A section of the accuracy report, its heading with it.
[[nodiscard]] std::string section_of(const MethodComparison& comparison);
// That section of a report that has one, up to the next; else nothing.
[[nodiscard]] std::string comparison_section(std::string_view report);

}  // namespace gputopo::truth
