// Latency of device memory. A larger array in between evicts from the caches what is timed, so every load goes to
// memory and no band of latencies need be cut out (a far L2 hit may be slower than near memory). That nothing is left
// is checked: by loading the same lines again, which are hits then, and by sweeping the caches once more.
//
// What fools it: see memory_latency_decision.h; and pages that lose their translations to the evictor. So another line
// of each is loaded first.
#include <fmt/format.h>

#include <bit>
#include <functional>
#include <limits>
#include <random>

#include "probe/intervals.h"
#include "probe/latency.h"
#include "probe/memory_latency_decision.h"

namespace gputopo::probe {
namespace {

struct MemoryLatencyParameters {
  // Lines that are timed, and loaded again: they must stay in the last cache then, so no more than this part of it.
  std::uint64_t lines = 2048;
  std::uint64_t least_lines = 128;
  std::uint64_t cache_divisor = 8;
  std::uint64_t line_bytes = 128;
  // A line that is timed and the one that brings its translation are of one page, and so far apart: less than half the
  // smallest page, and no fetch brings both.
  std::uint64_t apart_bytes = 2048;
  std::uint64_t least_apart_bytes = 512;
  // Where every page is too many, this much memory is used.
  std::uint64_t least_span_bytes = 256u << 20;
  // SMs that load: the nearest memory is another for each. More: a steadier mean; each evicts L2 once.
  std::uint32_t sms = 9;
  // Sweeps of the evictor that are tried. A cache that replaces at random keeps one line in twenty of each.
  std::uint32_t most_sweeps = 8;
  // And no closer together than the shortest lines.
  std::uint64_t least_evictor_stride_bytes = 32;
  // TLB cold: the stride of pages, as an entry of the last TLB level may cover many (on an H200 a stride of 2 MiB
  // misses at one load in twenty only, one of 32 MiB at each).
  std::uint64_t cold_stride_bytes = 32u << 20;
  // Fewer pages may all have an entry.
  std::uint64_t least_cold_pages = 256;
};
constexpr MemoryLatencyParameters kParameters;

constexpr LatencyBand kEveryLoad{0, std::numeric_limits<double>::infinity()};

// What drives lines out of the caches.
struct Evictor {
  ChaseArray array;
  std::uint32_t sweeps = 1;

  Evictor(const Lab& lab, const Site& site, std::uint64_t line_bytes)
      : array(make_array(site, lab.last_cache_evictor_bytes(), line_bytes)) {}

  // Steps that begin with `first`, then sweep with the second array of a program.
  [[nodiscard]] std::vector<ChaseStep> after(const Site& site, const ChaseStep& first) const {
    std::vector<ChaseStep> steps(1 + sweeps, warm_step(site, array, 1));
    steps.front() = first;
    return steps;
  }
};

// What the caches hold, by the vendor and by what the survey shows.
std::uint64_t cached_bytes(const Lab& lab, const Survey& survey) {
  const std::uint64_t told = lab.last_cache_bytes();
  try {
    const auto held = static_cast<std::uint64_t>(find_cache(survey, 0, true).held_bytes());
    return held > 0 ? std::min(told, held) : told;
  } catch (const Inconclusive&) {
    return told;
  }
}

// Lines, and another of the same page for each: first all of these in the order of the chain, then the lines.
ChaseArray lines_with_companions(const Lab& lab, const Survey& survey, std::uint64_t span_bytes) {
  const std::uint64_t room = cached_bytes(lab, survey) / kParameters.cache_divisor / kParameters.line_bytes;
  const std::uint64_t wanted = std::clamp(room, kParameters.least_lines, kParameters.lines);
  const std::uint64_t apart =
      std::clamp(std::bit_floor(span_bytes / wanted / 2), kParameters.least_apart_bytes, kParameters.apart_bytes);
  const auto half = static_cast<std::uint32_t>(apart / kParameters.line_bytes);
  ChaseArray array = make_array(survey.site, span_bytes, kParameters.line_bytes);
  array.order = Order::kSequential;
  std::mt19937_64 random(lab.seed());
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(random() % end); };
  // Any line of each block, or all would be of the same sets of a cache.
  std::vector<std::uint32_t> lines;
  for (std::uint32_t first = 0; first + 2 * half <= array.element_count(); first += 2 * half) {
    lines.push_back(first + below(2 * half));
  }
  const auto shuffle = [&] {
    for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[below(i)]);
  };
  shuffle();
  lines.resize(std::min<std::size_t>(lines.size(), wanted));
  for (const std::uint32_t line : lines) array.elements.push_back(line ^ half);
  shuffle();
  array.elements.insert(array.elements.end(), lines.begin(), lines.end());
  return array;
}

// The lines when nothing of them is left in a cache (the last step but one), and again (the last).
ChaseProgram lines_after_eviction(const Site& site, const ChaseArray& array, const Evictor& evictor) {
  const std::uint64_t lines = array.chain_length() / 2;
  std::vector<ChaseStep> steps = evictor.after(site, {.kind = StepKind::kWarm, .loads = 2 * lines});
  steps.push_back({.kind = StepKind::kWarm, .loads = lines});
  steps.insert(steps.end(), 2, {.kind = StepKind::kCounted, .loads = lines, .first = lines});
  return make_program(site, {array, evictor.array}, std::move(steps));
}

const stats::Histogram& from_last(const ChaseResult& result, std::size_t step) {
  return result.steps.rbegin()[step].histogram;
}

double limit_of_caches(const Survey& survey) { return survey.levels[survey.levels.size() - 2].high_cycles; }

// Sweeps with ever more passes; true: so many leave nothing in the caches.
bool finds_sweeps(Lab& lab, const Survey& survey, const ChaseArray& array, Evictor& evictor) {
  const double limit = limit_of_caches(survey);
  std::vector<SweptLoads> found;
  for (evictor.sweeps = 1; evictor.sweeps <= kParameters.most_sweeps; evictor.sweeps *= 2) {
    const ChaseResult result = lab.chase({lines_after_eviction(survey.site, array, evictor)}).front();
    found.push_back(swept_loads(from_last(result, 1), from_last(result, 0), limit));
    lab.log(fmt::format(
        "device.latency: after {} sweeps, {} B apart, {:.4f} of the loads look like hits of {} cycles, {:.4f} are in "
        "the band",
        evictor.sweeps, evictor.array.stride_bytes, found.back().like_hits,
        stats::histogram_quantile(from_last(result, 0), 0.5), found.back().in_band));
    if (are_evicted(found)) return true;
    if (are_kept(found)) return false;
  }
  return false;
}

// Makes the evictor one that leaves nothing in the caches: where more sweeps do not help, its loads are too far apart.
void find_sweeps(Lab& lab, const Survey& survey, const ChaseArray& array, Evictor& evictor) {
  while (!finds_sweeps(lab, survey, array, evictor)) {
    const std::uint64_t finer = evictor.array.stride_bytes / 2;
    if (finer < kParameters.least_evictor_stride_bytes) {
      throw Inconclusive("loads look like hits of the last cache, however often it is swept");
    }
    evictor.array = make_array(survey.site, evictor.array.bytes, finer);
  }
}

// Of each copy the loads that no cache served.
LevelLatency latency_of(const Lab& lab, const Survey& survey, const std::vector<ChaseResult>& copies, std::size_t step,
                        const std::function<double(const ChaseResult&)>& hit_limit) {
  BandLatencies latencies;
  for (const ChaseResult& copy : copies) {
    const stats::Histogram& loads = from_last(copy, step);
    stats::accumulate(latencies.histogram, loads);
    const auto mean = timed_mean(loads, hit_limit(copy), kEveryLoad.high_cycles, survey.timer_cycles);
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

MemoryLatency warm_latency(Lab& lab, const Survey& survey, const MemoryQuestion& question, Evictor& evictor) {
  const std::uint64_t span = question.translated_bytes > 0 ? question.translated_bytes : kParameters.least_span_bytes;
  const ChaseArray array = lines_with_companions(lab, survey, span);
  find_sweeps(lab, survey, array, evictor);
  ChaseProgram program = lines_after_eviction(survey.site, array, evictor);
  std::vector<ChaseProgram> programs;
  for (std::uint32_t i = 0; i < kParameters.sms; ++i) {
    program.sm = i * lab.info().sm_count / kParameters.sms;
    programs.push_back(program);
  }
  const auto hit_limit = [&](const ChaseResult& copy) {
    return hit_limit_of(from_last(copy, 0), limit_of_caches(survey));
  };
  MemoryLatency latency{.warm_tlb = latency_of(lab, survey, lab.chase(programs), 1, hit_limit)};
  latency.sides = sides_of(latency.warm_tlb, survey.timer_cycles);
  latency.translated = question.translated_bytes > 0;
  latency.warm_tlb.waits_for_translations = !latency.translated;
  return latency;
}

// One line a page over as much memory as there is, timed in the order it was touched.
std::optional<ColdTlbLatency> cold_latency(Lab& lab, const Survey& survey, const Evictor& evictor) {
  const std::uint64_t stride =
      kParameters.cold_stride_bytes + kParameters.line_bytes;  // not the same sets on every page
  const auto reach =
      static_cast<std::uint64_t>(lab.parameters().tlb_reach_of_free * static_cast<double>(lab.info().max_array_bytes));
  if (reach / stride < kParameters.least_cold_pages) return std::nullopt;
  const ChaseArray pages = make_array(survey.site, reach, stride);
  std::vector<ChaseStep> steps = evictor.after(survey.site, warm_step(survey.site, pages));
  steps.push_back(
      {.kind = StepKind::kCounted, .loads = std::min(lab.parameters().exclusive_loads, pages.element_count() / 2)});
  try {
    const auto copies = lab.chase({make_program(survey.site, {pages, evictor.array}, std::move(steps))});
    const auto every_load = [](const ChaseResult&) { return kEveryLoad.low_cycles; };
    return ColdTlbLatency{latency_of(lab, survey, copies, 0, every_load).mean.cycles, pages.bytes};
  } catch (const DeviceMemoryError& error) {
    lab.log(fmt::format("device.latency: no cold-TLB latency: {}", error.what()));
    return std::nullopt;
  }
}

}  // namespace

MemoryLatency find_memory_latency(Lab& lab, const Survey& survey, const MemoryQuestion& question) {
  Evictor evictor(lab, survey.site, question.line_bytes);
  MemoryLatency latency;
  // Where no cache stands before memory every load goes there, and nothing need be evicted, least of all the TLBs.
  if (survey.levels.size() < 2) {
    if (lab.info().l2_bytes) throw Inconclusive("loads from memory take about as long as those from L2");
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
