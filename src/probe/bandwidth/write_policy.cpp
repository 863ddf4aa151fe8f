#include "probe/bandwidth/write_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "probe/bandwidth/bandwidth.h"
#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"

namespace gputopo::probe {
namespace {

struct StoresParameters {
  // Elements that are stored and then loaded to see which caches hold them: 16 KiB, so that every latency is kept and
  // a few hundred sectors vote. Small caches use fewer.
  std::uint64_t elements = 1024;
  // Divisor of what fits: the room of both parts. Larger: fewer lines vote; at 1 the last lines may not fit.
  std::uint64_t fitting_parts = 2;
  // Copies of an exclusive program; each first evicts all of L2.
  std::uint32_t exclusive_copies = 3;
  // Least number of voting lines over all copies. With random replacement, one L2 line in 20 outlives its sweep.
  std::uint64_t least_votes = 15;
  // Rounds of copies until they decide. Larger values tolerate more noise and take as many more sweeps of L2.
  std::size_t rounds = 9;
  // If a smaller part of memory loads is distinguishable from hits, later rounds compare each line with itself. Larger
  // values do that more often, which takes three sweeps.
  double nearly_all_told = 0.9;
};
constexpr StoresParameters kStores;

struct BesideReadsParameters {
  // Bytes of a stream: a few milliseconds on any GPU.
  double stream_bytes = 8e9;
  // Divisor of the cache: the part that is written repeatedly and stays in the cache while reads pass.
  std::uint64_t cache_divisor = 8;
};
constexpr BesideReadsParameters kBesideReads;

double distinguishable_misses(const Cache& cache) {
  return 1 - stats::fraction_below(cache.survey->cold, cache.hit_limit_cycles());
}

// Hit limit relative to a load from memory: halfway between the farthest hits and memory.
double hit_part(const Cache& cache) {
  const std::vector<stats::Level>& levels = cache.survey->levels;
  return (1 + levels[cache.last_level].mode_cycles / levels.back().mode_cycles) / 2;
}

// Whether near memory looks like far hits, so that the homes of the lines matter.
bool hides_memory(const Cache& cache) {
  return cache.site().exclusive && distinguishable_misses(cache) < kStores.nearly_all_told;
}

// Latencies of a timed step, counted back from the last one (0).
const std::vector<std::uint32_t>& timed_from_last(const ChaseResult& copy, std::size_t count) {
  const auto is_timed = [](const StepResult& step) { return !step.latencies.empty(); };
  auto step = std::find_if(copy.steps.rbegin(), copy.steps.rend(), is_timed);
  for (; count > 0; --count) step = std::find_if(std::next(step), copy.steps.rend(), is_timed);
  return step->latencies;
}

// An array of two equal parts of whole lines that fit together: one is stored, the other is not.
struct TwoParts {
  ChaseArray array;
  std::uint64_t elements = 0;  // of each part
  std::uint64_t per_line = 0;

  TwoParts(const Cache& cache, std::uint64_t line_bytes) {
    const std::uint64_t most = std::max(kStores.elements * kMinimumStrideBytes / line_bytes, std::uint64_t{1});
    const std::uint64_t room = cache.fits_bytes / kStores.fitting_parts;
    const std::uint64_t lines = std::clamp(room / (2 * line_bytes), std::uint64_t{1}, most);
    if (2 * lines * line_bytes > cache.fits_bytes) {
      throw Inconclusive(fmt::format("only {} B are certain to fit in this cache, which is less than two lines of {} B",
                                     cache.fits_bytes, line_bytes));
    }
    array = make_array(cache.site(), 2 * lines * line_bytes, kMinimumStrideBytes);
    per_line = line_bytes / kMinimumStrideBytes;
    elements = lines * per_line;
  }

  [[nodiscard]] std::uint64_t lines() const { return elements / per_line; }
  [[nodiscard]] ChaseStep stored(StepKind kind, std::uint32_t index = 0) const {
    return {.kind = kind, .array = index, .loads = elements};
  }
  [[nodiscard]] ChaseStep unstored(std::uint32_t index = 0) const {
    return {.kind = StepKind::kTimed, .array = index, .loads = elements, .first = elements};
  }

  // Part of the lines that the cache holds according to timed step `timed`, counted back from the last; median over
  // the copies. `cold`: a step that loads the same lines from memory, to compare with.
  [[nodiscard]] double hits(const std::vector<ChaseResult>& copies, const Cache& of, std::size_t timed,
                            std::optional<std::size_t> cold = std::nullopt) const {
    const auto part_of = [&](const ChaseResult& copy) {
      const std::vector<std::uint32_t>& latencies = timed_from_last(copy, timed);
      if (!cold) return part_of_lines(latencies, per_line, of.hit_limit_cycles(), distinguishable_misses(of));
      return part_quicker(latencies, timed_from_last(copy, *cold), per_line, hit_part(of));
    };
    std::vector<double> parts;
    for (const ChaseResult& copy : copies) parts.push_back(part_of(copy));
    return stats::median(parts);
  }

  // The same for lines that `of` holds whole.
  [[nodiscard]] double whole(const std::vector<ChaseResult>& copies, const Cache& of, std::size_t timed) const {
    const std::uint64_t per_fetch = std::min(per_line, of.fetch_bytes / kMinimumStrideBytes);
    std::vector<double> parts;
    for (const ChaseResult& copy : copies) {
      parts.push_back(part_of_whole_lines(timed_from_last(copy, timed), per_line, per_fetch, of.hit_limit_cycles()));
    }
    return stats::median(parts);
  }

  [[nodiscard]] ChaseProgram program(const Site& site, std::vector<ChaseArray> arrays,
                                     std::vector<ChaseStep> steps) const {
    ChaseProgram result = make_program(site, std::move(arrays), std::move(steps));
    result.timed_cap = static_cast<std::uint32_t>(elements);
    return result;
  }
};

std::uint64_t line_of(const Cache& cache) { return cache.line_or_fetch_bytes(); }

std::vector<ChaseProgram> copies_of(const ProbeRunner& runner, const ChaseProgram& program, std::uint64_t lines) {
  const std::uint64_t copies = program.exclusive ? kStores.exclusive_copies : runner.parameters().copies;
  return std::vector<ChaseProgram>(std::max(copies, (kStores.least_votes + lines - 1) / lines), program);
}

// A question to copies of a program.
template <typename Decided>
struct Question {
  std::function<ChaseProgram(std::size_t sweeps)> program;
  std::function<Decided(const std::vector<ChaseResult>& copies)> decide;
};

// Runs rounds of copies until they decide. `lines` lines vote in each copy. A round adds copies, because most of a few
// may be disturbed, and sweeps L2 once more, because with random replacement some lines outlive a sweep. From the
// second round on, `surer` replaces `first` if it is set.
template <typename Decided>
auto decided(ProbeRunner& runner, std::string_view method, std::uint64_t lines, const Question<Decided>& first,
             const std::optional<Question<Decided>>& surer) {
  std::vector<ChaseResult> copies;
  for (std::size_t round = 1;; ++round) {
    const bool is_surer = round > 1 && surer;
    if (round == 2 && surer) copies.clear();
    const Question<Decided>& question = is_surer ? *surer : first;
    for (ChaseResult& copy : runner.chase(copies_of(runner, question.program(round), lines)))
      copies.push_back(std::move(copy));
    Decided decision = question.decide(copies);
    if (decision.value || round == kStores.rounds) return value_or_throw(runner, method, std::move(decision));
  }
}

// Evicts all other arrays from L2, whatever lies behind it.
ChaseArray l2_evictor(const ProbeRunner& runner, const Cache& l2) {
  auto l2_bytes = static_cast<double>(runner.info().l2_bytes.value_or(0));
  l2_bytes = std::max(l2_bytes, l2.size_bytes.value_or(0));
  if (l2_bytes == 0) l2_bytes = static_cast<double>(runner.parameters().l2_guess_bytes);
  const double bytes = runner.parameters().last_cache_evictor_factor * l2_bytes;
  return make_array(l2.site(), static_cast<std::uint64_t>(bytes), line_of(l2));
}

}  // namespace

Attribute measure_write_allocate(ProbeRunner& runner, const Cache& cache) {
  using Allocation = Question<Decision<StoreTreatment>>;
  const Site& site = cache.site();
  const TwoParts parts(cache, line_of(cache));
  // No SM has the arrays of a new program in a cache; the program evicts what SMs share first.
  std::vector<ChaseArray> arrays = {parts.array};
  if (site.exclusive) arrays.push_back(l2_evictor(runner, cache));
  const std::vector<ChaseStep> stores_and_loads = {parts.stored(StepKind::kStore), parts.stored(StepKind::kTimed),
                                                   parts.stored(StepKind::kStore), parts.stored(StepKind::kTimed)};
  const auto program_of = [&](std::size_t sweeps, const std::vector<ChaseStep>& before) {
    std::vector<ChaseStep> steps;
    for (const ChaseStep& step : before) {
      if (site.exclusive) steps.insert(steps.end(), sweeps, warm_step(site, arrays.back(), 1));
      steps.push_back(step);
    }
    steps.insert(steps.end(), stores_and_loads.begin(), stores_and_loads.end());
    return parts.program(site, arrays, std::move(steps));
  };
  const Allocation first{[&](std::size_t sweeps) { return program_of(sweeps, {parts.unstored()}); },
                         [&](const std::vector<ChaseResult>& copies) {
                           return decide_allocation({.unstored = parts.hits(copies, cache, 2),
                                                     .stored = parts.hits(copies, cache, 1),
                                                     .stored_again = parts.hits(copies, cache, 0)});
                         }};
  std::optional<Allocation> surer;
  if (hides_memory(cache)) {
    const ChaseStep cold = parts.stored(StepKind::kTimed);
    // The second load shows whether a sweep leaves lines; the third sweep precedes the stores.
    surer = Allocation{[&, cold](std::size_t sweeps) {
                         return program_of(sweeps, {cold, cold, parts.unstored()});
                       },
                       [&](const std::vector<ChaseResult>& copies) {
                         return decide_allocation({.unstored = parts.hits(copies, cache, 3, 4),
                                                   .stored = parts.hits(copies, cache, 1, 4),
                                                   .stored_again = parts.hits(copies, cache, 0, 4)});
                       }};
  }
  const StoreTreatment treatment = decided(runner, "stores", parts.lines(), first, surer);
  Attribute attribute = measured(runner.conditions(), treatment.allocates, "", std::nullopt, "loads_after_stores");
  if (treatment.keeps_hits) attribute.add_detail("store_hit", std::string(*treatment.keeps_hits ? "kept" : "evicted"));
  return attribute;
}

Attribute measure_write_policy(ProbeRunner& runner, const Cache& l1, const Cache& l2) {
  using Passing = Question<Decision<WritePolicy>>;
  const TwoParts parts(l1, std::max(line_of(l1), l2.fetch_bytes));
  ChaseArray past_l1 = parts.array;
  past_l1.space = l2.site().space;
  past_l1.alias_of = 0;
  const std::vector<ChaseArray> arrays = {parts.array, past_l1, l2_evictor(runner, l2)};
  const auto program_of = [&](std::size_t sweeps, std::vector<ChaseStep> steps) {
    steps.push_back({.kind = StepKind::kWarm, .loads = parts.array.element_count()});
    steps.insert(steps.end(), sweeps, warm_step(l2.site(), arrays[2], 2));
    steps.insert(steps.end(), {parts.stored(StepKind::kTimed), parts.unstored(1), parts.stored(StepKind::kStore),
                               parts.stored(StepKind::kTimed, 1)});
    return parts.program(l2.site(), arrays, std::move(steps));
  };
  const Passing first{[&](std::size_t sweeps) { return program_of(sweeps, {}); },
                      [&](const std::vector<ChaseResult>& copies) {
                        return decide_passing_on({.in_l1 = parts.whole(copies, l1, 2),
                                                  .unstored = parts.hits(copies, l2, 1),
                                                  .stored_in_l2 = parts.hits(copies, l2, 0)});
                      }};
  std::optional<Passing> surer;
  if (hides_memory(l2)) {
    // Neither part is in a cache yet.
    surer = Passing{[&](std::size_t sweeps) {
                      return program_of(sweeps, {parts.stored(StepKind::kTimed, 1), parts.unstored(1)});
                    },
                    [&](const std::vector<ChaseResult>& copies) {
                      return decide_passing_on({.in_l1 = parts.whole(copies, l1, 2),
                                                .unstored = parts.hits(copies, l2, 1, 3),
                                                .stored_in_l2 = parts.hits(copies, l2, 0, 4)});
                    }};
  }
  const WritePolicy policy = decided(runner, "stores to L1", parts.lines(), first, surer);
  return measured(runner.conditions(), std::string(to_string(policy)), "", std::nullopt, "loads_past_l1_after_stores");
}

Attribute measure_write_policy_beside_reads(ProbeRunner& runner, Space space, std::uint64_t cache_bytes,
                                            std::uint64_t memory_bytes, double memory_bytes_per_second) {
  // The part that is written, and also read when nothing comes from memory.
  const std::uint64_t part = std::bit_floor(cache_bytes / kBesideReads.cache_divisor);
  // Bytes per second of the reads alone.
  const auto rate = [&](StreamOp op, std::uint64_t bytes, std::uint64_t write_span_bytes) {
    StreamProgram program{.op = op, .space = space, .bytes = bytes, .write_span_bytes = write_span_bytes};
    program.repeats = static_cast<std::uint32_t>(std::max(1.0, kBesideReads.stream_bytes / static_cast<double>(bytes)));
    return median_bandwidth(runner, program) / (op == StreamOp::kCopy ? 2 : 1);
  };
  ReadRates rates;
  rates.alone = rate(StreamOp::kRead, memory_bytes, 0);
  rates.in_cache = rate(StreamOp::kCopy, part, 0);
  rates.with_memory_writes = rate(StreamOp::kCopy, memory_bytes, 0);
  rates.with_cache_writes = rate(StreamOp::kCopy, memory_bytes, part);
  const WritePolicy policy =
      value_or_throw(runner, "stores", policy_by_read_interference(rates, memory_bytes_per_second));
  Attribute attribute = measured(runner.conditions(), std::string(to_string(policy)), "", std::nullopt,
                                 "reads_from_memory_beside_writes");
  attribute.details = {{"read_bytes_per_second", std::round(rates.alone)},
                       {"read_beside_memory_writes_bytes_per_second", std::round(rates.with_memory_writes)},
                       {"read_beside_cached_writes_bytes_per_second", std::round(rates.with_cache_writes)},
                       {"copy_within_cache_bytes_per_second", std::round(rates.in_cache)}};
  return attribute;
}

Attribute write_policy_by_bandwidth(double written, double next) {
  const Decision<WritePolicy> decision = policy_by_bandwidth(written, next);
  if (!decision.value) throw NotSupportedError(decision.why_not);
  Attribute attribute = inferred_value(std::string(to_string(*decision.value)), "", "write_bandwidth_against_memory");
  attribute.add_detail("times_memory_bandwidth", rounded(written / next));
  return attribute;
}

}  // namespace gputopo::probe
