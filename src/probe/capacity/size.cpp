#include "probe/capacity/size.h"

#include <fmt/format.h>

#include <cmath>

#include "probe/bench/value_or_throw.h"
#include "probe/capacity/clear_memory_loads.h"
#include "probe/capacity/fitting_footprint.h"
#include "probe/capacity/packing.h"
#include "probe/capacity/resident_backwards.h"
#include "stats/change_point.h"

namespace gputopo::probe {
namespace {

// One load per line, the unit of eviction. Behind another cache, one load per fetch of that cache: with one load per
// line it could hold as many of these lines as it has lines of its own, perhaps more than this cache has.
std::uint64_t stride_of(const Cache& cache) {
  return cache.nearer_bytes > 0 ? cache.survey->fetch_bytes : cache.line_or_fetch_bytes();
}

CapacityEvidence evidence_of(const Cache& cache) {
  const auto stride = static_cast<double>(stride_of(cache));
  CapacityEvidence evidence;
  evidence.is_shared = cache.site().exclusive;
  evidence.is_behind = cache.nearer_bytes > 0;
  evidence.has_far_part = cache.last_level > cache.first_level;
  evidence.cold_hits = cache.cold_hits();
  evidence.guess_bytes = std::max(cache.held_bytes(), stride);
  evidence.line_bytes = std::max(stride, static_cast<double>(cache.line_or_fetch_bytes()));
  evidence.stride_bytes = stride;
  evidence.limit_bytes = static_cast<double>(cache.site().limit_bytes);
  evidence.misses_at_most = cache.misses_at_most();
  evidence.fits_bytes = cache.fits_bytes;
  evidence.sweep = sweep_of(cache);
  if (cache.packed_bytes() > 0) evidence.packed_bytes = cache.packed_bytes();
  return evidence;
}

void look_at(ProbeRunner& runner, const Cache& cache, const Look& look, const CapacityDecisionParameters& parameters,
             CapacityEvidence& evidence) {
  const std::uint64_t stride = stride_of(cache);
  switch (look.view) {
    case CapacityMethod::kMemoryLoads:
      evidence.memory = view_memory_loads(runner, cache, stride);
      return;
    case CapacityMethod::kResident:
      evidence.resident = view_resident(runner, cache, evidence.guess_bytes, parameters.resident_capacities, stride);
      return;
    case CapacityMethod::kFits:
      evidence.fits = view_fits(runner, cache, stride);
      return;
    case CapacityMethod::kPacked:
      evidence.packed_bytes = packed_bytes(runner, cache);
      return;
    case CapacityMethod::kSampled:
      try {
        evidence.sampled.push_back(sampled_residency(runner, cache, cache.hit_limit_cycles(), look.base_bytes,
                                                     look.capacities, stride, look.samples));
      } catch (const Inconclusive& error) {
        evidence.not_sampled = error.what();
      }
      return;
  }
}

// Largest change of the miss ratio, by Opt and the Kolmogorov-Smirnov test (stats/change_point.h). It lies between
// two footprints of the survey, so it is no finer than these. Evidence only: the residency decides the size.
std::optional<double> change_point_bytes(std::span<const FootprintHits> sweep) {
  std::vector<double> misses;
  for (const FootprintHits& footprint : sweep) misses.push_back(1 - footprint.hits);
  const std::optional<stats::ChangePoint> change = stats::find_change_point(misses);
  if (!change) return std::nullopt;
  return std::round(std::sqrt(sweep[change->index - 1].bytes * sweep[change->index].bytes));
}

// The sweep as samples: one row per footprint and latency bin.
SampleTable sweep_table(const Survey& survey) {
  SampleTable table = make_table("sweep", Plot::kDensity, {footprint_axis(), raw_latency_axis(), load_counts()});
  table.timer_cycles = survey.timer_cycles;
  table.marks = {"measured_bytes",     "first_miss_bytes",         "all_miss_bytes",
                 "change_point_bytes", "resident_backwards_bytes", "sampled_residency_bytes"};
  for (std::size_t i = 0; i < survey.footprints_bytes.size(); ++i) {
    for (std::size_t bin = 0; bin < survey.histograms[i].size(); ++bin) {
      if (survey.histograms[i][bin] == 0) continue;
      table.data[0].push_back(static_cast<double>(survey.footprints_bytes[i]));
      table.data[1].push_back(static_cast<double>(bin) * kHistogramBinCycles);
      table.data[2].push_back(survey.histograms[i][bin]);
    }
  }
  return table;
}

}  // namespace

std::vector<FootprintHits> sweep_of(const Cache& cache) {
  const Survey& survey = *cache.survey;
  std::vector<FootprintHits> sweep;
  for (std::size_t i = 0; i < survey.footprints_bytes.size(); ++i) {
    sweep.push_back({static_cast<double>(survey.footprints_bytes[i]),
                     stats::fraction_below(survey.histograms[i], cache.hit_limit_cycles())});
  }
  return sweep;
}

Capacity estimate_capacity(ProbeRunner& runner, const Cache& cache, const CapacityDecisionParameters& parameters) {
  CapacityEvidence evidence = evidence_of(cache);
  while (const std::optional<Look> look = next_look(evidence, parameters)) {
    look_at(runner, cache, *look, parameters, evidence);
  }
  Capacity capacity = value_or_throw(runner, "size", decide_capacity(evidence, parameters));
  capacity.conditions = runner.conditions();
  return capacity;
}

namespace {

// `same` as seen through this space, unless a sample of the cache contradicts it. The resident part of a footprint
// does not depend on the space; the footprint of the first misses does.
std::optional<Capacity> confirm(ProbeRunner& runner, const Cache& cache, const Capacity& same) {
  // Enough to distinguish sizes that are two percent apart.
  constexpr std::uint64_t kSamplesToConfirm = 30'000;
  Capacity seen = same;
  try {
    const SampledResidency sampled =
        sampled_residency(runner, cache, cache.hit_limit_cycles(), same.bytes,
                          CapacityDecisionParameters{}.sampled_capacities, stride_of(cache), kSamplesToConfirm);
    const bool agree = sampled.interval.low <= same.interval.high && same.interval.low <= sampled.interval.high;
    runner.log(fmt::format("size: the sampled size of {:.0f} B {} with the L1 size of {:.0f} B", sampled.bytes,
                           agree ? "agrees" : "does not agree", same.bytes));
    if (!agree) return std::nullopt;
    seen.sampled_bytes = sampled.bytes;
  } catch (const Inconclusive& error) {
    runner.log(fmt::format("size: sampling found no size to compare with that of L1: {}", error.what()));
    return std::nullopt;
  }
  seen.resident_bytes = 0;
  seen.first_miss_bytes = 0;
  seen.all_miss_bytes = all_miss_bytes(sweep_of(cache));
  seen.of_same_cache = true;
  seen.conditions = runner.conditions();
  seen.conditions.add(same.conditions);
  return seen;
}

}  // namespace

bool look_alike(const Cache& one, const Cache& other) {
  // Difference in hit ratio that counts as alike. Larger values confuse sizes; smaller values miss ways to one cache.
  constexpr double kSamePart = 0.05;
  return std::ranges::equal(sweep_of(one), sweep_of(other), [](const FootprintHits& a, const FootprintHits& b) {
    return a.bytes == b.bytes && std::abs(a.hits - b.hits) <= kSamePart;
  });
}

Capacity find_capacity(ProbeRunner& runner, const Cache& cache, const Capacity* same) {
  require_exceeded(cache, "so it is at least that large");
  if (cache.survey->counts_in_places) {
    if (cache.nearer_bytes > 0) {
      throw Inconclusive(
          "random loads wait for address translation, and loads of adjacent lines do not show which lines this cache "
          "evicts");
    }
    // Loads in few places measure the share of memory loads that look like far hits too poorly.
    constexpr double kHitsOfCold = 0.1;
    if (cache.last_level > cache.first_level && cache.cold_hits() > kHitsOfCold) {
      throw Inconclusive(
          "loads from near memory are as fast as hits in a far partition, and the loads that could tell the two apart "
          "wait for address translation");
    }
  }
  if (same != nullptr) {
    if (std::optional<Capacity> seen = confirm(runner, cache, *same)) return *std::move(seen);
  }
  return estimate_capacity(runner, cache, {.full_samples = runner.parameters().residency_samples});
}

Cache with(Cache cache, const Capacity& capacity) {
  cache.size_bytes = capacity.bytes;
  if (capacity.first_miss_bytes > 0) cache.fits_bytes = static_cast<std::uint64_t>(capacity.first_miss_bytes);
  return cache;
}

Attribute to_attribute(const Cache& cache, const Capacity& capacity, bool keep_samples) {
  Attribute attribute =
      measured(capacity.conditions, static_cast<std::int64_t>(capacity.bytes), "B", capacity.interval, capacity.method);
  // Neighbors are loaded together and evict others of the counted lines: such sizes were off by a tenth or more.
  if (cache.survey->counts_in_places) attribute.flags.emplace_back("sampled_in_clusters");
  if (may_leave_sets_unfilled(capacity, cache.site().limit_bytes)) {
    attribute.flags.emplace_back(
        "sets_may_not_be_full: some sets overflow before others, and arrays cannot be twice as large as the cache, so "
        "some sets may never fill; the true size may be larger");
  }
  const auto add_bytes = [&](const char* name, double bytes) {
    if (bytes > 0) attribute.add_detail(name, static_cast<std::int64_t>(bytes));
  };
  add_bytes("first_miss_bytes", capacity.first_miss_bytes);
  add_bytes("all_miss_bytes", capacity.all_miss_bytes);
  add_bytes("change_point_bytes", change_point_bytes(sweep_of(cache)).value_or(0));
  add_bytes("resident_backwards_bytes", capacity.resident_bytes);
  add_bytes("sampled_residency_bytes", capacity.sampled_bytes);
  if (keep_samples) attribute.samples.push_back(sweep_table(*cache.survey));
  return attribute;
}

}  // namespace gputopo::probe
