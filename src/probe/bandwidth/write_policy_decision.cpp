#include "probe/bandwidth/write_policy_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {
namespace {

std::optional<bool> found(double part, double nearly_all) {
  if (part >= nearly_all) return true;
  if (part <= 1 - nearly_all) return false;
  return std::nullopt;
}

int whole_percent(double part) { return static_cast<int>(std::lround(100 * part)); }

double gigabytes(double bytes) { return bytes / 1e9; }

}  // namespace

std::string_view to_string(WritePolicy policy) {
  return policy == WritePolicy::kWriteBack ? "write_back" : "write_through";
}

double part_of_lines(std::span<const std::uint32_t> latencies, std::size_t loads_per_line, double hit_limit_cycles,
                     double distinguishable_misses) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < latencies.size(); i += loads_per_line) hits += latencies[i] < hit_limit_cycles ? 1 : 0;
  const double missed = 1 - static_cast<double>(hits * loads_per_line) / static_cast<double>(latencies.size());
  if (!(missed > 0)) return 1;
  return distinguishable_misses > 0 ? std::clamp(1 - missed / distinguishable_misses, 0.0, 1.0) : 0;
}

double part_of_whole_lines(std::span<const std::uint32_t> latencies, std::size_t loads_per_line,
                           std::size_t loads_per_fetch, double hit_limit_cycles) {
  std::size_t whole = 0;
  for (std::size_t line = 0; line < latencies.size(); line += loads_per_line) {
    bool hit = true;
    for (std::size_t i = 0; i < loads_per_line; i += loads_per_fetch) hit &= latencies[line + i] < hit_limit_cycles;
    whole += hit ? 1 : 0;
  }
  return static_cast<double>(whole * loads_per_line) / static_cast<double>(latencies.size());
}

double part_quicker(std::span<const std::uint32_t> latencies, std::span<const std::uint32_t> cold,
                    std::size_t loads_per_line, double hit_part) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < latencies.size(); i += loads_per_line) hits += latencies[i] < hit_part * cold[i] ? 1 : 0;
  return static_cast<double>(hits * loads_per_line) / static_cast<double>(latencies.size());
}

Decision<StoreTreatment> decide_allocation(const StoreHits& hits, const StoresDecisionParameters& parameters) {
  Decision<StoreTreatment> decision{
      .basis = fmt::format("hit ratios: {}% for lines never written, {}% for lines written while absent from the "
                           "cache, {}% for lines written while resident",
                           whole_percent(hits.unstored), whole_percent(hits.stored), whole_percent(hits.stored_again))};
  if (found(hits.unstored, parameters.nearly_all) != false) {
    decision.why_not =
        fmt::format("{}% of the lines that were never written hit as well, so hits do not show the effect of stores",
                    whole_percent(hits.unstored));
    return decision;
  }
  const std::optional<bool> allocates = found(hits.stored, parameters.nearly_all);
  if (!allocates) {
    decision.why_not =
        fmt::format("{}% of the written lines hit: too few for write-allocate, too many for no-write-allocate",
                    whole_percent(hits.stored));
    return decision;
  }
  decision.value =
      StoreTreatment{.allocates = *allocates, .keeps_hits = found(hits.stored_again, parameters.nearly_all)};
  return decision;
}

Decision<WritePolicy> decide_passing_on(const PassingHits& hits, const StoresDecisionParameters& parameters) {
  Decision<WritePolicy> decision{
      .basis = fmt::format("hit ratios: {}% in L1; in L2, {}% for lines never written and {}% for written lines",
                           whole_percent(hits.in_l1), whole_percent(hits.unstored), whole_percent(hits.stored_in_l2))};
  if (found(hits.in_l1, parameters.nearly_all) != true) {
    decision.why_not =
        fmt::format("only {}% of the lines are still in L1 after their eviction from L2", whole_percent(hits.in_l1));
    return decision;
  }
  if (found(hits.unstored, parameters.nearly_all) != false) {
    decision.why_not = fmt::format(
        "{}% of the lines that were never written hit in L2 as well, so hits do not show the effect of stores",
        whole_percent(hits.unstored));
    return decision;
  }
  const std::optional<bool> reached = found(hits.stored_in_l2, parameters.nearly_all);
  if (!reached) {
    decision.why_not =
        fmt::format("{}% of the written lines hit in L2: too few for write-through, too many for write-back",
                    whole_percent(hits.stored_in_l2));
    return decision;
  }
  decision.value = *reached ? WritePolicy::kWriteThrough : WritePolicy::kWriteBack;
  return decision;
}

Decision<WritePolicy> policy_by_read_interference(const ReadRates& rates, double memory_peak,
                                                  const WritesBesideReadsParameters& parameters) {
  Decision<WritePolicy> decision{
      .basis = fmt::format("reads from memory: {:.0f} GB/s alone, {:.0f} GB/s beside as many writes to memory, {:.0f} "
                           "GB/s beside as many writes to part of the cache; reads from one part of the cache beside "
                           "as many writes to another part: {:.0f} GB/s",
                           gigabytes(rates.alone), gigabytes(rates.with_memory_writes),
                           gigabytes(rates.with_cache_writes), gigabytes(rates.in_cache))};
  if (memory_peak > 0 && 2 * rates.with_cache_writes > parameters.clear * memory_peak) {
    decision.value = WritePolicy::kWriteBack;
    return decision;
  }
  // Relative to the span from the reads beside writes to memory up to the best copy rate of the caches.
  const double best = std::min(rates.alone, rates.in_cache);
  const double taken = best - rates.with_memory_writes;
  // Not `<`: rates that are all 0 or NaN prove nothing.
  if (!(taken > 0 && taken >= parameters.least_contrast * rates.with_memory_writes)) {
    decision.why_not = "writes to memory hardly slow reads from memory, so the rates do not show where writes go";
    return decision;
  }
  const double left = (rates.with_cache_writes - rates.with_memory_writes) / taken;
  if (left >= parameters.back) {
    decision.value = WritePolicy::kWriteBack;
  } else if (left <= parameters.through) {
    decision.value = WritePolicy::kWriteThrough;
  } else {
    decision.why_not = fmt::format(
        "writes that could stay in the cache slow reads from memory {:.0f}% as much as writes to memory do: "
        "too much for write-back, too little for write-through",
        100 * (1 - left));
  }
  return decision;
}

Decision<WritePolicy> policy_by_bandwidth(double written, double next, const WriteBandwidthParameters& parameters) {
  const double ratio = next > 0 ? written / next : 0;
  Decision<WritePolicy> decision{
      .basis = fmt::format("the write bandwidth of this cache is {:.2f} times that of the next level", ratio)};
  if (ratio < parameters.write_back_ratio) {
    decision.why_not = fmt::format(
        "the write bandwidth of this cache is {:.2f} times that of the next level: too little to tell write-back from "
        "write-through",
        ratio);
    return decision;
  }
  decision.value = WritePolicy::kWriteBack;
  return decision;
}

}  // namespace gputopo::probe
