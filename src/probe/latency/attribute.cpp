#include "probe/latency/attribute.h"

#include <algorithm>

#include "probe/bench/intervals.h"
#include "probe/latency/latency.h"
#include "probe/latency/memory_latency.h"

namespace gputopo::probe {
namespace {

SampleTable table_of(std::string name, const stats::Histogram& histogram, double timer_cycles) {
  SampleTable table = make_table(std::move(name), Plot::kBars, {raw_latency_axis(), load_counts()});
  table.timer_cycles = timer_cycles;
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    if (histogram[bin] == 0) continue;
    table.data[0].push_back(static_cast<double>(bin) * kHistogramBinCycles);
    table.data[1].push_back(histogram[bin]);
  }
  return table;
}

// Empty if the clock is unknown.
std::optional<double> nanoseconds(const LevelLatency& latency) {
  const double clock_mhz = latency.conditions.sm_clock_mhz();
  if (clock_mhz <= 0) return std::nullopt;
  return rounded(rounded(latency.mean.cycles) / clock_mhz * 1000);
}

// Adds the levels of the survey and the loads of all footprints, in which they were found.
void add_levels(const Survey& survey, bool keep_samples, Attribute& attribute) {
  std::vector<double> modes;
  for (const stats::Level& level : survey.levels) {
    modes.push_back(rounded_to_tenth(std::max(level.mode_cycles - survey.timer_cycles, 0.0)));
  }
  attribute.add_detail("levels_cycles", std::move(modes));
  if (!keep_samples) return;
  stats::Histogram all = survey.tiny;
  for (const stats::Histogram& histogram : survey.histograms) stats::accumulate(all, histogram);
  SampleTable table = table_of("levels", all, survey.timer_cycles);
  table.marks = {"levels_cycles"};
  attribute.samples.push_back(std::move(table));
}

}  // namespace

// The value includes the time that loads wait for translations.
constexpr const char* kWaitsForTranslations = "tlb_misses: even loads from a few pages wait for address translation";

Attribute to_attribute(const LevelLatency& latency, bool keep_samples) {
  Attribute attribute =
      measured(latency.conditions, rounded(latency.mean.cycles), "cycles", latency.mean.interval, latency.method);
  if (latency.distribution) {
    attribute.add_detail("minimum_cycles", rounded_to_tenth(latency.distribution->least_cycles));
    attribute.add_detail("p50_cycles", rounded_to_tenth(latency.distribution->p50_cycles));
    attribute.add_detail("p95_cycles", rounded_to_tenth(latency.distribution->p95_cycles));
    attribute.add_detail("maximum_cycles", rounded_to_tenth(latency.distribution->most_cycles));
    attribute.add_detail("standard_deviation_cycles", rounded_to_tenth(latency.distribution->deviation_cycles));
  }
  if (const std::optional<double> ns = nanoseconds(latency)) attribute.add_detail("mean_ns", *ns);
  if (latency.timer_cycles) attribute.add_detail("timer_cycles", rounded(*latency.timer_cycles));
  if (latency.waits_for_translations) attribute.flags.emplace_back(kWaitsForTranslations);
  if (keep_samples && !latency.histogram.empty()) {
    SampleTable table = table_of("histogram", latency.histogram, latency.timer_cycles.value_or(0));
    table.marks = {"near_cycles",    "minimum_cycles", "p50_cycles",     "p95_cycles",
                   "maximum_cycles", "far_cycles",     "tlb_cold_cycles"};
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

Attribute to_attribute(const Survey& survey, const CacheLatency& latency, bool keep_samples) {
  Attribute attribute = to_attribute(latency.nearest, keep_samples);
  add_levels(survey, keep_samples, attribute);
  if (latency.has_parts) attribute.add_detail("near_cycles", rounded(latency.nearest.mean.cycles));
  if (latency.far) {
    attribute.add_detail("far_cycles", rounded(latency.far->mean.cycles));
    attribute.add_detail("far_low_cycles", latency.far->mean.interval.low);
    attribute.add_detail("far_high_cycles", latency.far->mean.interval.high);
    if (const std::optional<double> ns = nanoseconds(*latency.far)) attribute.add_detail("far_ns", *ns);
    attribute.add_detail("far_method", latency.far->method);
  }
  return attribute;
}

Attribute to_attribute(const MemoryLatency& latency, bool keep_samples) {
  Attribute attribute = to_attribute(latency.warm_tlb, keep_samples);
  attribute.add_condition("tlb", std::string(latency.translated ? "warm" : "misses"));
  if (latency.sides) {
    attribute.add_detail("near_cycles", rounded(latency.sides->near_cycles));
    attribute.add_detail("far_cycles", rounded(latency.sides->far_cycles));
  }
  if (latency.cold_tlb) {
    attribute.add_detail("tlb_cold_cycles", rounded(latency.cold_tlb->cycles));
    attribute.add_detail("tlb_cold_reach_bytes", static_cast<std::int64_t>(latency.cold_tlb->reach_bytes));
  }
  return attribute;
}

}  // namespace gputopo::probe
