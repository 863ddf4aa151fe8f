// Capacity of a cache that constants share with instructions, beyond the 64 KiB that a program may have of constants:
// all of them are walked, then code of growing length runs, and the constants are walked again. They take longer as
// soon as the two together no longer fit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/code.h"
#include "probe/site.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

constexpr int kCopies = 3;
constexpr std::uint32_t kBlocks = kMostCodeInstructions / kCodeBlockInstructions;
// Of what all the code there is evicts. The beginning: clear of the noise of a walk; a line of a thousand is less, and
// is in the interval. The end: as good as all.
constexpr double kBegins = 0.02;
constexpr double kHalf = 0.5;
constexpr double kNearlyAll = 0.95;
// Evicted constants must take longer by this part, or the code does not reach their cache.
constexpr double kLeastContrast = 0.15;

class ConstantWalks {
 public:
  ConstantWalks(Lab& lab, std::uint32_t constant_bytes) : lab_(lab), constant_bytes_(constant_bytes) {
    untouched_ = cycles_beside(0);
    evicted_ = cycles_beside(kBlocks);
  }

  [[nodiscard]] double untouched() const { return untouched_; }
  [[nodiscard]] double evicted() const { return evicted_; }

  // The most blocks of code, so that no more than this part of the constants is evicted.
  [[nodiscard]] std::uint32_t most_blocks(double part) {
    std::uint32_t fits = 0;
    std::uint32_t exceeds = kBlocks;
    while (exceeds - fits > 1) {
      const std::uint32_t middle = (fits + exceeds) / 2;
      const double seen = (cycles_beside(middle) - untouched_) / (evicted_ - untouched_);
      (seen > part ? exceeds : fits) = middle;
    }
    return fits;
  }

 private:
  [[nodiscard]] double cycles_beside(std::uint32_t blocks) {
    const CodeStep walk{.kind = CodeStepKind::kConstants, .count = constant_bytes_};
    InstructionProgram program{.actors = {{}}, .steps = {walk}};
    // Twice each: one pass leaves something in a cache that does not replace the oldest.
    program.steps.front().passes = 2;
    if (blocks > 0) program.steps.push_back({.count = blocks * kCodeBlockInstructions, .passes = 2});
    program.steps.push_back(walk);
    std::vector<double> cycles;
    for (const InstructionResult& result : lab_.code(std::vector<InstructionProgram>(kCopies, program))) {
      cycles.push_back(static_cast<double>(result.pass_cycles.back().front()));
    }
    return stats::median(cycles);
  }

  Lab& lab_;
  std::uint32_t constant_bytes_;
  double untouched_ = 0;
  double evicted_ = 0;
};

}  // namespace

Attribute measure_constants_beside_code(Lab& lab, const CodeSurvey& survey, std::uint32_t constant_bytes) {
  ConstantWalks walks(lab, constant_bytes);
  lab.log(fmt::format("constants: a walk takes {:.0f} cycles, after all of the code {:.0f}", walks.untouched(),
                      walks.evicted()));
  if (walks.evicted() < (1 + kLeastContrast) * walks.untouched()) {
    throw NotSupportedError(fmt::format(
        "all {} B of constants fit, and code does not evict them: the cache is at least that large", constant_bytes));
  }
  const auto bytes = [&](std::uint32_t blocks) { return constant_bytes + std::round(blocks * survey.block_bytes); };
  const std::uint32_t fits = walks.most_blocks(kBegins);
  const std::uint32_t half = walks.most_blocks(kHalf);
  const std::uint32_t all = walks.most_blocks(kNearlyAll);
  lab.log(fmt::format("constants: {} blocks of code fit beside them, half is evicted at {}, nearly all at {}", fits,
                      half, all));
  // Under LRU a walk that evicts anything evicts all; otherwise the capacity lies on the ramp, before its middle.
  Attribute size = measured(lab, static_cast<std::int64_t>(bytes(fits)), "B",
                            stats::Interval{bytes(fits) - survey.block_bytes, bytes(half + 1) + survey.loop_bytes},
                            "constants_beside_code");
  size.add_detail("first_miss_bytes", static_cast<std::int64_t>(bytes(fits + 1)));
  size.add_detail("all_miss_bytes", static_cast<std::int64_t>(bytes(all + 1)));
  size.add_detail("constant_bytes", static_cast<std::int64_t>(constant_bytes));
  return size;
}

}  // namespace gputopo::probe
