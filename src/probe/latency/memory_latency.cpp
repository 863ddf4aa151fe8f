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
  // Lines that are timed, and loaded again: they must stay in the last cache then, so no more than this part of it. Of
  // a small one half as many, on as many pages as were found not to wait for translations (translated_span.cpp).
  std::uint64_t lines = 2048;
  std::uint64_t least_lines = 128;
  std::uint64_t cache_divisor = 8;
  std::uint64_t line_bytes = 128;
  // A line that is timed and the one that brings its translation are of one page, and so far apart: less than half the
  // smallest page, and no fetch brings both.
  std::uint64_t apart_bytes = 2048;
  std::uint64_t least_apart_bytes = 512;
  // Part of the loads that may be slow once they are cached. More: misses of a TLB in the latency of memory; less: what
  // a neighbour evicts looks like them.
  double most_slow = 0.03;
  // Else over a fourth of the memory, so often at most; which is taken if it leaves this part of the slow loads: they
  // may be misses of a small cache as well, and those stay.
  std::uint32_t spans = 5;
  std::uint64_t span_divisor = 4;
  double quicker = 0.5;
  // But over no less than these lines take: fewer tell nothing.
  std::uint64_t fewest_lines = 16;
  // Where every page is too many, this much memory is used.
  std::uint64_t least_span_bytes = 256u << 20;
  // SMs that load: the nearest memory is another for each. More: a steadier mean. So many of them in one program, after
  // one eviction, each a part of the lines. More: less time, and a neighbour that meets one program spoils more of
  // them.
  std::uint32_t sms = 9;
  std::uint32_t sms_at_once = 3;
  // Where the vendor does not tell how large the last cache is, the evictor is so many times what the survey saw the
  // caches hold. More: surer, and it takes longer.
  double evictor_held = 3;
  // It is made longer as long as lines are left, up to so many times. A cache that replaces at random keeps one line in
  // twenty of what is swept with three times as much; one that the vendor does not tell of may be any size.
  std::uint32_t longest_sweep = 8;
  // Of the memory that is free, no more than this part.
  std::uint64_t memory_divisor = 4;
  // And no closer together than the shortest lines.
  std::uint64_t least_evictor_stride_bytes = 32;
  // TLB cold: the stride of pages, as an entry of the last TLB level may cover many (on an H200 a stride of 2 MiB
  // misses at one load in twenty only, one of 32 MiB at each).
  std::uint64_t cold_stride_bytes = 32u << 20;
  // Fewer pages may all have an entry.
  std::uint64_t least_cold_pages = 256;
};
constexpr MemoryLatencyParameters kMemoryLatencyParameters;

constexpr LatencyBand kEveryLoad{0, std::numeric_limits<double>::infinity()};

// That the survey saw the caches hold; 0: it does not tell.
double held_bytes(const Survey& survey) {
  if (survey.levels.size() < 2) return 0;
  try {
    return find_cache(survey, 0, true).held_bytes();
  } catch (const Inconclusive&) {
    return 0;
  }
}

// What drives lines out of the caches: sweeps of an array.
struct Evictor {
  ChaseArray array;
  std::uint32_t sweeps = 1;

  // Steps that begin with `first`, then sweep with the second array of a program.
  [[nodiscard]] std::vector<ChaseStep> after(const Site& site, const ChaseStep& first) const {
    std::vector<ChaseStep> steps(1 + sweeps, warm_step(site, array, 1));
    steps.front() = first;
    return steps;
  }
};

Evictor make_evictor(const Lab& lab, const Survey& survey, std::uint64_t stride_bytes) {
  std::uint64_t bytes = lab.last_cache_evictor_bytes();
  if (!lab.tells_last_cache()) {
    bytes = std::max(bytes, static_cast<std::uint64_t>(kMemoryLatencyParameters.evictor_held * held_bytes(survey)));
  }
  return {make_array(survey.site, bytes, stride_bytes)};
}

// So many times as long: it sweeps as often, or, where a cache that the vendor does not tell of may be larger than the
// array, it is another array. Nothing where memory does not suffice.
std::optional<Evictor> longer(const Lab& lab, const Site& site, const Evictor& evictor, std::uint32_t times) {
  if (lab.tells_last_cache()) return Evictor{evictor.array, times * evictor.sweeps};
  const std::uint64_t bytes = times * evictor.array.bytes;
  if (times > 1 && bytes > lab.info().max_array_bytes / kMemoryLatencyParameters.memory_divisor) return std::nullopt;
  return Evictor{make_array(site, bytes, evictor.array.stride_bytes)};
}

// What the caches hold, by the vendor and by what the survey shows.
std::uint64_t cached_bytes(const Lab& lab, const Survey& survey) {
  const std::uint64_t told = lab.last_cache_bytes();
  const auto held = static_cast<std::uint64_t>(held_bytes(survey));
  return held > 0 ? std::min(told, held) : told;
}

// SMs of a program that share so many lines among them; of few each takes all, in a program of its own. So does each
// where compute dies have caches of their own: an eviction by one SM leaves those of other dies as they are.
std::uint32_t sms_at_once(const Lab& lab, std::uint64_t lines) {
  const bool has_dies = lab.info().xcd_count.value_or(1) > 1;
  return has_dies || lines < kMemoryLatencyParameters.least_lines ? 1 : kMemoryLatencyParameters.sms_at_once;
}

// Lines, and another of the same page for each: first all of these in the order of the chain, then the lines, in
// another order within each SM's part.
ChaseArray lines_with_companions(const Lab& lab, const Survey& survey, std::uint64_t span_bytes) {
  const std::uint64_t room =
      cached_bytes(lab, survey) / kMemoryLatencyParameters.cache_divisor / kMemoryLatencyParameters.line_bytes;
  const std::uint64_t wanted = room >= kMemoryLatencyParameters.lines
                                   ? kMemoryLatencyParameters.lines
                                   : std::max(room / 2, kMemoryLatencyParameters.least_lines);
  const std::uint64_t apart =
      std::clamp(std::bit_floor(span_bytes / wanted / 2), kMemoryLatencyParameters.least_apart_bytes,
                 kMemoryLatencyParameters.apart_bytes);
  const auto half = static_cast<std::uint32_t>(apart / kMemoryLatencyParameters.line_bytes);
  ChaseArray array = make_array(survey.site, span_bytes, kMemoryLatencyParameters.line_bytes);
  array.order = Order::kSequential;
  std::mt19937_64 random(lab.seed());
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(random() % end); };
  // Any line of each block, or all would be of the same sets of a cache.
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
  const std::size_t part = std::max<std::size_t>(lines.size() / sms_at_once(lab, lines.size()), 1);
  for (std::size_t first = 0; first + part <= lines.size(); first += part) shuffle(first, first + part);
  array.elements.insert(array.elements.end(), lines.begin(), lines.end());
  return array;
}

// Of the lines of one SM, raw.
struct SmLoads {
  stats::Histogram from_memory;  // nothing of them was left in a cache
  stats::Histogram again;
};

// The first SM evicts. Each of `sms` loads its part of the lines when nothing of them is left in a cache, and again;
// where there are none the first does. `kind`: of both.
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

// Of each SM that loads in such a program.
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

// Where the end of the nearest cache is hidden only its own hits are known.
double limit_of_caches(const Survey& survey) {
  return is_end_hidden(survey) ? nearest_limit_cycles(survey.tiny)
                               : survey.levels[survey.levels.size() - 2].high_cycles;
}

// One as long as that or longer, which leaves nothing in the caches.
std::optional<Evictor> long_enough(Lab& lab, const Survey& survey, const ChaseArray& array, const Evictor& shortest) {
  const double limit = limit_of_caches(survey);
  std::vector<SweptLoads> found;
  // What a far part still holds does not look like hits then, so more is swept at once.
  const std::uint32_t first = is_end_hidden(survey) ? kMemoryLatencyParameters.longest_sweep / 2 : 1;
  for (std::uint32_t times = first; times <= kMemoryLatencyParameters.longest_sweep; times *= 2) {
    std::optional<Evictor> evictor = longer(lab, survey.site, shortest, times);
    if (!evictor) return std::nullopt;
    const ChaseProgram program = lines_after_eviction(survey.site, array, *evictor);
    const SmLoads loads = loads_of_sms(program, lab.chase({program}).front()).front();
    found.push_back(swept_loads(loads.from_memory, loads.again, limit));
    lab.log(fmt::format(
        "device.latency: after {} sweeps of {} B, {} B apart, {:.4f} of the loads look like hits of {} cycles, {:.4f} "
        "are in the band",
        evictor->sweeps, evictor->array.bytes, evictor->array.stride_bytes, found.back().like_hits,
        stats::histogram_quantile(loads.again, 0.5), found.back().in_band));
    if (are_evicted(found, lab.tells_last_cache())) return evictor;
    if (are_kept(found)) return std::nullopt;
  }
  return std::nullopt;
}

// One that leaves nothing in the caches: where a longer one does not help, its loads are too far apart.
Evictor find_evictor(Lab& lab, const Survey& survey, const ChaseArray& array, std::uint64_t stride_bytes) {
  for (; stride_bytes >= kMemoryLatencyParameters.least_evictor_stride_bytes; stride_bytes /= 2) {
    const auto found = long_enough(lab, survey, array, make_evictor(lab, survey, stride_bytes));
    if (found) return *found;
  }
  throw Inconclusive("loads look like hits of the last cache, however much is swept through it");
}

// Loads that no cache served, of each SM and above its limit.
LevelLatency latency_of(const Lab& lab, const Survey& survey, const std::vector<stats::Histogram>& loads,
                        const std::vector<double>& limits_cycles) {
  BandLatencies latencies;
  for (std::size_t sm = 0; sm < loads.size(); ++sm) {
    stats::accumulate(latencies.histogram, loads[sm]);
    const auto mean = timed_mean(loads[sm], limits_cycles[sm], kEveryLoad.high_cycles, survey.timer_cycles);
    if (mean) latencies.means_cycles.push_back(*mean);
  }
  if (latencies.means_cycles.empty()) throw Inconclusive("too few loads reach memory to give a latency");
  return banded_latency(lab, latencies, kEveryLoad, survey.timer_cycles, "timed_loads_after_eviction");
}

std::optional<MemorySides> sides_of(const LevelLatency& latency, double timer_cycles) {
  const std::optional<double> between = between_sides(latency.histogram);
  if (!between) return std::nullopt;
  const auto near = timed_mean(latency.histogram, 0, *between, timer_cycles);
  const auto far = timed_mean(latency.histogram, *between, kEveryLoad.high_cycles, timer_cycles);
  if (!near || !far) return std::nullopt;
  return MemorySides{*near, *far};
}

// Part of the loads of the lines that are cached again which take longer than those of a tiny array.
double slow_again(const std::vector<SmLoads>& sms, double hit_limit_cycles) {
  stats::Histogram again;
  for (const SmLoads& loads : sms) stats::accumulate(again, loads.again);
  return 1 - stats::fraction_below(again, hit_limit_cycles);
}

// The lines after eviction, from SMs spread over the chip. Loads that take longer than a histogram counts are kept.
std::vector<SmLoads> load_from_sms(Lab& lab, const Site& site, const ChaseArray& array, const Evictor& evictor) {
  const std::uint32_t at_once = sms_at_once(lab, array.chain_length() / 2);
  const auto load = [&](StepKind kind) {
    std::vector<ChaseProgram> programs;
    for (std::uint32_t i = 0; i < kMemoryLatencyParameters.sms / at_once; ++i) {
      std::vector<std::uint32_t> sms;
      for (std::uint32_t sm = i; sm < kMemoryLatencyParameters.sms; sm += kMemoryLatencyParameters.sms / at_once) {
        sms.push_back(sm * lab.info().sm_count / kMemoryLatencyParameters.sms);
      }
      // One alone evicts as well.
      programs.push_back(
          lines_after_eviction(site, array, evictor, at_once > 1 ? sms : std::vector<std::uint32_t>{}, kind));
      if (at_once == 1) programs.back().sm = sms.front();
    }
    const std::vector<ChaseResult> results = lab.chase(programs);
    std::vector<SmLoads> loads;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      std::ranges::move(loads_of_sms(programs[i], results[i]), std::back_inserter(loads));
    }
    return loads;
  };
  std::vector<SmLoads> sms = load(StepKind::kCounted);
  const auto is_told = [](const SmLoads& loads) { return are_told(loads.from_memory, kEveryLoad); };
  return std::ranges::all_of(sms, is_told) ? sms : load(StepKind::kTimed);
}

// Lines over so much memory, after eviction. Where many of them are slow even once they are cached again, they may wait
// for translations: pages at random places fill sets of a TLB that even ones do not. Then over less memory, if that is
// quicker: whether it is shows best over the least, which is loaded next.
std::vector<SmLoads> load_translated(Lab& lab, const Survey& survey, std::uint64_t span_bytes, std::uint64_t line_bytes,
                                     Evictor& evictor) {
  const auto load = [&](std::uint64_t bytes) {
    const ChaseArray array = lines_with_companions(lab, survey, bytes);
    evictor = find_evictor(lab, survey, array, line_bytes);
    std::vector<SmLoads> sms = load_from_sms(lab, survey.site, array, evictor);
    const double slow = slow_again(sms, nearest_limit_cycles(survey.tiny));
    lab.log(fmt::format("device.latency: over {} B {:.3f} of the loads are slow once they are cached", bytes, slow));
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

MemoryLatency warm_latency(Lab& lab, const Survey& survey, const MemoryQuestion& question, Evictor& evictor) {
  const std::uint64_t span =
      question.translated_bytes > 0 ? question.translated_bytes : kMemoryLatencyParameters.least_span_bytes;
  std::vector<stats::Histogram> from_memory;
  std::vector<double> limits_cycles;
  for (SmLoads& loads : load_translated(lab, survey, span, question.line_bytes, evictor)) {
    limits_cycles.push_back(hit_limit_of(loads.again, limit_of_caches(survey)));
    from_memory.push_back(std::move(loads.from_memory));
  }
  MemoryLatency latency{.warm_tlb = latency_of(lab, survey, from_memory, limits_cycles)};
  latency.sides = sides_of(latency.warm_tlb, survey.timer_cycles);
  latency.translated = question.translated_bytes > 0;
  latency.warm_tlb.waits_for_translations = !latency.translated;
  return latency;
}

// One line a page over as much memory as there is, timed in the order it was touched.
std::optional<ColdTlbLatency> cold_latency(Lab& lab, const Survey& survey, const Evictor& evictor) {
  const std::uint64_t stride = kMemoryLatencyParameters.cold_stride_bytes +
                               kMemoryLatencyParameters.line_bytes;  // not the same sets on every page
  const auto reach =
      static_cast<std::uint64_t>(lab.parameters().tlb_reach_of_free * static_cast<double>(lab.info().max_array_bytes));
  if (reach / stride < kMemoryLatencyParameters.least_cold_pages) return std::nullopt;
  const ChaseArray pages = make_array(survey.site, reach, stride);
  std::vector<ChaseStep> steps = evictor.after(survey.site, warm_step(survey.site, pages));
  steps.push_back(
      {.kind = StepKind::kCounted, .loads = std::min(lab.parameters().exclusive_loads, pages.element_count() / 2)});
  try {
    const auto results = lab.chase({make_program(survey.site, {pages, evictor.array}, std::move(steps))});
    const std::vector<stats::Histogram> loads = {loads_of(results.front().steps.back())};
    return ColdTlbLatency{latency_of(lab, survey, loads, {kEveryLoad.low_cycles}).mean.cycles, pages.bytes};
  } catch (const DeviceMemoryError& error) {
    lab.log(fmt::format("device.latency: no cold-TLB latency: {}", error.what()));
  } catch (const Inconclusive& error) {
    lab.log(fmt::format("device.latency: no cold-TLB latency: {}", error.what()));
  }
  return std::nullopt;
}

}  // namespace

MemoryLatency find_memory_latency(Lab& lab, const Survey& survey, const MemoryQuestion& question) {
  Evictor evictor = make_evictor(lab, survey, question.line_bytes);
  MemoryLatency latency;
  // Where no cache stands before memory every load goes there, and nothing need be evicted, least of all the TLBs.
  if (survey.levels.size() < 2) {
    if (lab.info().l2_bytes) throw Inconclusive("loads from memory take about as long as those from L2");
    require_apart_from_memory(survey);
    latency.warm_tlb = nearest_latency(survey);
  } else {
    latency = warm_latency(lab, survey, question, evictor);
  }
  Lab of_cold = lab.another();
  latency.cold_tlb = cold_latency(of_cold, survey, evictor);
  return latency;
}

Attribute measure_device_latency(Lab& lab, const Survey& survey, const MemoryQuestion& question) {
  return to_attribute(find_memory_latency(lab, survey, question), lab.keep_samples());
}

}  // namespace gputopo::probe
