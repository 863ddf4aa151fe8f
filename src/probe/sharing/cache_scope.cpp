#include "probe/sharing/cache_scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/bench/settle.h"
#include "probe/bench/sharing_groups.h"
#include "probe/bench/sm_scope.h"
#include "probe/sharing/eviction.h"
#include "probe/sharing/survival_decision.h"

namespace gputopo::probe {
namespace {

struct CacheScopeParameters {
  // Of a program, of which the median counts, where one or two do not say it clearly of all SMs: odd.
  std::size_t copies = 3;
  // SMs that are tried in one program.
  std::uint32_t others_at_once = 16;
  // Lines that SM 0 looks at again. More: sets that evict late count less; longer.
  std::uint64_t looked_at = 256;
  // What SM 0 holds, in capacities of the caches before it, which keep some of it: less hides what is evicted.
  double of_nearer = 1.5;
  // Of the loads of a look, that come to this cache and not to those before it. Less: these keep what another SM drives
  // out, and it seems to drive out nothing.
  double least_come = 0.7;
};
constexpr CacheScopeParameters kCacheScope;

// A whole block loads at once, which takes little; caches that protect what was hit give their lines only to what one
// thread hits again.
struct EvictBy {
  StepKind kind;
  std::uint32_t touches;
};
constexpr EvictBy kEvictors[] = {{StepKind::kTouch, kEvictorTouches[0]},
                                 {StepKind::kWarm, kEvictorTouches[0]},
                                 {StepKind::kWarm, kEvictorTouches[1]}};

// Behind other caches of SM 0 all of them: fewer would stay there, whatever another SM evicts.
std::uint64_t looked_at_of(const Cache& cache, const ChaseArray& victim) {
  return cache.nearer_bytes > 0 ? victim.element_count() : std::min(victim.element_count(), kCacheScope.looked_at);
}

// SM 0 after nobody, after itself, then after the SMs from `first` on.
ChaseProgram program_against(const Cache& cache, const EvictBy& by, std::uint32_t first, std::uint32_t end) {
  const ChaseArray victim = victim_array(cache);
  const ChaseArray evictor = evictor_array(cache, by.touches, victim.bytes);
  ChaseProgram program = make_program(cache.site(), {victim, evictor}, {});
  program.exclusive = true;
  program.actors = {{.sm = 0}};
  const std::uint64_t looked_at = looked_at_of(cache, victim);
  // What is looked at is there, before each evictor again.
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

// Where the looks of program_against() stand.
constexpr std::size_t kUntouchedStep = 1;
constexpr std::size_t kEvictedStep = 3;
constexpr std::size_t step_after_other(std::size_t other) { return kEvictedStep + 3 * (other + 1); }

// Of a look's loads, those that the caches before this one do not keep; the median of the copies.
double come_to(const Cache& cache, const std::vector<ChaseResult>& copies, std::size_t step) {
  return 1 - median_hit_fraction(copies, step, cache.hit_floor_cycles());
}

// Of what SM 0 held, how much each of the SMs drove out; nothing where even SM 0 itself drives out too little.
Decision<std::vector<EvictedPart>> evicted_in(Lab& lab, const Cache& cache, const EvictBy& by, std::uint32_t first,
                                              std::uint32_t end, std::size_t copies_wanted) {
  const std::vector<ChaseResult> copies =
      lab.chase(std::vector<ChaseProgram>(copies_wanted, program_against(cache, by, first, end)));
  if (const double come = come_to(cache, copies, kUntouchedStep); come < kCacheScope.least_come) {
    return {.why_not = fmt::format("the caches before it keep {:.0f}% of what is looked at", 100 * (1 - come))};
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

Decision<std::vector<EvictedPart>> evicted_by(Lab& lab, const Cache& cache, const EvictBy& by, std::uint32_t first,
                                              std::uint32_t end) {
  return look_until_clear([&](std::size_t copies) { return evicted_in(lab, cache, by, first, end, copies); },
                          kCacheScope.copies);
}

}  // namespace

Attribute measure_cache_scope(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so nothing can be evicted from it");
  const std::uint32_t sms = lab.info().sm_count;
  if (sms < 2) throw NotSupportedError("needs a second SM to evict from");
  const std::uint64_t held = victim_array(cache).bytes;
  if (static_cast<double>(held) < kCacheScope.of_nearer * static_cast<double>(cache.nearer_bytes)) {
    throw Inconclusive(
        fmt::format("half of what fits, {} B, is hardly more than the {} B that the caches before it hold", held,
                    cache.nearer_bytes));
  }
  std::vector<EvictedPart> parts;
  const EvictBy* by = std::begin(kEvictors);
  for (std::uint32_t first = 1; first < sms; first += kCacheScope.others_at_once) {
    const std::uint32_t end = std::min(first + kCacheScope.others_at_once, sms);
    Decision<std::vector<EvictedPart>> decision = evicted_by(lab, cache, *by, first, end);
    while (!decision.value && by + 1 != std::end(kEvictors)) decision = evicted_by(lab, cache, *++by, first, end);
    const std::vector<EvictedPart> found = settle(lab, "", decision);
    parts.insert(parts.end(), found.begin(), found.end());
  }
  return scope_of_sm(lab, 0, parts);
}

}  // namespace gputopo::probe
