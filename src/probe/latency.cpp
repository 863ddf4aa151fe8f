// Load-to-use latency, in cycles of the SM, the timer's own cost taken off.
#include <fmt/format.h>

#include <cmath>

#include "probe/site.h"

namespace gputopo::probe {
namespace {

double round_to(double value, double digits) { return std::round(value * digits) / digits; }

// Percentiles of the loads in a histogram's band, timer cost taken off, and nanoseconds.
void add_distribution(Attribute& attribute, const stats::Histogram& histogram, double low, double high, double timer,
                      double clock_mhz) {
  stats::Histogram band = histogram;
  for (std::size_t bin = 0; bin < band.size(); ++bin) {
    const double cycles = static_cast<double>(bin) * kHistogramBinCycles;
    if (cycles < low || cycles >= high) band[bin] = 0;
  }
  if (stats::total_count(band) > 0) {
    const std::pair<const char*, double> quantiles[] = {
        {"minimum_cycles", 0.0}, {"p50_cycles", 0.5}, {"p95_cycles", 0.95}, {"maximum_cycles", 1.0}};
    for (const auto& [name, q] : quantiles) {
      attribute.add_detail(name, round_to(stats::histogram_quantile(band, q) - timer, 10));
    }
    attribute.add_detail("standard_deviation_cycles", round_to(stats::summarise_band(band, 0, 1e9).deviation, 10));
  }
  if (clock_mhz > 0) attribute.add_detail("mean_ns", round_to(*attribute.number() / clock_mhz * 1000, 100));
}

SampleTable histogram_table(const stats::Histogram& histogram, double timer_cycles) {
  SampleTable table = make_table("histogram", Plot::kBars, {raw_latency_axis(), load_counts()});
  table.timer_cycles = timer_cycles;
  table.marks = {"minimum_cycles", "p50_cycles", "p95_cycles", "maximum_cycles", "far_cycles"};
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    if (histogram[bin] == 0) continue;
    table.data[0].push_back(static_cast<double>(bin) * kHistogramBinCycles);
    table.data[1].push_back(histogram[bin]);
  }
  return table;
}

// The interval of a mean with a systematic floor: the histogram's bins, and the drift of a clock over a discovery, are
// not in the spread of a few copies.
stats::Interval latency_interval(const std::vector<double>& means) {
  constexpr double kFloorCycles = 0.25;
  constexpr double kFloorPart = 0.005;
  const double centre = stats::median(means);
  const double floor = kFloorCycles + kFloorPart * centre;
  const stats::Interval interval = stats::mean_interval(means);
  return {std::min(interval.low, centre - floor), std::max(interval.high, centre + floor)};
}

// One attribute from the loads of several copies: mean of the copies' means inside the band.
Attribute banded_latency(const Lab& lab, const BandLatencies& latencies, double low, double high, double timer,
                         const std::string& method) {
  const std::vector<double>& means = latencies.means_cycles;
  Attribute attribute =
      measured(lab.conditions(), round_to(stats::median(means), 100), "cycles", latency_interval(means), method);
  add_distribution(attribute, latencies.histogram, low, high, timer, lab.conditions().sm_clock_mhz());
  attribute.add_detail("timer_cycles", round_to(timer, 100));
  if (lab.keep_samples()) attribute.samples.push_back(histogram_table(latencies.histogram, timer));
  return attribute;
}

// The loads of all footprints of the survey, and the levels that were found in them.
void add_levels(const Lab& lab, const Survey& survey, Attribute& attribute) {
  stats::Histogram all = survey.tiny;
  for (const stats::Histogram& histogram : survey.histograms) stats::accumulate(all, histogram);
  std::vector<double> modes;
  for (const stats::Level& level : survey.levels) {
    modes.push_back(round_to(std::max(level.mode_cycles - survey.timer_cycles, 0.0), 10));
  }
  attribute.add_detail("levels_cycles", std::move(modes));
  if (!lab.keep_samples()) return;
  SampleTable table = histogram_table(all, survey.timer_cycles);
  table.name = "levels";
  table.marks = {"levels_cycles"};
  attribute.samples.push_back(std::move(table));
}

Attribute latency_of(Lab& lab, const Cache& cache) {
  const Survey& survey = *cache.survey;
  const Site& site = cache.site();
  if (cache.first_level == 0 && !site.exclusive) {
    // The nearest level: untimed chains over a tiny array, exact to a fraction of a cycle.
    Attribute attribute = measured(survey.conditions, round_to(stats::median(survey.tiny_latencies_cycles), 100),
                                   "cycles", latency_interval(survey.tiny_latencies_cycles), "untimed_chain");
    add_distribution(attribute, survey.histograms.front(), 0, cache.hit_limit_cycles(), survey.timer_cycles,
                     survey.conditions.sm_clock_mhz());
    attribute.add_detail("timer_cycles", round_to(survey.timer_cycles, 100));
    return attribute;
  }
  // A farther level: a footprint that fits it and not what is before it; only the loads in its band count. The
  // footprint in the middle (geometrically) of what qualifies is the survey's with most loads in the band.
  double best = -1;
  std::uint64_t footprint = 0;
  for (std::size_t i = 0; i < survey.footprints_bytes.size(); ++i) {
    const double here = stats::fraction_below(survey.histograms[i], cache.hit_limit_cycles()) -
                        stats::fraction_below(survey.histograms[i], cache.hit_floor_cycles());
    constexpr double kAsGood = 0.02;
    if (here > best + kAsGood) {
      best = here;
      footprint = survey.footprints_bytes[i];
    }
  }
  const double low = cache.hit_floor_cycles();
  const double high = cache.hit_limit_cycles();
  if (!site.exclusive) {
    const ChaseArray array = make_array(site, footprint, survey.fetch_bytes);
    const BandLatencies latencies = band_latencies(lab, survey, array, low, high);
    return banded_latency(lab, latencies, low, high, survey.timer_cycles,
                          latencies.untimed ? "untimed_chain" : "timed_loads_in_band");
  }
  // L2 is asked over many slices: half of what fits.
  const ChaseArray array =
      make_array(site, std::max(footprint, cache.fits_bytes / 2), survey.fetch_bytes, Order::kShuffled);
  ChaseProgram program = make_program(
      site, {array},
      {warm_step(site, array), {.kind = StepKind::kCounted, .loads = lab.parameters().exclusive_loads, .chain = 1}});
  std::vector<ChaseProgram> programs;
  for (std::uint32_t i = 0; i < lab.parameters().copies; ++i) {
    program.arrays[0].seed = lab.seed() + i;
    // SMs differ in their distance to the slices, so what runs alone runs on SMs spread over the chip.
    program.sm = i * lab.info().sm_count / lab.parameters().copies;
    programs.push_back(program);
  }
  const BandLatencies latencies = timed_band_latencies(lab.chase(programs), 1, low, high, survey.timer_cycles);
  return banded_latency(lab, latencies, low, high, survey.timer_cycles, "timed_loads_in_band");
}

}  // namespace

Attribute measure_latency(Lab& lab, const Cache& cache) {
  Attribute attribute = latency_of(lab, cache);
  add_levels(lab, *cache.survey, attribute);
  return attribute;
}

Attribute measure_far_latency(Lab& lab, const Cache& l2) {
  const Survey& survey = *l2.survey;
  Attribute attribute = measure_latency(lab, Cache{.survey = l2.survey,
                                                   .first_level = l2.first_level,
                                                   .last_level = l2.first_level,
                                                   .fetch_bytes = l2.fetch_bytes,
                                                   .fits_bytes = find_cache(survey, l2.first_level, false).fits_bytes});
  attribute.add_detail("near_cycles", *attribute.number());
  if (l2.last_level > l2.first_level) {
    Cache far = l2;
    far.first_level = l2.last_level;
    far.fits_bytes = 0;
    Lab of_far = lab.another();
    const Attribute found = latency_of(of_far, far);
    attribute.add_detail("far_cycles", *found.number());
    attribute.add_detail("far_low_cycles", *found.low);
    attribute.add_detail("far_high_cycles", *found.high);
    if (const Value* ns = found.find_detail("mean_ns")) attribute.add_detail("far_ns", *ns);
  }
  return attribute;
}

Attribute measure_shared_latency(Lab& lab, const Site& site) {
  constexpr std::uint64_t kBytes = 2048;
  constexpr std::uint64_t kLoads = 4096;
  const ChaseArray array = make_array(site, kBytes, kMinimumStrideBytes);
  const ChaseProgram program = make_program(
      site, {array},
      {{.kind = StepKind::kWarm, .loads = array.element_count()}, {.kind = StepKind::kWarm, .loads = kLoads}});
  std::vector<double> latencies;
  for (const ChaseResult& copy : lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, program))) {
    latencies.push_back(static_cast<double>(copy.steps[1].total_cycles) / static_cast<double>(copy.steps[1].loads));
  }
  const double mean = stats::median(latencies);
  Attribute attribute =
      measured(lab.conditions(), round_to(mean, 100), "cycles", latency_interval(latencies), "untimed_chain");
  if (lab.conditions().sm_clock_mhz() > 0)
    attribute.add_detail("mean_ns", round_to(mean / lab.conditions().sm_clock_mhz() * 1000, 100));
  return attribute;
}

Attribute measure_device_latency(Lab& lab, const Survey& survey, std::uint64_t last_cache_bytes) {
  const Site& site = survey.site;
  const double infinity = std::numeric_limits<double>::infinity();
  const std::uint64_t loads = lab.parameters().exclusive_loads;
  constexpr std::uint64_t kLine = 128;
  // A larger array in between evicts from L2 what is timed, so every load goes to memory and no band of latencies need
  // be cut out (a far L2 hit may be slower than near memory). TLB warm: the array's pages have just been touched.
  const ChaseArray evictor = make_array(site, lab.last_cache_evictor_bytes(), kLine);
  constexpr std::uint64_t kWarmStride = 4096 + kLine;
  const ChaseArray warm = make_array(site, 4 * last_cache_bytes, kWarmStride, Order::kShuffled);
  const auto timed_after_eviction = [&](const ChaseArray& array, std::uint32_t chain) {
    return make_program(
        site, {array, evictor},
        {warm_step(site, array, 0),
         warm_step(site, evictor, 1),
         {.kind = StepKind::kCounted, .loads = std::min(loads, array.element_count() / 2), .chain = chain}});
  };
  const auto after_eviction = [&](Lab own, const std::vector<ChaseProgram>& programs) {
    const std::vector<ChaseResult> results = own.chase(programs);
    return banded_latency(own, timed_band_latencies(results, 2, 0, infinity, survey.timer_cycles), 0, infinity,
                          survey.timer_cycles, "timed_loads_after_eviction");
  };
  ChaseProgram program = timed_after_eviction(warm, 1);
  std::vector<ChaseProgram> programs;
  constexpr std::uint32_t kSms = 9;  // the nearest memory is another for each
  for (std::uint32_t i = 0; i < kSms; ++i) {
    program.sm = i * lab.info().sm_count / kSms;
    programs.push_back(program);
  }
  // Where no cache stands before memory every load goes there, and nothing need be evicted, least of all the TLBs.
  const bool uncached = survey.levels.size() < 2;
  Attribute attribute = uncached
                            ? measured(survey.conditions, round_to(stats::median(survey.tiny_latencies_cycles), 100),
                                       "cycles", latency_interval(survey.tiny_latencies_cycles), "untimed_chain")
                            : after_eviction(lab.another(), programs);
  attribute.add_condition("tlb", std::string("warm"));

  // TLB cold: one line a page over as much memory as there is, timed in the order it was touched: the oldest pages
  // first, which an LRU-like TLB that reaches less has dropped.
  const std::uint64_t stride = lab.parameters().tlb_stride_bytes + kLine;  // not the same sets on every page
  const auto reach =
      static_cast<std::uint64_t>(lab.parameters().tlb_reach_of_free * static_cast<double>(lab.info().max_array_bytes));
  constexpr std::uint64_t kLeastPages = 256;
  if (reach / stride < kLeastPages) return attribute;
  const ChaseArray pages = make_array(site, reach, stride);
  try {
    const Attribute found = after_eviction(lab.another(), {timed_after_eviction(pages, 0)});
    attribute.add_detail("tlb_cold_cycles", *found.number());
    attribute.add_detail("tlb_cold_reach_bytes", static_cast<std::int64_t>(pages.bytes));
  } catch (const DeviceMemoryError& error) {
    lab.log(fmt::format("device.latency: no cold-TLB latency: {}", error.what()));
  }
  return attribute;
}

}  // namespace gputopo::probe
