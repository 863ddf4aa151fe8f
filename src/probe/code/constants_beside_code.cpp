#include "probe/code/constants_beside_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/bench/last_that_fits.h"
#include "probe/bench/value_or_throw.h"
#include "probe/capacity/line_size.h"
#include "probe/code/constants_beside_code_decision.h"
#include "probe/code/trial.h"
#include "probe/survey/site.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// Passes over the code: a single one leaves something in a cache that does not replace the oldest line.
constexpr std::uint32_t kCodePasses = 2;
// More passes for the penalty: whatever is left would make a miss seem cheaper.
constexpr std::uint32_t kEvictingPasses = 4;
// Less than all of the code, to check whether all of it evicts everything.
constexpr std::uint32_t kLessCodeBlocks = 3 * kMaxCodeBlocks / 4;

// The constants that are walked: one load every stride.
struct Walk {
  std::uint32_t bytes = 0;
  std::uint32_t stride_bytes = 0;
  std::uint32_t skew_bytes = 0;  // offset of the upper half

  // Walks each half.
  [[nodiscard]] std::vector<CodeStep> steps(std::uint32_t passes) const {
    const CodeStep lower{
        .kind = CodeStepKind::kConstants, .count = bytes / 2, .passes = passes, .stride_bytes = stride_bytes};
    CodeStep upper = lower;
    upper.first = bytes / 2 + skew_bytes;
    upper.count -= skew_bytes;
    return {lower, upper};
  }
};

// All constants that a program may have, with one load for each fetch into the cache: others would hit nearer caches.
Walk walk_over_all(const Cache& cache) {
  return {.bytes = static_cast<std::uint32_t>(cache.site().limit_bytes),
          .stride_bytes = std::max(static_cast<std::uint32_t>(cache.fetch_bytes), kConstantStepBytes)};
}

// A walk over constants, before and after code.
class WalkBesideCode {
 public:
  WalkBesideCode(ProbeRunner& runner, const Walk& walk) : runner_(runner), walk_(walk) {
    cycles_.untouched_cycles = stats::median(cycles_beside(0));
    cycles_.evicted_cycles = stats::median(cycles_beside(kMaxCodeBlocks));
    runner.log(fmt::format(
        "constants: loads with a stride of {} B (upper half of the constants shifted by {} B) take {:.0f} cycles, and "
        "{:.0f} cycles after all of the code has run",
        walk.stride_bytes, walk.skew_bytes, cycles_.untouched_cycles, cycles_.evicted_cycles));
    if (!code_reaches(cycles_)) {
      throw NotSupportedError(fmt::format(
          "all {} B of constants fit, and code does not evict them, so the cache is at least that large", walk.bytes));
    }
  }

  // Cycles of the walk after this much code, for each copy.
  [[nodiscard]] std::vector<double> cycles_beside(std::uint32_t blocks, std::uint32_t passes = kCodePasses) {
    InstructionProgram program{.actors = {{}}, .steps = walk_.steps(2)};
    if (blocks > 0) program.steps.push_back({.count = blocks * kCodeBlockInstructions, .passes = passes});
    const std::vector<CodeStep> again = walk_.steps(1);
    program.steps.insert(program.steps.end(), again.begin(), again.end());
    std::vector<double> cycles;
    for (const InstructionResult& result : runner_.code(std::vector<InstructionProgram>(kCodeCopies, program))) {
      double sum = 0;
      for (std::size_t i = 0; i < again.size(); ++i) {
        sum += static_cast<double>((result.pass_cycles.end() - 1 - static_cast<std::ptrdiff_t>(i))->front());
      }
      cycles.push_back(sum);
    }
    return cycles;
  }

  [[nodiscard]] double untouched_cycles() const { return cycles_.untouched_cycles; }

  // The most blocks of code that evict at most this part of the constants.
  [[nodiscard]] std::uint32_t most_blocks(double part) {
    return last_that_fits(0, kMaxCodeBlocks, [&](std::uint32_t blocks) {
      return cycles_.part(stats::median(cycles_beside(blocks))) > part;
    });
  }

 private:
  ProbeRunner& runner_;
  Walk walk_;
  ConstantWalk cycles_;
};

std::int64_t whole_bytes(double bytes) { return static_cast<std::int64_t>(std::round(bytes)); }

}  // namespace

Attribute measure_constant_size_beside_code(ProbeRunner& runner, const CodeSurvey& survey, const Cache& cache) {
  const Walk all = walk_over_all(cache);
  WalkBesideCode walk(runner, all);
  constexpr ConstantsBesideCodeParameters kDecision;
  BlocksBesideConstants blocks;
  blocks.fits = walk.most_blocks(kDecision.begins);
  blocks.most = walk.most_blocks(kDecision.most);
  blocks.nearly_all = walk.most_blocks(kDecision.nearly_all);
  runner.log(
      fmt::format("constants: {} blocks of code fit in the cache with the constants; most constants are evicted beyond "
                  "{} blocks, nearly all beyond {}",
                  blocks.fits, blocks.most, blocks.nearly_all));
  const SharedCapacity capacity = decide_shared_capacity(blocks, all.bytes, survey.block_bytes, survey.loop_bytes);
  Attribute size = measured(runner.conditions(), capacity.bytes, "B", capacity.interval, "constants_beside_code");
  size.add_detail("first_miss_bytes", capacity.first_miss_bytes);
  size.add_detail("all_miss_bytes", capacity.all_miss_bytes);
  size.add_detail("constant_bytes", static_cast<std::int64_t>(all.bytes));
  return size;
}

Line find_constant_line_beside_code(ProbeRunner& runner, const CodeSurvey& survey, const Cache& cache) {
  const Walk all = walk_over_all(cache);
  Walk half = all;
  half.bytes /= 2;
  const auto bytes_beside = [&](const Walk& walk) {
    return survey.block_bytes * WalkBesideCode(runner, walk).most_blocks(ConstantsBesideCodeParameters{}.half);
  };
  CodeBesideConstants code{.constant_bytes = all.bytes};
  code.beside_all_bytes = bytes_beside(all);
  code.beside_half_bytes = bytes_beside(half);
  const double limit = value_or_throw(runner, "constants", sparse_limit(code));
  NamedValues details = {{"code_beside_all_bytes", whole_bytes(code.beside_all_bytes)},
                         {"code_beside_half_bytes", whole_bytes(code.beside_half_bytes)}};
  std::uint64_t line = cache.fetch_bytes;
  for (std::uint64_t stride = 2 * line; stride <= 2 * runner.parameters().line_limit_bytes; stride *= 2) {
    Walk sparse = all;
    sparse.stride_bytes = static_cast<std::uint32_t>(stride);
    double beside = bytes_beside(sparse);
    // The index decides which of the two walks spreads over all sets.
    sparse.skew_bytes = sparse.stride_bytes / 2;
    beside = std::max(beside, bytes_beside(sparse));
    details.emplace_back(fmt::format("code_beside_stride_{}_bytes", stride), whole_bytes(beside));
    if (beside > limit) break;
    line = stride;
  }
  return make_line(runner, line, "constants_beside_code", std::move(details));
}

Attribute measure_constant_penalty_beside_code(ProbeRunner& runner, const Cache& cache) {
  const Walk all = walk_over_all(cache);
  WalkBesideCode walk(runner, all);
  const double loads = static_cast<double>(all.bytes) / all.stride_bytes;
  const std::vector<double> after_all = walk.cycles_beside(kMaxCodeBlocks, kEvictingPasses);
  const std::vector<double> after_less = walk.cycles_beside(kLessCodeBlocks, kEvictingPasses);
  const MissPenalty penalty = decide_constant_penalty(walk.untouched_cycles(), after_all, after_less, loads);
  return measured(runner.conditions(), std::round(penalty.cycles * 10) / 10, "cycles", penalty.interval,
                  "constants_beside_code");
}

}  // namespace gputopo::probe
