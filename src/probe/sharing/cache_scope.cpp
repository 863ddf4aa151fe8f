#include "probe/sharing/cache_scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/bench/sharing_groups.h"
#include "probe/bench/sm_scope.h"
#include "probe/bench/value_or_throw.h"
#include "probe/sharing/eviction.h"
#include "probe/sharing/survival_decision.h"

namespace gputopo::probe {
namespace {

struct CacheScopeParameters {
  // Copies of a program, of which the median counts, if one or two do not decide clearly for all SMs. Odd.
  std::size_t copies = 3;
  // SMs tried in one program.
  std::uint32_t others_at_once = 16;
  // Lines that SM 0 looks at again. Larger values give less weight to sets that evict late; they take longer.
  std::uint64_t looked_at = 256;
  // Bytes that SM 0 must hold, in capacities of the nearer caches, which keep some. Smaller values hide evictions.
  double of_nearer = 1.5;
  // Fraction of a look's loads that must reach this cache. With less, nearer caches keep what another SM evicts.
  double least_come = 0.7;
};
constexpr CacheScopeParameters kCacheScope;

// A whole block loads quickly. Caches that protect lines that hit yield only to lines that one thread hits again.
struct EvictBy {
  StepKind kind;
  std::uint32_t touches;
};
constexpr EvictBy kEvictors[] = {{StepKind::kTouch, kEvictorTouches[0]},
                                 {StepKind::kWarm, kEvictorTouches[0]},
                                 {StepKind::kWarm, kEvictorTouches[1]}};

// Behind other caches SM 0 looks at all its lines: fewer would stay there, whatever another SM evicts.
std::uint64_t looked_at_of(const Cache& cache, const ChaseArray& victim) {
  return cache.nearer_bytes > 0 ? victim.element_count() : std::min(victim.element_count(), kCacheScope.looked_at);
}

// SM 0 looks at its lines after no eviction, after its own, and after that of each SM from `first` to before `end`.
ChaseProgram program_against(const Cache& cache, const EvictBy& by, std::uint32_t first, std::uint32_t end) {
  const ChaseArray victim = victim_array(cache);
  const ChaseArray evictor = evictor_array(cache, by.touches, victim.bytes);
  ChaseProgram program = make_program(cache.site(), {victim, evictor}, {});
  program.exclusive = true;
  program.actors = {{.sm = 0}};
  const std::uint64_t looked_at = looked_at_of(cache, victim);
  // Brings in what is looked at, before each evictor.
  const ChaseStep warm{.kind = StepKind::kWarm, .loads = 2 * looked_at};
  const ChaseStep look{.kind = StepKind::kCounted, .loads = looked_at};
  const auto evict_by = [&](std::uint32_t actor) -> ChaseStep {
    return {.kind = by.kind, .actor = actor, .array = 1, .loads = evictor.element_count()};
  };
  program.steps = {warm, look, evict_by(0), look};
  for (std::uint32_t sm = first; sm < end; ++sm) {
    program.actors.push_back({.sm = sm});
    const ChaseStep evict = evict_by(static_cast<std::uint32_t>(program.actors.size() - 1));
    program.steps.insert(program.steps.end(), {warm, evict, look});
  }
  return program;
}

// Steps of program_against() that look.
constexpr std::size_t kUntouchedStep = 1;
constexpr std::size_t kEvictedStep = 3;
constexpr std::size_t step_after_other(std::size_t other) { return kEvictedStep + 3 * (other + 1); }

// Fraction of a look's loads that the nearer caches do not keep; median of the copies.
double come_to(const Cache& cache, const std::vector<ChaseResult>& copies, std::size_t step) {
  return 1 - median_hit_fraction(copies, step, cache.hit_floor_cycles());
}

// Part of SM 0's lines that each SM evicted, relative to SM 0 itself; nothing if even SM 0 evicts too little.
Decision<std::vector<EvictedPart>> evicted_in(ProbeRunner& runner, const Cache& cache, const EvictBy& by,
                                              std::uint32_t first, std::uint32_t end, std::size_t copies_wanted) {
  const std::vector<ChaseResult> copies =
      runner.chase(std::vector<ChaseProgram>(copies_wanted, program_against(cache, by, first, end)));
  if (const double come = come_to(cache, copies, kUntouchedStep); come < kCacheScope.least_come) {
    return {.why_not =
                fmt::format("nearer caches serve {:.0f}% of the loads that should reach this cache", 100 * (1 - come))};
  }
  const auto survived = [&](std::size_t step) { return median_hit_fraction(copies, step, cache.hit_limit_cycles()); };
  const KnownSurvival known{.untouched = survived(kUntouchedStep), .evicted = survived(kEvictedStep)};
  const Decision<double> limit = survival_limit(known);
  Decision<std::vector<EvictedPart>> decision{.basis = limit.basis, .why_not = limit.why_not};
  if (!limit.value) return decision;
  decision.value.emplace();
  for (std::uint32_t sm = first; sm < end; ++sm) {
    const double left = survived(step_after_other(sm - first));
    decision.value->push_back({sm, (known.untouched - left) / (known.untouched - known.evicted)});
  }
  return decision;
}

Decision<std::vector<EvictedPart>> evicted_by(ProbeRunner& runner, const Cache& cache, const EvictBy& by,
                                              std::uint32_t first, std::uint32_t end) {
  return look_until_clear([&](std::size_t copies) { return evicted_in(runner, cache, by, first, end, copies); },
                          kCacheScope.copies);
}

}  // namespace

Attribute measure_cache_scope(ProbeRunner& runner, const Cache& cache) {
  require_exceeded(cache, "so nothing can be evicted from it");
  const std::uint32_t sms = runner.info().sm_count;
  if (sms < 2) throw NotSupportedError("this measurement needs at least two SMs");
  const std::uint64_t held = victim_array(cache).bytes;
  if (static_cast<double>(held) < kCacheScope.of_nearer * static_cast<double>(cache.nearer_bytes)) {
    throw Inconclusive(
        fmt::format("half of the footprint that fits in this cache, {} B, is not clearly more than the {} B that "
                    "nearer caches hold",
                    held, cache.nearer_bytes));
  }
  std::vector<EvictedPart> parts;
  const EvictBy* by = std::begin(kEvictors);
  for (std::uint32_t first = 1; first < sms; first += kCacheScope.others_at_once) {
    const std::uint32_t end = std::min(first + kCacheScope.others_at_once, sms);
    Decision<std::vector<EvictedPart>> decision = evicted_by(runner, cache, *by, first, end);
    while (!decision.value && by + 1 != std::end(kEvictors)) decision = evicted_by(runner, cache, *++by, first, end);
    const std::vector<EvictedPart> found = value_or_throw(runner, "", decision);
    parts.insert(parts.end(), found.begin(), found.end());
  }
  return scope_of_sm(runner, 0, parts);
}

}  // namespace gputopo::probe
