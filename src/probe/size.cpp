// Size of a cache, from three views that are each at most the capacity, so that the largest of them is the answer:
//
//   fits      the largest footprint whose loads all hit when it is walked again and again. Exact under any replacement where
//             the index spreads a contiguous array evenly; early where it does not.
//   resident  what a footprint several times the capacity leaves in the cache: it is walked once, and then backwards, counting
//             hits. Exact under LRU (and FIFO) whatever the index, because going backwards meets the resident lines before any
//             is evicted; low under other replacements.
//   sampled   the same, but a few random elements are timed instead of all: unbiased under any replacement and index, and
//             only as exact as a proportion is.
//
// Both edges are kept: where the first misses appear, and where nothing hits any more.
#include <fmt/format.h>

#include <cmath>

#include "probe/size.h"

namespace gputopo::probe {
namespace {

struct Estimate {
  double bytes = 0;
  stats::Interval interval;
};

// Median over the copies of the resident part of `array` after one pass, read backwards, in bytes.
double resident_backwards(Lab& lab, const Cache& cache, double bytes, std::uint64_t stride) {
  const Site& site = cache.site();
  const ChaseArray array = make_array(site, static_cast<std::uint64_t>(bytes), stride, Order::kReversed);
  const std::uint64_t n = array.element_count();
  const ChaseProgram program = make_program(
      site, {array}, {warm_step(site, array), {.kind = StepKind::kCounted, .loads = n, .chain = 1}});
  // Outliers make hits look like misses: noise * hits of them, known on average but with a Poisson spread. Enough copies
  // bring the spread of their median under a third of a line.
  const double lost = cache.survey->noise * static_cast<double>(n);
  const auto copies = site.exclusive ? 1 : static_cast<std::uint32_t>(std::clamp(10 * lost, 5.0, 60.0)) | 1u;
  const double hits = median_hit_fraction(lab.chase(std::vector<ChaseProgram>(copies, program)), 1, cache.hit_limit_cycles());
  return std::min(1.0, hits / (1 - cache.survey->noise)) * static_cast<double>(array.bytes);
}

// Doubles the footprint until what stays resident no longer grows: until every set is full.
Estimate resident_estimate(Lab& lab, const Cache& cache, double guess, std::uint64_t stride) {
  const Site& site = cache.site();
  const double cycles_per_load = cache.survey->levels.back().mode_cycles;
  double best = 0;
  for (double footprint = 2 * guess; footprint <= 32 * guess; footprint *= 2) {
    if (footprint / static_cast<double>(stride) * cycles_per_load > lab.parameters().launch_cycles_limit) break;
    if (site.limit_bytes != 0 && footprint > static_cast<double>(site.limit_bytes)) break;
    const double resident = resident_backwards(lab, cache, footprint, stride);
    constexpr double kGrowth = 1.002;
    const bool grew = resident > best * kGrowth;
    best = std::max(best, resident);
    lab.log(fmt::format("size: backwards over {:.0f} B: {:.0f} B resident", footprint, resident));
    if (!grew || site.exclusive) break;
  }
  const auto line = static_cast<double>(stride);
  const double whole_lines = std::round(best / line) * line;
  return {whole_lines, {whole_lines - line, whole_lines + line}};
}

// Largest footprint that fits, between one that does and one that does not: both ends draw closer by the number of footprints
// that are tried at once.
Estimate fits_estimate(Lab& lab, const Cache& cache, std::uint64_t stride) {
  const Site& site = cache.site();
  const Parameters& parameters = lab.parameters();
  std::uint64_t fits = cache.fits_bytes / stride * stride;
  std::uint64_t exceeds = fits * 2;
  for (const std::uint64_t footprint : cache.survey->footprints_bytes) {
    if (footprint > cache.fits_bytes) {
      exceeds = (footprint + stride - 1) / stride * stride;
      break;
    }
  }
  constexpr std::uint64_t kPoints = 24;
  const std::uint32_t copies = parameters.copies;
  while (exceeds - fits > stride) {
    const std::uint64_t step = std::max((exceeds - fits) / (kPoints + 1) / stride * stride, stride);
    std::vector<std::uint64_t> footprints;
    std::vector<ChaseProgram> programs;
    for (std::uint64_t bytes = fits + step; bytes < exceeds; bytes += step) {
      const ChaseArray array = make_array(site, bytes, stride);
      const std::uint64_t n = array.element_count();
      footprints.push_back(array.bytes);
      const std::uint64_t loads = std::max(2 * n, std::min(4 * n, parameters.survey_loads));
      const ChaseProgram program = make_program(
          site, {array}, {{.kind = StepKind::kWarm, .loads = 2 * n}, {.kind = StepKind::kCounted, .loads = loads}});
      for (std::uint32_t copy = 0; copy < copies; ++copy) programs.push_back(program);
    }
    const std::vector<ChaseResult> results = lab.chase(programs);
    std::uint64_t new_fits = fits;
    std::uint64_t new_exceeds = exceeds;
    for (std::size_t i = 0; i < footprints.size(); ++i) {
      const std::vector<ChaseResult> point(results.begin() + static_cast<std::ptrdiff_t>(i * copies),
                                           results.begin() + static_cast<std::ptrdiff_t>((i + 1) * copies));
      const double misses = 1 - median_hit_fraction(point, 1, cache.hit_limit_cycles());
      const auto loads = static_cast<double>(point.front().steps[1].loads);
      // A miss or two beyond the noise and its spread is a footprint that does not fit.
      const double spread = 4 * std::sqrt((cache.survey->noise + 1 / loads) / loads);
      if (misses > cache.survey->noise + std::min(spread + 1.5 / loads, parameters.fits_tolerance)) {
        new_exceeds = footprints[i];
        break;
      }
      new_fits = footprints[i];
    }
    if (new_fits == fits && new_exceeds == exceeds) break;
    fits = new_fits;
    exceeds = new_exceeds;
  }
  const double slack = 2 * parameters.fits_tolerance * static_cast<double>(fits);
  return {static_cast<double>(fits), {static_cast<double>(fits) - std::max(slack, static_cast<double>(stride)), static_cast<double>(exceeds)}};
}

}  // namespace

// Declared in size.h, for the carve-outs and the L2 partitions.
SampledResidency sampled_residency(Lab& lab, const Cache& cache, double limit_cycles, double guess, double factor,
                                   std::uint64_t stride, std::uint64_t wanted_samples) {
  const Site& site = cache.site();
  const Parameters& parameters = lab.parameters();
  ChaseArray array = make_array(site, static_cast<std::uint64_t>(guess * factor), stride, Order::kShuffled);
  const auto n = static_cast<double>(array.element_count());
  const double lines = std::max(1.0, guess / static_cast<double>(stride));
  const double most = site.exclusive ? 8192 : 1024;
  const auto per_program = static_cast<std::uint64_t>(std::clamp(parameters.sampled_part * lines, 1.0, most));
  const std::uint64_t programs_limit = site.exclusive ? 6 : parameters.residency_programs_limit;
  const std::uint64_t count = std::clamp(wanted_samples / per_program, std::uint64_t{parameters.copies}, programs_limit);
  std::vector<ChaseProgram> programs;
  for (std::uint64_t i = 0; i < count; ++i) {
    array.seed = lab.seed() * 1000 + i + 1;
    programs.push_back(make_program(site, {array}, {warm_step(site, array),
                                                    {.kind = StepKind::kCounted, .loads = per_program, .chain = 1}}));
  }
  std::uint64_t hits = 0;
  std::uint64_t samples = 0;
  for (const ChaseResult& result : lab.chase(programs)) {
    hits += stats::summarise_band(result.steps[1].histogram, 0, limit_cycles).count;
    samples += result.steps[1].loads;
  }
  // Each missed sample evicts one of the `lines`, so that later samples find a little less: on average half of them later.
  const double raw = static_cast<double>(hits) / static_cast<double>(samples);
  const double evicted = 0.5 * static_cast<double>(per_program - 1) * (1 - raw) / std::max(1.0, raw * n);
  const double scale = static_cast<double>(array.bytes) / (1 - cache.survey->noise) / (1 - std::min(0.5, evicted));
  const stats::Interval part = stats::proportion_interval(hits, samples);
  return {raw * scale, {part.low * scale, part.high * scale}};
}

Capacity estimate_capacity(Lab& lab, const Cache& cache, bool keep_fits) {
  const Site& site = cache.site();
  const std::uint64_t stride = std::max(cache.line_bytes, cache.fetch_bytes);
  const double guess = std::max({cache.resident_bytes, static_cast<double>(cache.fits_bytes), static_cast<double>(stride)});
  Capacity capacity;
  const Estimate resident = resident_estimate(lab, cache, guess, stride);
  Estimate best = resident;
  capacity.method = "resident_backwards";
  if (keep_fits && !site.exclusive) {
    const Estimate fits = fits_estimate(lab, cache, stride);
    capacity.first_miss_bytes = fits.bytes;
    if (fits.bytes > best.bytes) {
      best = fits;
      capacity.method = "largest_fitting_footprint";
    }
  }
  // A quick look first; the full sample only where it contradicts the exact views.
  const double factor = site.exclusive ? 2 : 8;
  const double base = std::max(best.bytes, guess);
  const bool room = site.limit_bytes == 0 || factor * base <= static_cast<double>(site.limit_bytes);
  if (room) {
    constexpr std::uint64_t kQuickSamples = 4000;
    SampledResidency sampled = sampled_residency(lab, cache, cache.hit_limit_cycles(), base, factor, stride,
                                                 site.exclusive ? lab.parameters().residency_samples : kQuickSamples);
    if (sampled.interval.low > best.bytes) {
      if (!site.exclusive) {
        sampled = sampled_residency(lab, cache, cache.hit_limit_cycles(), sampled.bytes, factor, stride,
                                    lab.parameters().residency_samples);
      }
      if (sampled.interval.low > best.bytes) {
        best = {sampled.bytes, sampled.interval};
        capacity.method = "sampled_residency";
      }
    }
    capacity.sampled_bytes = sampled.bytes;
  }
  capacity.bytes = std::round(best.bytes);
  capacity.interval = best.interval;
  capacity.resident_bytes = resident.bytes;
  for (std::size_t i = 0; i < cache.survey->footprints_bytes.size(); ++i) {
    constexpr double kNothingHits = 0.01;
    if (stats::fraction_below(cache.survey->histograms[i], cache.hit_limit_cycles()) < kNothingHits) {
      capacity.all_miss_bytes = static_cast<double>(cache.survey->footprints_bytes[i]);
      break;
    }
  }
  lab.log(fmt::format("size: {} {:.0f} B [{:.0f}, {:.0f}]; resident {:.0f}, fits {:.0f}, sampled {:.0f}", capacity.method,
                      capacity.bytes, capacity.interval.low, capacity.interval.high, capacity.resident_bytes,
                      capacity.first_miss_bytes, capacity.sampled_bytes));
  return capacity;
}

SampleTable sweep_table(const Survey& survey) {
  SampleTable table{"sweep", {"footprint_bytes", "latency_cycles", "loads"}, {{}, {}, {}}};
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

Attribute measure_size(Lab& lab, Cache& cache) {
  if (!cache.has_next_level()) {
    Attribute attribute = unavailable(Reason::kInconclusive, fmt::format("every footprint up to {} B fits: the cache is at least that large", cache.fits_bytes));
    attribute.details.emplace_back("at_least_bytes", static_cast<std::int64_t>(cache.fits_bytes));
    return attribute;
  }
  const Capacity capacity = estimate_capacity(lab, cache, true);
  cache.size_bytes = capacity.bytes;
  Attribute attribute = measured(lab, static_cast<std::int64_t>(capacity.bytes), "B", capacity.interval, capacity.method);
  if (capacity.first_miss_bytes > 0) {
    attribute.details.emplace_back("first_miss_bytes", static_cast<std::int64_t>(capacity.first_miss_bytes));
    cache.fits_bytes = static_cast<std::uint64_t>(capacity.first_miss_bytes);
  }
  if (capacity.all_miss_bytes > 0) attribute.details.emplace_back("all_miss_bytes", static_cast<std::int64_t>(capacity.all_miss_bytes));
  attribute.details.emplace_back("resident_backwards_bytes", static_cast<std::int64_t>(capacity.resident_bytes));
  if (capacity.sampled_bytes > 0) attribute.details.emplace_back("sampled_residency_bytes", static_cast<std::int64_t>(capacity.sampled_bytes));
  if (lab.keep_samples()) attribute.samples.push_back(sweep_table(*cache.survey));
  return attribute;
}

}  // namespace gputopo::probe
