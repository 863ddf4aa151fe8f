// Latency of device memory. A larger array in between evicts from L2 what is timed, so every load goes to memory and no
// band of latencies need be cut out (a far L2 hit may be slower than near memory).
#include <fmt/format.h>

#include <limits>

#include "probe/latency.h"

namespace gputopo::probe {
namespace {

struct MemoryLatencyParameters {
  std::uint64_t line_bytes = 128;
  // TLB warm: one line a page, over so many times the last cache.
  std::uint64_t warm_page_bytes = 4096;
  std::uint64_t warm_caches = 4;
  // SMs that load: the nearest memory is another for each. More: a steadier mean; each evicts L2 once.
  std::uint32_t sms = 9;
  // TLB cold: the stride of pages, as an entry of the last TLB level may cover many (on an H200 a stride of 2 MiB
  // misses at one load in twenty only, one of 32 MiB at each).
  std::uint64_t cold_stride_bytes = 32u << 20;
  // Fewer pages may all have an entry.
  std::uint64_t least_cold_pages = 256;
};
constexpr MemoryLatencyParameters kParameters;

constexpr LatencyBand kEveryLoad{0, std::numeric_limits<double>::infinity()};

// Loads of the array by `chain`, when nothing of it is left in a cache.
ChaseProgram timed_after_eviction(const Lab& lab, const Site& site, const ChaseArray& array, std::uint32_t chain) {
  const ChaseArray evictor = make_array(site, lab.last_cache_evictor_bytes(), kParameters.line_bytes);
  return make_program(site, {array, evictor},
                      {warm_step(site, array, 0),
                       warm_step(site, evictor, 1),
                       {.kind = StepKind::kCounted,
                        .loads = std::min(lab.parameters().exclusive_loads, array.element_count() / 2),
                        .chain = chain}});
}

LevelLatency latency_after_eviction(Lab& lab, const Survey& survey, const std::vector<ChaseProgram>& programs) {
  constexpr std::size_t kTimedStep = 2;
  const std::vector<ChaseResult> copies = lab.chase(programs);
  const BandLatencies latencies =
      timed_band_latencies(copies, kTimedStep, kEveryLoad.low_cycles, kEveryLoad.high_cycles, survey.timer_cycles);
  return banded_latency(lab, latencies, kEveryLoad, survey.timer_cycles, "timed_loads_after_eviction");
}

}  // namespace

LevelLatency find_memory_latency(Lab& lab, const Survey& survey, std::uint64_t last_cache_bytes) {
  // Where no cache stands before memory every load goes there, and nothing need be evicted, least of all the TLBs.
  if (survey.levels.size() < 2) return nearest_latency(survey);
  const std::uint64_t stride = kParameters.warm_page_bytes + kParameters.line_bytes;  // not the same sets on every page
  const ChaseArray array =
      make_array(survey.site, kParameters.warm_caches * last_cache_bytes, stride, Order::kShuffled);
  ChaseProgram program = timed_after_eviction(lab, survey.site, array, 1);
  std::vector<ChaseProgram> programs;
  for (std::uint32_t i = 0; i < kParameters.sms; ++i) {
    program.sm = i * lab.info().sm_count / kParameters.sms;
    programs.push_back(program);
  }
  return latency_after_eviction(lab, survey, programs);
}

std::optional<ColdTlbLatency> find_cold_tlb_latency(Lab& lab, const Survey& survey) {
  const std::uint64_t stride = kParameters.cold_stride_bytes + kParameters.line_bytes;  // as above
  const auto reach =
      static_cast<std::uint64_t>(lab.parameters().tlb_reach_of_free * static_cast<double>(lab.info().max_array_bytes));
  if (reach / stride < kParameters.least_cold_pages) return std::nullopt;
  const ChaseArray pages = make_array(survey.site, reach, stride);
  try {
    const LevelLatency found = latency_after_eviction(lab, survey, {timed_after_eviction(lab, survey.site, pages, 0)});
    return ColdTlbLatency{found.mean.cycles, pages.bytes};
  } catch (const DeviceMemoryError& error) {
    lab.log(fmt::format("device.latency: no cold-TLB latency: {}", error.what()));
    return std::nullopt;
  }
}

Attribute measure_device_latency(Lab& lab, const Survey& survey, std::uint64_t last_cache_bytes) {
  MemoryLatency latency{find_memory_latency(lab, survey, last_cache_bytes), {}};
  Lab of_cold = lab.another();
  latency.cold_tlb = find_cold_tlb_latency(of_cold, survey);
  return to_attribute(latency, lab.keep_samples());
}

}  // namespace gputopo::probe
