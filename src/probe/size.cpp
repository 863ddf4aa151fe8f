// Size of a cache, from four views that are each at most the capacity, so that the largest of them is the answer:
//
//   fits      The largest footprint whose loads all hit when it is walked again and again. Exact under any replacement
//             where the index spreads a contiguous array evenly; early where it does not.
//   resident  What a footprint several times the capacity leaves in the cache: it is walked once, and then backwards,
//             counting hits. Exact under LRU (and FIFO) whatever the index, because going backwards meets the resident
//             lines before any is evicted; low under other replacements.
//   packed    The largest set of lines that are resident together, wherever they lie. Exact under any replacement and
//             index, but it takes a test for each line that does not fit: for small caches (packing.h).
//   sampled   What a footprint several times the capacity leaves in the cache, of which a few random elements are timed
//             instead of all: unbiased under any replacement and index, and only as exact as a proportion is. Behind
//             another cache by how long ago they were loaded (residency_by_age.h).
//
// Both edges are kept: where the first misses appear, and where nothing hits any more.
#include "probe/size.h"

#include <fmt/format.h>

#include <cmath>

#include "probe/packing.h"
#include "probe/residency_by_age.h"
#include "stats/change_point.h"

namespace gputopo::probe {
namespace {

struct Estimate {
  double bytes = 0;
  stats::Interval interval;
  bool settled = true;  // it no longer grew with the footprint
};

// A pass over the array, and, for a cache behind another, the end of it a few times more: what the nearer cache then
// holds is held here too, so that its own leftovers are not counted.
std::vector<ChaseStep> fill_steps(const Cache& cache, const ChaseArray& array) {
  std::vector<ChaseStep> steps = {warm_step(cache.site(), array)};
  constexpr std::uint64_t kNearerCaches = 4;
  constexpr std::uint64_t kTimes = 3;
  const std::uint64_t n = array.element_count();
  const std::uint64_t tail = std::min(n / 4, kNearerCaches * cache.nearer_bytes / array.stride_bytes);
  for (std::uint64_t i = 0; tail > 0 && i < kTimes; ++i) {
    steps.push_back({.kind = StepKind::kWarm, .loads = tail, .first = n - tail});
  }
  return steps;
}

// Latencies that a step keeps are in shared memory, which is taken from L1: the smallest carve-out must hold them.
std::uint64_t kept_window(const Site& site) { return site.exclusive ? 4096 : 512; }

// Positions of a backward reading in [begin, end) at which most copies miss. A load that hits may look slow (an
// outlier); one that misses never looks fast; so the majority is exact where the copies agree on what is resident.
std::uint64_t missed_in(Lab& lab, const Cache& cache, const ChaseArray& array, std::uint64_t begin, std::uint64_t end) {
  const Site& site = cache.site();
  const std::uint64_t window = kept_window(site);
  ChaseProgram program = make_program(site, {array}, fill_steps(cache, array));
  const std::size_t first_step = program.steps.size();
  program.timed_cap = static_cast<std::uint32_t>(window);
  for (std::uint64_t first = begin; first < end; first += window) {
    program.steps.push_back(
        {.kind = StepKind::kTimed, .loads = std::min(window, end - first), .chain = 1, .first = first});
  }
  const std::vector<ChaseResult> copies = lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, program));
  std::uint64_t missed = 0;
  for (std::size_t step = first_step; step < program.steps.size(); ++step) {
    for (std::size_t i = 0; i < program.steps[step].loads; ++i) {
      const auto hits = std::count_if(copies.begin(), copies.end(), [&](const ChaseResult& copy) {
        return copy.steps[step].latencies[i] < cache.hit_limit_cycles();
      });
      missed += 2 * static_cast<std::uint64_t>(hits) > copies.size() ? 0 : 1;
    }
  }
  return missed;
}

struct Region {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Where a backward reading turns from hits to misses, from a few loads at each of many places: too long an array to
// read whole.
// `rare_part`: of the way to the first place with misses, the part that is read too, for misses too rare to be seen in
// a place.
Region transition(Lab& lab, const Cache& cache, const ChaseArray& array, double rare_part) {
  constexpr std::uint64_t kPlaces = 128;
  constexpr std::uint64_t kLoads = 32;
  const std::uint64_t n = array.element_count();
  ChaseProgram program = make_program(cache.site(), {array}, {warm_step(cache.site(), array)});
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    program.steps.push_back({.kind = StepKind::kCounted, .loads = kLoads, .chain = 1, .first = place * n / kPlaces});
  }
  const ChaseResult result = lab.chase({program}).front();
  constexpr double kNearlyAll = 1 - 1.5 / kLoads;  // one slow load of a place may be an outlier
  std::uint64_t first_mixed = kPlaces;
  std::uint64_t last_mixed = 0;
  std::uint64_t middle = 0;
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    const double hits = hit_fraction(result.steps[place + 1], cache.hit_limit_cycles());
    if (hits > 0.5) middle = place;
    if (hits < kNearlyAll) first_mixed = std::min(first_mixed, place);
    if (hits > 0) last_mixed = place;
  }
  // Each place speaks for what follows it up to the next one: places of margin on either side.
  constexpr std::uint64_t kMargin = 3;
  const std::uint64_t spread = middle > first_mixed ? (middle - first_mixed) * 3 / 2 : 0;
  const auto rare =
      std::max(spread, static_cast<std::uint64_t>(rare_part * static_cast<double>(first_mixed))) + kMargin;
  const std::uint64_t begin = first_mixed < rare ? 0 : first_mixed - rare;
  const std::uint64_t end = last_mixed + std::max(spread, last_mixed / 4) + kMargin + 1;
  return {begin * n / kPlaces, std::min(n, end * n / kPlaces)};
}

// Bytes of an array of `bytes` that one pass leaves resident, read backwards; 0 where reading would take too long.
double resident_backwards(Lab& lab, const Cache& cache, double bytes, std::uint64_t stride) {
  const ChaseArray array = make_array(cache.site(), static_cast<std::uint64_t>(bytes), stride, Order::kReversed);
  Region region{0, array.element_count()};
  const auto takes_too_long = [&] {
    const auto loads = static_cast<double>(region.end - region.begin);
    return loads * cache.survey->levels.back().mode_cycles > lab.parameters().launch_cycles_limit;
  };
  if (cache.site().exclusive) {
    // Where sets of few ways fill unevenly single misses begin at an eighth of the way; where that is too much to read,
    // from two thirds on.
    region = transition(lab, cache, array, 7.0 / 8);
    if (takes_too_long()) region = transition(lab, cache, array, 1.0 / 3);
  }
  lab.log(fmt::format("size: of {} elements read {} to {}", array.element_count(), region.begin, region.end));
  if (takes_too_long()) return 0;
  // Past the region nothing hits. A miss may fetch more than one stride at once.
  const std::uint64_t missed = missed_in(lab, cache, array, region.begin, region.end);
  const double missed_bytes = static_cast<double>(missed * std::max(stride, cache.fetch_bytes));
  return static_cast<double>(region.end * stride) - missed_bytes;
}

// Doubles the footprint until what stays resident no longer grows: until every set is full.
Estimate resident_estimate(Lab& lab, const Cache& cache, double guess, std::uint64_t stride) {
  const Site& site = cache.site();
  double best = 0;
  double growth = 0;
  bool settled = false;
  for (double footprint = 2 * guess; footprint <= 32 * guess; footprint *= 2) {
    if (site.limit_bytes != 0 && footprint > static_cast<double>(site.limit_bytes)) break;
    double resident = resident_backwards(lab, cache, footprint, stride);
    // A little less than before: a neighbour's loads have driven out some of it.
    constexpr double kLittle = 0.01;
    constexpr int kAgain = 2;
    for (int again = 0; again < kAgain && resident < best && resident > (1 - kLittle) * best; ++again) {
      resident = std::max(resident, resident_backwards(lab, cache, footprint, stride));
    }
    if (resident > 0) growth = std::max(0.0, resident - best);
    const bool grew = resident > best;
    best = std::max(best, resident);
    lab.log(fmt::format("size: backwards over {:.0f} B: {:.0f} B resident", footprint, resident));
    settled = !grew && resident > 0;
    if (!grew) break;
  }
  const auto line = static_cast<double>(std::max(stride, cache.line_or_fetch_bytes()));
  return {best, {best - line, best + line + (settled ? 0 : growth)}, settled};
}

// Largest footprint that fits, between one that does and one that does not: both ends draw closer by the number of
// footprints that are tried at once.
Estimate fits_estimate(Lab& lab, const Cache& cache, std::uint64_t stride) {
  const Site& site = cache.site();
  const Parameters& parameters = lab.parameters();
  std::uint64_t fits = cache.fits_bytes / stride * stride;
  std::uint64_t exceeds = fits * 2;
  // The second footprint beyond: a neighbour may have spoilt the first one in the survey.
  std::uint32_t beyond = 0;
  for (const std::uint64_t footprint : cache.survey->footprints_bytes) {
    if (footprint > cache.fits_bytes && ++beyond == 2) exceeds = (footprint + stride - 1) / stride * stride;
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
      // Enough for one outlier not to look like a miss, however small the array.
      constexpr std::uint64_t kLeastLoads = 4096;
      const std::uint64_t loads = std::max(2 * n, std::clamp(4 * n, kLeastLoads, parameters.survey_loads));
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
      const double spread = 4 * std::sqrt((cache.noise + 1 / loads) / loads);
      if (misses > cache.noise + std::min(spread + 1.5 / loads, parameters.fits_tolerance)) {
        new_exceeds = footprints[i];
        lab.log(fmt::format("size: {} B misses {:.5f} (noise {:.5f}, spread {:.5f})", footprints[i], misses,
                            cache.noise, spread));
        break;
      }
      new_fits = footprints[i];
    }
    if (new_fits == fits && new_exceeds == exceeds) break;
    fits = new_fits;
    exceeds = new_exceeds;
  }
  const double slack = 2 * parameters.fits_tolerance * static_cast<double>(fits);
  return {static_cast<double>(fits),
          {static_cast<double>(fits) - std::max(slack, static_cast<double>(stride)), static_cast<double>(exceeds)}};
}

// Where hits of the cache and loads from memory overlap in latency (far L2 against near memory), residency counts some
// memory loads as hits. But loads that are clearly from memory appear only beyond the capacity C, as a * (1 - C/F) of a
// footprint F: a line in 1/F whose two coefficients give both the part `a` of memory loads that can be told, and C.
struct MemoryLoads {
  double told = 1;  // a
  Estimate capacity;
};

MemoryLoads clear_memory_loads(Lab& lab, const Cache& cache, std::uint64_t stride) {
  const Site& site = cache.site();
  const Survey& survey = *cache.survey;
  double base = static_cast<double>(survey.footprints_bytes.front());
  constexpr double kHardlyAny = 0.02;
  for (std::size_t i = 0; i < survey.footprints_bytes.size(); ++i) {
    if (1 - stats::fraction_below(survey.histograms[i], cache.hit_limit_cycles()) > kHardlyAny + cache.noise) break;
    base = static_cast<double>(survey.footprints_bytes[i]);
  }
  constexpr std::uint64_t kLoads = 8192;
  std::vector<double> inverse;
  std::vector<double> part;
  for (const double factor : {1.7, 2.0, 2.5, 3.0, 4.0}) {
    const ChaseArray array =
        make_array(site, static_cast<std::uint64_t>(factor * base), stride, Order::kShuffled, lab.seed());
    const std::uint64_t loads = std::min(kLoads, std::max(array.element_count() / 32, std::uint64_t{1}));
    const ChaseResult result =
        lab.chase({make_program(site, {array},
                                {warm_step(site, array), {.kind = StepKind::kCounted, .loads = loads, .chain = 1}})})
            .front();
    inverse.push_back(1 / static_cast<double>(array.bytes));
    part.push_back(std::max(0.0, 1 - hit_fraction(result.steps[1], cache.hit_limit_cycles()) - cache.noise));
  }
  const stats::Line line = stats::fit_line(inverse, part);
  MemoryLoads found;
  found.told = line.intercept;
  if (found.told <= 0) return found;
  std::vector<double> capacities;
  for (std::size_t i = 0; i < inverse.size(); ++i) capacities.push_back((1 - part[i] / line.intercept) / inverse[i]);
  found.capacity = {-line.slope / line.intercept, stats::mean_interval(capacities)};
  found.capacity.interval.low = std::min(found.capacity.interval.low, found.capacity.bytes);
  found.capacity.interval.high = std::max(found.capacity.interval.high, found.capacity.bytes);
  lab.log(
      fmt::format("size: {:.0f}% of memory loads are told; capacity {:.0f} B", 100 * found.told, found.capacity.bytes));
  return found;
}

// Whether footprints from `bytes` on miss with nearly every load when walked in order, as under LRU.
bool misses_all(const Cache& cache, double bytes) {
  const Survey& survey = *cache.survey;
  constexpr double kStillHits = 0.02;
  for (std::size_t i = 0; i < survey.footprints_bytes.size(); ++i) {
    if (static_cast<double>(survey.footprints_bytes[i]) >= bytes) {
      return 1 - stats::fraction_below(survey.histograms[i], cache.hit_limit_cycles()) >
             (1 - kStillHits) * cache.misses_at_most();
    }
  }
  return false;
}

// Which elements of a footprint are timed after a pass over it.
struct Sampling {
  ChaseArray array;  // of the first program: each has a seed of its own
  std::uint64_t per_program = 0;
  std::uint64_t programs = 0;
  // Elements of a line, and of what is fetched at once.
  double of_line = 1;
  double of_fetch = 1;

  [[nodiscard]] double elements() const { return static_cast<double>(array.element_count()); }
};

Sampling plan_sampling(const Lab& lab, const Cache& cache, double guess, double factor, std::uint64_t stride,
                       std::uint64_t wanted_samples) {
  const Site& site = cache.site();
  const Parameters& parameters = lab.parameters();
  Sampling sampling;
  sampling.array = make_array(site, static_cast<std::uint64_t>(guess * factor), stride, Order::kShuffled);
  sampling.of_fetch = static_cast<double>(std::max(cache.fetch_bytes, stride)) / static_cast<double>(stride);
  sampling.of_line = static_cast<double>(std::max(cache.line_or_fetch_bytes(), stride)) / static_cast<double>(stride);
  const double lines = std::max(1.0, guess / static_cast<double>(stride) / sampling.of_line);
  const double most = site.exclusive ? 32768 : 1024;
  // A few samples even of a cache of a few lines: what they evict is corrected for.
  const double few = std::clamp(lines / 4, 1.0, 4.0);
  sampling.per_program = static_cast<std::uint64_t>(std::clamp(parameters.sampled_part * lines, few, most));
  // Programs that run alone take turns: as many as touch a bounded number of lines. More behind another cache, where
  // the nearer one's size may be a good part of this one's, and what is as young tells little.
  constexpr double kTouches = 1.5e7;
  constexpr double kTouchesBehind = 6e7;
  const double touches = cache.nearer_bytes > 0 ? kTouchesBehind : kTouches;
  const std::uint64_t programs_limit =
      site.exclusive ? static_cast<std::uint64_t>(std::clamp(touches / sampling.elements(), 6.0, 3000.0))
                     : parameters.residency_programs_limit;
  sampling.programs =
      std::clamp(wanted_samples / sampling.per_program, std::uint64_t{parameters.copies}, programs_limit);
  return sampling;
}

ChaseArray array_of_program(const Lab& lab, const Sampling& sampling, std::uint64_t program) {
  ChaseArray array = sampling.array;
  array.seed = lab.seed() * 1000 + program + 1;
  return array;
}

// Programs that a neighbour disturbed find far less hits than the others do, which find this many.
double least_undisturbed(const std::vector<std::uint64_t>& hits_of) {
  const std::vector<double> sorted(hits_of.begin(), hits_of.end());
  const double middle = stats::median(sorted);
  constexpr double kDeviations = 5;
  return middle - kDeviations * std::sqrt(std::max(1.0, middle));
}

// Timing a random sample of an array disturbs what it finds: a miss evicts a resident line, so that later samples hit a
// little less. The mean hit ratio of a program's samples over that of the first, which is `hits`.
double mean_part_left(double hits, const Sampling& sampling) {
  const double n = sampling.elements();
  const double held = std::max(1.0, hits * n);  // elements of the cache, all of them of the array
  const auto samples = static_cast<double>(sampling.per_program);
  double resident = held;
  double sum = 0;
  for (double sampled = 0; sampled < samples; ++sampled) {
    const double hit = resident / (n - sampled);
    sum += hit;
    // A miss evicts all of a line, and brings what is fetched with the sample.
    const double evicted = sampling.of_line * resident / held - (sampling.of_fetch - 1);
    resident -= hit + (1 - hit) * evicted;
  }
  constexpr double kLeast = 0.5;
  return std::max(kLeast, sum / samples / (held / n));
}

// The bytes that a part of an array is, `left` of it after what samples evicted.
stats::Interval with_correction_error(const stats::Interval& part, double left, double scale) {
  // Which lines are evicted depends on the replacement; that it is resident ones, not sampled yet, hardly does.
  constexpr double kCorrectionError = 0.1;
  const double systematic = kCorrectionError * (1 - left);
  return {part.low * scale * (1 - systematic), part.high * scale * (1 + systematic)};
}

// Bytes that a pass leaves in a cache behind another.
SampledResidency sampled_behind(Lab& lab, const Cache& cache, double limit_cycles, const Sampling& sampling) {
  const Site& site = cache.site();
  const std::uint64_t window = kept_window(site);
  std::vector<ChaseProgram> programs;
  for (std::uint64_t i = 0; i < sampling.programs; ++i) {
    const ChaseArray array = array_of_program(lab, sampling, i);
    ChaseProgram& program = programs.emplace_back(make_program(site, {array}, {warm_step(site, array)}));
    program.timed_cap = static_cast<std::uint32_t>(window);
    for (std::uint64_t first = 0; first < sampling.per_program; first += window) {
      const std::uint64_t loads = std::min(window, sampling.per_program - first);
      program.steps.push_back({.kind = StepKind::kTimed, .loads = loads, .chain = 1, .first = first});
    }
  }
  const std::vector<ChaseResult> results = lab.chase(programs);
  std::vector<std::uint64_t> hits_of;
  for (const ChaseResult& result : results) {
    std::uint64_t& hits = hits_of.emplace_back();
    for (const StepResult& step : result.steps) {
      hits += stats::summarise_band(step.histogram, 0, limit_cycles).count;
    }
  }
  const double least = least_undisturbed(hits_of);
  // Some for what the nearer cache holds.
  constexpr std::uint64_t kBinsOfNearer = 4;
  constexpr std::uint64_t kSamplesInBin = 30;
  const std::uint64_t most_bins = 1 + sampling.programs * sampling.per_program / kSamplesInBin;
  ResidencyByAge by_age(std::min(most_bins, 1 + kBinsOfNearer * sampling.array.bytes / cache.nearer_bytes));
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (static_cast<double>(hits_of[i]) < least) continue;
    const std::vector<std::uint32_t> order = chain_order(programs[i].arrays.front(), 1, sampling.per_program);
    std::size_t sample = 0;
    for (const StepResult& step : results[i].steps) {
      for (const std::uint32_t latency : step.latencies) {
        const double age = 1 - (order[sample++] + 0.5) / sampling.elements();
        by_age.add(age, latency < cache.hit_floor_cycles(), latency < limit_cycles);
      }
    }
  }
  const ResidencyByAge::Part part = by_age.part();
  const double left = mean_part_left(part.value, sampling);
  const double scale = static_cast<double>(sampling.array.bytes) / (1 - cache.noise) / left;
  return {part.value * scale, with_correction_error(part.interval, left, scale), by_age.old_part(part.value)};
}

}  // namespace

// Declared in size.h, for the carve-outs and the L2 partitions.
SampledResidency sampled_residency(Lab& lab, const Cache& cache, double limit_cycles, double guess, double factor,
                                   std::uint64_t stride, std::uint64_t wanted_samples) {
  const Sampling sampling = plan_sampling(lab, cache, guess, factor, stride, wanted_samples);
  if (cache.nearer_bytes > 0) return sampled_behind(lab, cache, limit_cycles, sampling);
  std::vector<ChaseProgram> programs;
  for (std::uint64_t i = 0; i < sampling.programs; ++i) {
    const ChaseArray array = array_of_program(lab, sampling, i);
    std::vector<ChaseStep> steps = fill_steps(cache, array);
    steps.push_back({.kind = StepKind::kCounted, .loads = sampling.per_program, .chain = 1});
    programs.push_back(make_program(cache.site(), {array}, std::move(steps)));
  }
  std::vector<std::uint64_t> hits_of;
  for (const ChaseResult& result : lab.chase(programs)) {
    hits_of.push_back(stats::summarise_band(result.steps.back().histogram, 0, limit_cycles).count);
  }
  const double least = least_undisturbed(hits_of);
  std::uint64_t hits = 0;
  std::uint64_t samples = 0;
  for (const std::uint64_t found : hits_of) {
    if (static_cast<double>(found) < least) continue;
    hits += found;
    samples += sampling.per_program;
  }
  const double raw = static_cast<double>(hits) / static_cast<double>(samples);
  const double left = mean_part_left(raw, sampling);
  const double scale = static_cast<double>(sampling.array.bytes) / (1 - cache.noise) / left;
  return {raw * scale, with_correction_error(stats::proportion_interval(hits, samples), left, scale), 0};
}

Capacity estimate_capacity(Lab& lab, const Cache& cache, const Effort& effort) {
  const Site& site = cache.site();
  const bool behind = cache.nearer_bytes > 0;
  // One load a line, which is what is evicted. Behind another cache every fetch of that one: a load a line would let it
  // hold as many of these lines as it has of its own, which may be more than this cache does.
  const std::uint64_t stride = behind ? cache.survey->fetch_bytes : cache.line_or_fetch_bytes();
  const double guess = std::max(cache.held_bytes(), static_cast<double>(stride));
  Capacity capacity;
  if (site.exclusive && cache.last_level > cache.first_level) {
    constexpr double kNearlyAllTold = 0.9;
    // Cold loads come from memory, all of them: those that look like hits cannot be told.
    const bool overlap = stats::fraction_below(cache.survey->cold, cache.hit_limit_cycles()) > 1 - kNearlyAllTold;
    const MemoryLoads memory = overlap ? clear_memory_loads(lab, cache, stride) : MemoryLoads{};
    constexpr double kEnoughLines = 1 << 16;  // of the guess: for a proportion of 1% or so
    // Only where far hits exist for near memory to hide among, and only if the line explains all footprints alike.
    constexpr double kAlike = 0.12;
    const double half_width = (memory.capacity.interval.high - memory.capacity.interval.low) / 2;
    if (guess > kEnoughLines * static_cast<double>(stride) && memory.told > 0 && memory.told < kNearlyAllTold &&
        half_width < kAlike * memory.capacity.bytes) {
      capacity.bytes = std::round(memory.capacity.bytes);
      capacity.interval = memory.capacity.interval;
      capacity.method = "clear_memory_loads";
      capacity.conditions = lab.conditions();
      return capacity;
    }
  }
  const Estimate resident = resident_estimate(lab, cache, guess, stride);
  Estimate best = resident;
  capacity.method = "resident_backwards";
  if (!site.exclusive) {
    const Estimate fits = fits_estimate(lab, cache, stride);
    capacity.first_miss_bytes = fits.bytes;
    // Behind another cache a footprint also fits when the two hold it together: no lower bound of this one. And it may
    // be as much too large as its interval says: where reading backwards is exact (LRU), a little more proves nothing.
    const bool more = misses_all(cache, 2 * resident.bytes) ? fits.interval.low > best.bytes : fits.bytes > best.bytes;
    if (more && !behind) {
      best = fits;
      capacity.method = "largest_fitting_footprint";
    }
  }
  // Sampling: a quick look where the others are exact, the full sample where they may not be: where walking twice the
  // capacity in order still hits, the replacement is not LRU.
  const auto line = static_cast<double>(std::max(stride, cache.line_or_fetch_bytes()));
  const double base = std::max(best.bytes, guess);
  // A block touches all of L2 many times faster than one thread reads it back: where that had to end while what stays
  // resident still grew, sampling has the footprint that it takes.
  constexpr double kUnsettledCapacities = 8;
  const double exclusive_factor = resident.bytes == 0 || resident.settled ? 2 : kUnsettledCapacities;
  const double wanted_factor = site.exclusive ? exclusive_factor : lab.parameters().sampled_capacities;
  const double factor =
      site.limit_bytes == 0 ? wanted_factor : std::min(wanted_factor, static_cast<double>(site.limit_bytes) / base);
  constexpr double kLeastFactor = 1.5;
  if (factor >= kLeastFactor) {
    bool exact = site.exclusive ? resident.bytes > 0 : misses_all(cache, 2 * base);
    double packed = cache.packed_bytes();
    if (!exact && packed == 0) packed = packed_bytes(lab, cache);
    // What reading backwards over-counts under another replacement than LRU, packing does not.
    // A line or two more of them is one that seemed to fit.
    constexpr double kBeyondExact = 1.01;
    if (packed > 0 && (packed > kBeyondExact * best.bytes || !exact)) {
      best = {packed, {packed - line, packed + line}};
      capacity.method = "packed_places";
    }
    const auto sample = [&](double capacities, std::uint64_t samples) {
      return sampled_residency(lab, cache, cache.hit_limit_cycles(), base, capacities, stride, samples);
    };
    // An exact view stands unless the full sample is clearly above it. One error of the quick look is enough to ask for
    // the full one.
    const auto above_by = [&](const SampledResidency& sampled, double standard_errors) {
      constexpr double kErrorsInInterval = 1.96;
      const double error = (sampled.bytes - sampled.interval.low) / kErrorsInInterval;
      return sampled.bytes - standard_errors * error > best.bytes;
    };
    try {
      SampledResidency sampled = sample(factor, exact || packed > 0 ? effort.quick_samples : effort.full_samples);
      // Reading backwards is exact where the oldest is replaced. Elsewhere it finds too little, whatever the footprint.
      constexpr double kStillHits = 0.02;
      const bool in_turn = sampled.old_part <= kStillHits;
      if (exact && packed == 0 && !in_turn) {
        exact = false;
        sampled = sample(std::min(factor, lab.parameters().sampled_capacities), effort.full_samples);
      } else if (exact && packed == 0 && (above_by(sampled, 1) || !resident.settled)) {
        sampled = sample(factor, effort.full_samples);
      }
      // Elsewhere the largest footprint that fits is only a lower bound: it takes less to be above that.
      const double clearly = exact && resident.settled ? 4.5 : 2;
      if (packed == 0 && above_by(sampled, clearly)) {
        best = {std::round(sampled.bytes / line) * line,
                {sampled.interval.low - line / 2, sampled.interval.high + line / 2}};
        capacity.method = "sampled_residency";
      } else if (packed == 0 && !exact) {
        best.interval.high = std::max(best.interval.high, sampled.interval.high);
      }
      capacity.sampled_bytes = sampled.bytes;
    } catch (const Inconclusive& error) {
      if (!exact && packed == 0) throw;
      lab.log(fmt::format("size: not sampled: {}", error.what()));
    }
  }
  if (best.bytes <= 0) {
    throw Inconclusive(
        fmt::format("footprints up to {} B fit, and arrays large enough to exceed it clearly are not possible here",
                    cache.fits_bytes));
  }
  capacity.bytes = std::round(best.bytes);
  capacity.interval = best.interval;
  capacity.conditions = lab.conditions();
  capacity.resident_bytes = resident.bytes;
  for (std::size_t i = 0; i < cache.survey->footprints_bytes.size(); ++i) {
    constexpr double kNothingHits = 0.01;
    if (stats::fraction_below(cache.survey->histograms[i], cache.hit_limit_cycles()) < kNothingHits) {
      capacity.all_miss_bytes = static_cast<double>(cache.survey->footprints_bytes[i]);
      break;
    }
  }
  lab.log(fmt::format("size: {} {:.0f} B [{:.0f}, {:.0f}]; resident {:.0f}, fits {:.0f}, sampled {:.0f}",
                      capacity.method, capacity.bytes, capacity.interval.low, capacity.interval.high,
                      capacity.resident_bytes, capacity.first_miss_bytes, capacity.sampled_bytes));
  return capacity;
}

SampleTable sweep_table(const Survey& survey) {
  SampleTable table = make_table("sweep", Plot::kDensity, {footprint_axis(), raw_latency_axis(), load_counts()});
  table.timer_cycles = survey.timer_cycles;
  table.marks = {"first_miss_bytes", "all_miss_bytes", "change_point_bytes", "resident_backwards_bytes",
                 "sampled_residency_bytes"};
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

namespace {

// Where the part of the loads that miss changes most, by the method of the seeds (stats/change_point.h): between two
// footprints of the survey, so no finer than those. Evidence beside the value, which the residency decides.
std::optional<double> change_point_bytes(const Cache& cache) {
  const Survey& survey = *cache.survey;
  std::vector<double> misses;
  for (const stats::Histogram& histogram : survey.histograms) {
    misses.push_back(1 - stats::fraction_below(histogram, cache.hit_limit_cycles()));
  }
  const std::optional<stats::ChangePoint> change = stats::find_change_point(misses);
  if (!change) return std::nullopt;
  const auto before = static_cast<double>(survey.footprints_bytes[change->index - 1]);
  const auto after = static_cast<double>(survey.footprints_bytes[change->index]);
  return std::round(std::sqrt(before * after));
}

}  // namespace

Capacity find_capacity(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so it is at least that large");
  constexpr std::uint64_t kQuickSamples = 12000;
  return estimate_capacity(lab, cache, {kQuickSamples, lab.parameters().residency_samples});
}

Attribute to_attribute(const Cache& cache, const Capacity& capacity, bool keep_samples) {
  Attribute attribute =
      measured(capacity.conditions, static_cast<std::int64_t>(capacity.bytes), "B", capacity.interval, capacity.method);
  const auto add_bytes = [&](const char* name, double bytes) {
    if (bytes > 0) attribute.add_detail(name, static_cast<std::int64_t>(bytes));
  };
  add_bytes("first_miss_bytes", capacity.first_miss_bytes);
  add_bytes("all_miss_bytes", capacity.all_miss_bytes);
  add_bytes("change_point_bytes", change_point_bytes(cache).value_or(0));
  add_bytes("resident_backwards_bytes", capacity.resident_bytes);
  add_bytes("sampled_residency_bytes", capacity.sampled_bytes);
  if (keep_samples) attribute.samples.push_back(sweep_table(*cache.survey));
  return attribute;
}

}  // namespace gputopo::probe
