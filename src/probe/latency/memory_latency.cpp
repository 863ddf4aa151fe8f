#include "probe/latency/memory_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <random>
#include <span>

#include "probe/bench/intervals.h"
#include "probe/latency/attribute.h"
#include "probe/latency/latency.h"
#include "probe/latency/memory_latency_decision.h"
#include "probe/survey/sweep_decision.h"

namespace gputopo::probe {
namespace {

struct MemoryLatencyParameters {
  // Timed lines. They are loaded again and must still be in the last cache, so they take at most this part of it; half
  // as many in a small cache, on as many pages as do not wait for translations (translated_span.cpp).
  std::uint64_t lines = 2048;
  std::uint64_t least_lines = 128;
  std::uint64_t cache_divisor = 8;
  std::uint64_t line_bytes = 128;
  // Distance of a timed line from the line that brings its translation: less than half the smallest page, so that both
  // are in one page, and so far that no fetch brings both.
  std::uint64_t apart_bytes = 2048;
  std::uint64_t least_apart_bytes = 512;
  // Part of the loads that may be slow once they are cached. Larger values let TLB misses into the latency of memory;
  // smaller values take a neighbor's evictions for TLB misses.
  double most_slow = 0.03;
  // If more are slow, spans of memory are tried that are smaller by this divisor each, at most `spans` in all. The
  // smallest must leave less than `quicker` of the slow loads, because misses of a small cache would stay.
  std::uint32_t spans = 5;
  std::uint64_t span_divisor = 4;
  double quicker = 0.5;
  // Lines for which the smallest span has room; fewer prove nothing.
  std::uint64_t fewest_lines = 16;
  // Span of the lines if even a few pages wait for translations.
  std::uint64_t least_span_bytes = 256u << 20;
  // SMs that load, because each has other memory near it; `sms_at_once` of them share the lines of a program after one
  // eviction. More SMs steady the mean. More at once take less time, but a neighbor spoils more of them together.
  std::uint32_t sms = 9;
  std::uint32_t sms_at_once = 3;
  // Evictor size in sizes of what the survey saw the caches hold, if the vendor does not report the last cache. Larger
  // values are safer and take longer.
  double evictor_held = 3;
  // Largest factor by which the sweep grows while lines are left. A cache with random replacement keeps one line in
  // twenty after a sweep of three times its size; a cache that the vendor does not report may have any size.
  std::uint32_t longest_sweep = 8;
  // Divisor of the free memory: the evictor takes at most this part of it.
  std::uint64_t memory_divisor = 4;
  // Shortest stride of the evictor: the shortest lines.
  std::uint64_t least_evictor_stride_bytes = 32;
  // Stride of the pages for a cold TLB, because an entry of the last TLB level may cover many pages (on an H200, only
  // one load in twenty misses at a stride of 2 MiB, but every load at 32 MiB).
  std::uint64_t cold_stride_bytes = 32u << 20;
  // Fewer pages might all have an entry.
  std::uint64_t least_cold_pages = 256;
};
constexpr MemoryLatencyParameters kMemoryLatencyParameters;

constexpr LatencyBand kEveryLoad{0, std::numeric_limits<double>::infinity()};

// Bytes that the survey saw the caches hold; 0: unknown.
double held_bytes(const Survey& survey) {
  if (survey.levels.size() < 2) return 0;
  try {
    return find_cache(survey, 0, survey.levels.size() - 2).held_bytes();
  } catch (const Inconclusive&) {
    return 0;
  }
}

// Evicts lines from the caches by sweeping an array.
struct Evictor {
  ChaseArray array;
  std::uint32_t sweeps = 1;

  // Steps that begin with `first`, then sweep the second array of the program.
  [[nodiscard]] std::vector<ChaseStep> after(const Site& site, const ChaseStep& first) const {
    std::vector<ChaseStep> steps(1 + sweeps, warm_step(site, array, 1));
    steps.front() = first;
    return steps;
  }
};

Evictor make_evictor(const ProbeRunner& runner, const Survey& survey, std::uint64_t stride_bytes) {
  std::uint64_t bytes = runner.last_cache_evictor_bytes();
  if (!runner.is_last_cache_reported()) {
    bytes = std::max(bytes, static_cast<std::uint64_t>(kMemoryLatencyParameters.evictor_held * held_bytes(survey)));
  }
  return {make_array(survey.site, bytes, stride_bytes)};
}

// An evictor that is `times` times as long: more sweeps, or a larger array if the last cache has no reported size and
// may exceed the array. Empty if there is too little memory.
std::optional<Evictor> longer(const ProbeRunner& runner, const Site& site, const Evictor& evictor,
                              std::uint32_t times) {
  if (runner.is_last_cache_reported()) return Evictor{evictor.array, times * evictor.sweeps};
  const std::uint64_t bytes = times * evictor.array.bytes;
  if (times > 1 && bytes > runner.info().max_array_bytes / kMemoryLatencyParameters.memory_divisor) return std::nullopt;
  return Evictor{make_array(site, bytes, evictor.array.stride_bytes)};
}

// Bytes that the caches hold, by the vendor and by the survey.
std::uint64_t cached_bytes(const ProbeRunner& runner, const Survey& survey) {
  const std::uint64_t told = runner.last_cache_bytes();
  const auto held = static_cast<std::uint64_t>(held_bytes(survey));
  return held > 0 ? std::min(told, held) : told;
}

// SMs of a program, which share its lines. Few lines go to one SM per program. So do all lines if compute dies have
// their own caches, because an eviction by one SM does not reach the caches of other dies.
std::uint32_t sms_at_once(const ProbeRunner& runner, std::uint64_t lines) {
  const bool has_dies = runner.info().xcd_count.value_or(1) > 1;
  return has_dies || lines < kMemoryLatencyParameters.least_lines ? 1 : kMemoryLatencyParameters.sms_at_once;
}

// Lines, each with a companion of the same page: first all companions in the order of the chain, then the lines, in
// another order within the part of each SM.
ChaseArray lines_with_companions(const ProbeRunner& runner, const Survey& survey, std::uint64_t span_bytes) {
  const std::uint64_t room =
      cached_bytes(runner, survey) / kMemoryLatencyParameters.cache_divisor / kMemoryLatencyParameters.line_bytes;
  const std::uint64_t wanted = room >= kMemoryLatencyParameters.lines
                                   ? kMemoryLatencyParameters.lines
                                   : std::max(room / 2, kMemoryLatencyParameters.least_lines);
  const std::uint64_t apart =
      std::clamp(std::bit_floor(span_bytes / wanted / 2), kMemoryLatencyParameters.least_apart_bytes,
                 kMemoryLatencyParameters.apart_bytes);
  const auto half = static_cast<std::uint32_t>(apart / kMemoryLatencyParameters.line_bytes);
  ChaseArray array = make_array(survey.site, span_bytes, kMemoryLatencyParameters.line_bytes);
  array.order = Order::kSequential;
  std::mt19937_64 random(runner.seed());
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(random() % end); };
  // A random line of each block, because otherwise all would be in the same sets of a cache.
  std::vector<std::uint32_t> lines;
  for (std::uint32_t first = 0; first + 2 * half <= array.element_count(); first += 2 * half) {
    lines.push_back(first + below(2 * half));
  }
  const auto shuffle = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = end - begin; i > 1; --i) std::swap(lines[begin + i - 1], lines[begin + below(i)]);
  };
  shuffle(0, lines.size());
  lines.resize(std::min<std::size_t>(lines.size(), wanted));
  for (const std::uint32_t line : lines) array.elements.push_back(line ^ half);
  const std::size_t part = std::max<std::size_t>(lines.size() / sms_at_once(runner, lines.size()), 1);
  for (std::size_t first = 0; first + part <= lines.size(); first += part) shuffle(first, first + part);
  array.elements.insert(array.elements.end(), lines.begin(), lines.end());
  return array;
}

// Raw latencies of the lines of one SM.
struct SmLoads {
  stats::Histogram from_memory;  // no cache held any of the lines
  stats::Histogram again;
};

// The first SM evicts. Then each of `sms` loads its part of the lines, of which no cache holds any, and again; without
// `sms` the first SM does. `kind`: of both loads.
ChaseProgram lines_after_eviction(const Site& site, const ChaseArray& array, const Evictor& evictor,
                                  std::span<const std::uint32_t> sms = {}, StepKind kind = StepKind::kCounted) {
  const std::uint64_t lines = array.chain_length() / 2;
  ChaseProgram program = make_program(site, {array, evictor.array},
                                      evictor.after(site, {.kind = StepKind::kTouchChain, .loads = 2 * lines}));
  if (!sms.empty()) program.actors = {{.sm = 0}};
  for (const std::uint32_t sm : sms) program.actors.push_back({.sm = sm});
  const std::uint32_t first_actor = sms.empty() ? 0 : 1;
  const std::uint64_t part = lines / (program.actors.size() - first_actor);
  for (std::uint32_t actor = first_actor; actor < program.actors.size(); ++actor) {
    const std::uint64_t first = (actor - first_actor) * part;
    program.steps.push_back({.kind = StepKind::kWarm, .actor = actor, .loads = part, .first = first});
    program.steps.insert(program.steps.end(), 2, {.kind = kind, .actor = actor, .loads = part, .first = lines + first});
  }
  if (keeps_latencies(kind)) program.timed_cap = static_cast<std::uint32_t>(part);
  return program;
}

stats::Histogram loads_of(const StepResult& step) {
  return step.latencies.empty() ? step.histogram : histogram_of(step.latencies);
}

// The loads of each SM that loads in such a program.
std::vector<SmLoads> loads_of_sms(const ChaseProgram& program, const ChaseResult& result) {
  constexpr std::size_t kStepsOfSm = 3;
  const std::size_t sms = std::max<std::size_t>(program.actors.size() - 1, 1);
  const std::span<const StepResult> steps = std::span(result.steps).last(kStepsOfSm * sms);
  std::vector<SmLoads> loads;
  for (std::size_t step = 0; step < steps.size(); step += kStepsOfSm) {
    loads.push_back({loads_of(steps[step + 1]), loads_of(steps[step + 2])});
  }
  return loads;
}

// If the end of the nearest cache is hidden, only its own hits are known.
double limit_of_caches(const Survey& survey) {
  return is_end_hidden(survey) ? nearest_limit_cycles(survey.tiny)
                               : survey.levels[survey.levels.size() - 2].high_cycles;
}

// An evictor as long as `shortest` or longer that leaves nothing in the caches.
std::optional<Evictor> long_enough(ProbeRunner& runner, const Survey& survey, const ChaseArray& array,
                                   const Evictor& shortest) {
  const double limit = limit_of_caches(survey);
  std::vector<SweptLoads> found;
  // Lines left in a far part do not look like hits then, so the first sweep is longer.
  const std::uint32_t first = is_end_hidden(survey) ? kMemoryLatencyParameters.longest_sweep / 2 : 1;
  for (std::uint32_t times = first; times <= kMemoryLatencyParameters.longest_sweep; times *= 2) {
    std::optional<Evictor> evictor = longer(runner, survey.site, shortest, times);
    if (!evictor) return std::nullopt;
    const ChaseProgram program = lines_after_eviction(survey.site, array, *evictor);
    const SmLoads loads = loads_of_sms(program, runner.chase({program}).front()).front();
    found.push_back(swept_loads(loads.from_memory, loads.again, limit));
    runner.log(fmt::format(
        "device.latency: after {} sweeps over {} B at a stride of {} B, a fraction of {:.4f} of the loads "
        "looks like cache hits ({} cycles), and a fraction of {:.4f} takes less than the survey's limit for cache hits",
        evictor->sweeps, evictor->array.bytes, evictor->array.stride_bytes, found.back().like_hits,
        stats::histogram_quantile(loads.again, 0.5), found.back().in_band));
    if (are_evicted(found, runner.is_last_cache_reported())) return evictor;
    if (are_kept(found)) return std::nullopt;
  }
  return std::nullopt;
}

// An evictor that leaves nothing in the caches. If a longer one does not help, its loads are too far apart.
Evictor find_evictor(ProbeRunner& runner, const Survey& survey, const ChaseArray& array, std::uint64_t stride_bytes) {
  for (; stride_bytes >= kMemoryLatencyParameters.least_evictor_stride_bytes; stride_bytes /= 2) {
    const auto found = long_enough(runner, survey, array, make_evictor(runner, survey, stride_bytes));
    if (found) return *found;
  }
  throw Inconclusive(
      "no sweep evicted all tested lines from the last cache: some loads of these lines still look like hits");
}

// Latency of loads that no cache served: for each SM, those above its limit.
LevelLatency latency_of(const ProbeRunner& runner, const Survey& survey, const std::vector<stats::Histogram>& loads,
                        const std::vector<double>& limits_cycles) {
  BandLatencies latencies;
  for (std::size_t sm = 0; sm < loads.size(); ++sm) {
    stats::accumulate(latencies.histogram, loads[sm]);
    const auto mean = timed_mean(loads[sm], limits_cycles[sm], kEveryLoad.high_cycles, survey.timer_cycles);
    if (mean) latencies.means_cycles.push_back(*mean);
  }
  if (latencies.means_cycles.empty()) throw Inconclusive("too few loads reach memory to measure their latency");
  return banded_latency(runner, latencies, kEveryLoad, survey.timer_cycles, "timed_loads_after_eviction");
}

std::optional<MemorySides> sides_of(const LevelLatency& latency, double timer_cycles) {
  const std::optional<double> between = near_far_boundary(latency.histogram);
  if (!between) return std::nullopt;
  const auto near = timed_mean(latency.histogram, 0, *between, timer_cycles);
  const auto far = timed_mean(latency.histogram, *between, kEveryLoad.high_cycles, timer_cycles);
  if (!near || !far) return std::nullopt;
  return MemorySides{*near, *far};
}

// Part of the loads of lines that are cached again which take longer than loads of a tiny array.
double slow_again(const std::vector<SmLoads>& sms, double hit_limit_cycles) {
  stats::Histogram again;
  for (const SmLoads& loads : sms) stats::accumulate(again, loads.again);
  return 1 - stats::fraction_below(again, hit_limit_cycles);
}

// Loads the lines after eviction, from SMs spread over the chip. Keeps latencies that exceed the range of a histogram.
std::vector<SmLoads> load_from_sms(ProbeRunner& runner, const Site& site, const ChaseArray& array,
                                   const Evictor& evictor) {
  const std::uint32_t at_once = sms_at_once(runner, array.chain_length() / 2);
  const auto load = [&](StepKind kind) {
    std::vector<ChaseProgram> programs;
    for (std::uint32_t i = 0; i < kMemoryLatencyParameters.sms / at_once; ++i) {
      std::vector<std::uint32_t> sms;
      for (std::uint32_t sm = i; sm < kMemoryLatencyParameters.sms; sm += kMemoryLatencyParameters.sms / at_once) {
        sms.push_back(sm * runner.info().sm_count / kMemoryLatencyParameters.sms);
      }
      // A single SM also evicts.
      programs.push_back(
          lines_after_eviction(site, array, evictor, at_once > 1 ? sms : std::vector<std::uint32_t>{}, kind));
      if (at_once == 1) programs.back().sm = sms.front();
    }
    const std::vector<ChaseResult> results = runner.chase(programs);
    std::vector<SmLoads> loads;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      std::ranges::move(loads_of_sms(programs[i], results[i]), std::back_inserter(loads));
    }
    return loads;
  };
  std::vector<SmLoads> sms = load(StepKind::kCounted);
  const auto is_told = [](const SmLoads& loads) { return are_resolved(loads.from_memory, kEveryLoad); };
  return std::ranges::all_of(sms, is_told) ? sms : load(StepKind::kTimed);
}

// Loads lines that span this much memory, after eviction. If many are slow even once they are cached again, they may
// wait for translations: pages at random places fill sets of a TLB that regular ones do not. Then a smaller span is
// used if it is faster. The smallest span shows best whether it is, so it is tried first.
std::vector<SmLoads> load_translated(ProbeRunner& runner, const Survey& survey, std::uint64_t span_bytes,
                                     std::uint64_t line_bytes, Evictor& evictor) {
  const auto load = [&](std::uint64_t bytes) {
    const ChaseArray array = lines_with_companions(runner, survey, bytes);
    evictor = find_evictor(runner, survey, array, line_bytes);
    std::vector<SmLoads> sms = load_from_sms(runner, survey.site, array, evictor);
    const double slow = slow_again(sms, nearest_limit_cycles(survey.tiny));
    runner.log(
        fmt::format("device.latency: in a footprint of {} B, a fraction of {:.3f} of the loads is slow although their "
                    "lines are cached",
                    bytes, slow));
    return std::pair(std::move(sms), slow);
  };
  auto [all, slow] = load(span_bytes);
  if (slow <= kMemoryLatencyParameters.most_slow) return all;
  std::uint64_t least_bytes = span_bytes;
  for (std::uint32_t i = 1; i < kMemoryLatencyParameters.spans; ++i) {
    const std::uint64_t less = least_bytes / kMemoryLatencyParameters.span_divisor;
    if (less < 2 * kMemoryLatencyParameters.least_apart_bytes * kMemoryLatencyParameters.fewest_lines) break;
    least_bytes = less;
  }
  auto [least, least_slow] = load(least_bytes);
  if (least_slow >= kMemoryLatencyParameters.quicker * slow) return all;
  for (std::uint64_t bytes = span_bytes / kMemoryLatencyParameters.span_divisor; bytes > least_bytes;
       bytes /= kMemoryLatencyParameters.span_divisor) {
    auto [some, some_slow] = load(bytes);
    if (some_slow <= kMemoryLatencyParameters.most_slow) return some;
  }
  return least;
}

MemoryLatency warm_latency(ProbeRunner& runner, const Survey& survey, const MemoryQuestion& question,
                           Evictor& evictor) {
  const std::uint64_t span =
      question.translated_bytes > 0 ? question.translated_bytes : kMemoryLatencyParameters.least_span_bytes;
  std::vector<stats::Histogram> from_memory;
  std::vector<double> limits_cycles;
  for (SmLoads& loads : load_translated(runner, survey, span, question.line_bytes, evictor)) {
    limits_cycles.push_back(hit_limit_of(loads.again, limit_of_caches(survey)));
    from_memory.push_back(std::move(loads.from_memory));
  }
  MemoryLatency latency{.warm_tlb = latency_of(runner, survey, from_memory, limits_cycles)};
  latency.sides = sides_of(latency.warm_tlb, survey.timer_cycles);
  latency.translated = question.translated_bytes > 0;
  latency.warm_tlb.waits_for_translations = !latency.translated;
  return latency;
}

// One line per page over as much memory as possible, timed in the order in which they were touched.
std::optional<ColdTlbLatency> cold_latency(ProbeRunner& runner, const Survey& survey, const Evictor& evictor) {
  const std::uint64_t stride =
      kMemoryLatencyParameters.cold_stride_bytes + kMemoryLatencyParameters.line_bytes;  // other sets on every page
  const auto reach = static_cast<std::uint64_t>(runner.parameters().tlb_reach_of_free *
                                                static_cast<double>(runner.info().max_array_bytes));
  if (reach / stride < kMemoryLatencyParameters.least_cold_pages) return std::nullopt;
  const ChaseArray pages = make_array(survey.site, reach, stride);
  std::vector<ChaseStep> steps = evictor.after(survey.site, warm_step(survey.site, pages));
  steps.push_back(
      {.kind = StepKind::kCounted, .loads = std::min(runner.parameters().exclusive_loads, pages.element_count() / 2)});
  try {
    const auto results = runner.chase({make_program(survey.site, {pages, evictor.array}, std::move(steps))});
    const std::vector<stats::Histogram> loads = {loads_of(results.front().steps.back())};
    return ColdTlbLatency{latency_of(runner, survey, loads, {kEveryLoad.low_cycles}).mean.cycles, pages.bytes};
  } catch (const DeviceMemoryError& error) {
    runner.log(fmt::format("device.latency: the cold-TLB latency is unknown: {}", error.what()));
  } catch (const Inconclusive& error) {
    runner.log(fmt::format("device.latency: the cold-TLB latency is unknown: {}", error.what()));
  }
  return std::nullopt;
}

}  // namespace

MemoryLatency find_memory_latency(ProbeRunner& runner, const Survey& survey, const MemoryQuestion& question) {
  Evictor evictor = make_evictor(runner, survey, question.line_bytes);
  MemoryLatency latency;
  // Without a cache before memory every load goes there, and nothing needs to be evicted, least of all the TLBs.
  if (survey.levels.size() < 2) {
    if (runner.info().l2_bytes) throw Inconclusive("loads from memory take about as long as those from L2");
    require_apart_from_memory(survey);
    latency.warm_tlb = nearest_latency(survey);
  } else {
    latency = warm_latency(runner, survey, question, evictor);
  }
  ProbeRunner of_cold = runner.another();
  latency.cold_tlb = cold_latency(of_cold, survey, evictor);
  return latency;
}

Attribute measure_device_latency(ProbeRunner& runner, const Survey& survey, const MemoryQuestion& question) {
  return to_attribute(find_memory_latency(runner, survey, question), runner.keep_samples());
}

}  // namespace gputopo::probe
