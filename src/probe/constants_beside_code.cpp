// A cache that constants share with instructions, beyond the 64 KiB that a program may have of constants: constants are
// walked, then code of growing length runs, and the constants are walked again. They take longer as soon as the two
// together no longer fit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/code_trial.h"
#include "probe/site.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

// Of what all the code there is evicts. The beginning: clear of the noise of a walk.
constexpr double kBegins = 0.04;
constexpr double kHalf = 0.5;
// Where sets fill unevenly half of the constants may be gone before the cache is full, but not so many.
constexpr double kMost = 0.75;
constexpr double kNearlyAll = 0.95;
// Evicted constants must take longer by this part, or the code does not reach their cache.
constexpr double kLeastWalkContrast = 0.15;

// Which constants are walked: one load every stride.
struct Walk {
  std::uint32_t bytes = 0;
  std::uint32_t stride_bytes = 0;
  std::uint32_t skew_bytes = 0;  // that the upper half is shifted by

  // Over each half of them.
  [[nodiscard]] std::vector<CodeStep> steps(std::uint32_t passes) const {
    const CodeStep lower{
        .kind = CodeStepKind::kConstants, .count = bytes / 2, .passes = passes, .stride_bytes = stride_bytes};
    CodeStep upper = lower;
    upper.first = bytes / 2 + skew_bytes;
    upper.count -= skew_bytes;
    return {lower, upper};
  }
};

// Over all the constants there may be, one load for each fetch into the cache: those between would hit nearer caches.
Walk walk_over_all(const Cache& cache) {
  return {.bytes = static_cast<std::uint32_t>(cache.site().limit_bytes),
          .stride_bytes = std::max(static_cast<std::uint32_t>(cache.fetch_bytes), kConstantStepBytes)};
}

class WalkBesideCode {
 public:
  WalkBesideCode(Lab& lab, const Walk& walk) : lab_(lab), walk_(walk) {
    untouched_ = stats::median(cycles_beside(0));
    evicted_ = stats::median(cycles_beside(kMostCodeBlocks));
    lab.log(
        fmt::format("constants: a walk every {} B (shifted by {} B) takes {:.0f} cycles, after all of the code {:.0f}",
                    walk.stride_bytes, walk.skew_bytes, untouched_, evicted_));
    if (evicted_ < (1 + kLeastWalkContrast) * untouched_) {
      throw NotSupportedError(fmt::format(
          "all {} B of constants fit, and code does not evict them: the cache is at least that large", walk.bytes));
    }
  }

  // Cycles of the walk after so much code, of each copy.
  [[nodiscard]] std::vector<double> cycles_beside(std::uint32_t blocks) {
    InstructionProgram program{.actors = {{}}, .steps = walk_.steps(2)};
    // Twice each: one pass leaves something in a cache that does not replace the oldest.
    if (blocks > 0) program.steps.push_back({.count = blocks * kCodeBlockInstructions, .passes = 2});
    const std::vector<CodeStep> again = walk_.steps(1);
    program.steps.insert(program.steps.end(), again.begin(), again.end());
    std::vector<double> cycles;
    for (const InstructionResult& result : lab_.code(std::vector<InstructionProgram>(kCodeCopies, program))) {
      double sum = 0;
      for (std::size_t i = 0; i < again.size(); ++i) {
        sum += static_cast<double>((result.pass_cycles.end() - 1 - static_cast<std::ptrdiff_t>(i))->front());
      }
      cycles.push_back(sum);
    }
    return cycles;
  }

  [[nodiscard]] double untouched() const { return untouched_; }

  // The most blocks of code, so that no more than this part of the constants is evicted.
  [[nodiscard]] std::uint32_t most_blocks(double part) {
    std::uint32_t fits = 0;
    std::uint32_t exceeds = kMostCodeBlocks;
    while (exceeds - fits > 1) {
      const std::uint32_t middle = (fits + exceeds) / 2;
      const double seen = (stats::median(cycles_beside(middle)) - untouched_) / (evicted_ - untouched_);
      (seen > part ? exceeds : fits) = middle;
    }
    return fits;
  }

 private:
  Lab& lab_;
  Walk walk_;
  double untouched_ = 0;
  double evicted_ = 0;
};

}  // namespace

Attribute measure_constant_size_beside_code(Lab& lab, const CodeSurvey& survey, const Cache& cache) {
  const Walk all = walk_over_all(cache);
  WalkBesideCode walk(lab, all);
  const auto bytes = [&](std::uint32_t blocks) { return all.bytes + std::round(blocks * survey.block_bytes); };
  const std::uint32_t fits = walk.most_blocks(kBegins);
  const std::uint32_t most = walk.most_blocks(kMost);
  const std::uint32_t nearly_all = walk.most_blocks(kNearlyAll);
  lab.log(fmt::format("constants: {} blocks of code fit beside them, most are evicted at {}, nearly all at {}", fits,
                      most, nearly_all));
  // Under LRU a walk that evicts anything evicts all of a set. Otherwise lines are left beside what evicted them, as
  // many as may go unseen. The capacity lies on the ramp.
  Attribute size =
      measured(lab.conditions(), static_cast<std::int64_t>(bytes(fits)), "B",
               stats::Interval{(1 - kBegins) * bytes(fits) - survey.block_bytes, bytes(most + 1) + survey.loop_bytes},
               "constants_beside_code");
  size.add_detail("first_miss_bytes", static_cast<std::int64_t>(bytes(fits + 1)));
  size.add_detail("all_miss_bytes", static_cast<std::int64_t>(bytes(nearly_all + 1)));
  size.add_detail("constant_bytes", static_cast<std::int64_t>(all.bytes));
  return size;
}

// Constants of which every other fetch is left out take up as much of the cache as all of them where two fetches are of
// one line, and as much as half of them where each has a line of its own: as much code fits beside them.
Line find_constant_line_beside_code(Lab& lab, const CodeSurvey& survey, const Cache& cache) {
  const Walk all = walk_over_all(cache);
  Walk half = all;
  half.bytes /= 2;
  const auto bytes_beside = [&](const Walk& walk) {
    return survey.block_bytes * WalkBesideCode(lab, walk).most_blocks(kHalf);
  };
  const double beside_all = bytes_beside(all);
  const double beside_half = bytes_beside(half);
  constexpr double kLeastRoom = 0.25;  // of the constants that are left out
  if (beside_half - beside_all < kLeastRoom * half.bytes) {
    throw Inconclusive(fmt::format("{:.0f} B of code fit beside {} B of constants and {:.0f} B beside half of them",
                                   beside_all, all.bytes, beside_half));
  }
  const auto whole = [](double bytes) { return static_cast<std::int64_t>(std::round(bytes)); };
  NamedValues details = {{"code_beside_all_bytes", whole(beside_all)}, {"code_beside_half_bytes", whole(beside_half)}};
  std::uint64_t line = cache.fetch_bytes;
  for (std::uint64_t stride = 2 * line; stride <= 2 * lab.parameters().line_limit_bytes; stride *= 2) {
    Walk sparse = all;
    sparse.stride_bytes = static_cast<std::uint32_t>(stride);
    double beside = bytes_beside(sparse);
    // Which of the two spreads over all sets depends on the index.
    sparse.skew_bytes = sparse.stride_bytes / 2;
    beside = std::max(beside, bytes_beside(sparse));
    details.emplace_back(fmt::format("code_beside_stride_{}_bytes", stride), whole(beside));
    if (beside > (beside_all + beside_half) / 2) break;
    line = stride;
  }
  return make_line(lab, line, "constants_beside_code", std::move(details));
}

// What each load of the walk takes longer once code has evicted all constants.
Attribute measure_constant_penalty_beside_code(Lab& lab, const Cache& cache) {
  const Walk all = walk_over_all(cache);
  WalkBesideCode walk(lab, all);
  const double loads = static_cast<double>(all.bytes) / all.stride_bytes;
  const auto penalties = [&](std::uint32_t blocks) {
    std::vector<double> values;
    for (const double cycles : walk.cycles_beside(blocks)) values.push_back((cycles - walk.untouched()) / loads);
    return values;
  };
  const std::vector<double> found = penalties(kMostCodeBlocks);
  const double penalty = stats::median(found);
  const stats::Interval interval = stats::mean_interval(found);
  // Where not all of it is evicted, less code evicts less.
  const double with_less_code = stats::median(penalties(3 * kMostCodeBlocks / 4));
  const double half = std::max({1.0, (interval.high - interval.low) / 2, std::abs(penalty - with_less_code)});
  return measured(lab.conditions(), std::round(penalty * 10) / 10, "cycles",
                  stats::Interval{penalty - half, penalty + half}, "constants_beside_code");
}

}  // namespace gputopo::probe
