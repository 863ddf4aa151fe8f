#include "probe/capacity/resident_backwards.h"

#include <fmt/format.h>

#include "probe/capacity/resident_backwards_decision.h"

namespace gputopo::probe {
namespace {

constexpr ResidentBackwardsParameters kResidentBackwardsParameters;

// A pass over the array. For a cache behind another, also a few more passes over its end.
std::vector<ChaseStep> fill_steps(const Cache& cache, const ChaseArray& array) {
  std::vector<ChaseStep> steps = {warm_step(cache.site(), array)};
  const std::uint64_t n = array.element_count();
  const std::uint64_t tail =
      std::min(n / 4, kResidentBackwardsParameters.nearer_caches * cache.nearer_bytes / array.stride_bytes);
  for (std::uint64_t i = 0; tail > 0 && i < kResidentBackwardsParameters.nearer_times; ++i) {
    steps.push_back({.kind = StepKind::kWarm, .loads = tail, .first = n - tail});
  }
  return steps;
}

struct Reading {
  ChaseArray array;
  Region region;
};

std::vector<Missed> missed_in(ProbeRunner& runner, const Cache& cache, const std::vector<Reading>& readings) {
  const std::uint32_t copies = runner.parameters().copies;
  std::vector<ChaseProgram> programs;
  for (const Reading& reading : readings) {
    ChaseProgram program = make_program(cache.site(), {reading.array}, fill_steps(cache, reading.array));
    add_timed_steps(program, reading.region.begin, reading.region.end);
    programs.insert(programs.end(), copies, program);
  }
  const std::vector<ChaseResult> results = runner.chase(programs);
  std::vector<Missed> missed;
  for (std::size_t first = 0; first < results.size(); first += copies) {
    Missed& own = missed.emplace_back();
    const std::size_t first_step = fill_steps(cache, programs[first].arrays.front()).size();
    for (std::size_t step = first_step; step < programs[first].steps.size(); ++step) {
      std::vector<std::span<const std::uint32_t>> latencies;
      for (std::size_t i = first; i < first + copies; ++i) latencies.emplace_back(results[i].steps[step].latencies);
      const Missed of_step = count_missed(latencies, cache.hit_limit_cycles());
      own.by_most += of_step.by_most;
      own.by_all += of_step.by_all;
    }
  }
  return missed;
}

// Hit ratio at each of many places of an array, read backwards after a pass over it.
std::vector<double> hits_at_places(ProbeRunner& runner, const Cache& cache, const ChaseArray& array) {
  const std::uint64_t places = kResidentBackwardsParameters.places;
  ChaseProgram program = make_program(cache.site(), {array}, {warm_step(cache.site(), array)});
  for (std::uint64_t place = 0; place < places; ++place) {
    program.steps.push_back({.kind = StepKind::kCounted,
                             .loads = kResidentBackwardsParameters.loads_of_place,
                             .chain = 1,
                             .first = place * array.element_count() / places});
  }
  const ChaseResult result = runner.chase({program}).front();
  std::vector<double> hits;
  for (std::uint64_t place = 0; place < places; ++place) {
    hits.push_back(hit_fraction(result.steps[place + 1], cache.hit_limit_cycles()));
  }
  return hits;
}

struct FoundReading {
  std::optional<Reading> reading;  // nothing if reading would take too long or tell nothing
  bool by_chance = false;          // eviction is random
};

FoundReading find_reading(ProbeRunner& runner, const Cache& cache, double bytes, std::uint64_t stride_bytes) {
  Reading reading{.array = make_array(cache.site(), static_cast<std::uint64_t>(bytes), stride_bytes, Order::kReversed)};
  const std::uint64_t elements = reading.array.element_count();
  Region& region = reading.region;
  region = {0, elements};
  const auto takes_too_long = [&] {
    const auto loads = static_cast<double>(region.end - region.begin);
    return loads * cache.survey->levels.back().mode_cycles > runner.parameters().launch_cycles_limit;
  };
  if (cache.site().exclusive) {
    // The array is too long to read whole. A region suffices if the resident part is in one piece.
    const std::vector<double> hits = hits_at_places(runner, cache, reading.array);
    region = turning_region(hits, elements, kResidentBackwardsParameters.rare_part);
    if (is_scattered(hits, kResidentBackwardsParameters) &&
        has_random_eviction(hits, hits_at_places(runner, cache, reading.array), kResidentBackwardsParameters)) {
      runner.log(fmt::format("size: two checks of {} elements found different elements resident: eviction is random",
                             elements));
      return {.by_chance = true};
    }
    if (takes_too_long()) {
      // A neighbor may have disturbed the first look.
      region = turning_region(hits_at_places(runner, cache, reading.array), elements,
                              kResidentBackwardsParameters.short_rare_part);
    }
  }
  runner.log(fmt::format("size: the array has {} elements; elements {} to {} are read backwards", elements,
                         region.begin, region.end));
  return {.reading = takes_too_long() ? std::nullopt : std::optional(reading)};
}

// Resident part after one pass over each array, read backwards. Ends with 0 at the first array that cannot be read.
std::vector<ResidentInCopies> resident_backwards(ProbeRunner& runner, const Cache& cache,
                                                 const std::vector<double>& bytes, std::uint64_t stride_bytes) {
  std::vector<Reading> readings;
  bool by_chance = false;
  for (const double of_array : bytes) {
    const FoundReading found = find_reading(runner, cache, of_array, stride_bytes);
    by_chance = found.by_chance;
    if (!found.reading) break;
    readings.push_back(*found.reading);
  }
  std::vector<ResidentInCopies> residents;
  const std::vector<Missed> missed = readings.empty() ? std::vector<Missed>{} : missed_in(runner, cache, readings);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    // Nothing hits past the region. A miss may fetch more than one stride at once.
    const auto resident = [&](std::uint64_t misses) {
      const std::uint64_t missed_bytes = misses * std::max(stride_bytes, cache.fetch_bytes);
      return static_cast<double>(readings[i].region.end * stride_bytes) - static_cast<double>(missed_bytes);
    };
    residents.push_back({.bytes = resident(missed[i].by_most), .most_bytes = resident(missed[i].by_all)});
  }
  if (readings.size() < bytes.size()) residents.push_back({.by_chance = by_chance});
  return residents;
}

}  // namespace

SizeView view_resident(ProbeRunner& runner, const Cache& cache, double guess_bytes, double most_guesses,
                       std::uint64_t stride_bytes) {
  ResidentSearch search(guess_bytes, most_guesses, cache.site().limit_bytes, kResidentBackwardsParameters);
  while (true) {
    std::vector<double> footprints = search.next_footprints();
    if (footprints.empty()) break;
    // Programs that run alone gain nothing from one batch.
    if (cache.site().exclusive) footprints.erase(footprints.begin() + 1, footprints.end());
    const std::vector<ResidentInCopies> residents = resident_backwards(runner, cache, footprints, stride_bytes);
    for (std::size_t i = 0; i < residents.size() && !search.next_footprints().empty(); ++i) {
      runner.log(
          fmt::format("size: reading {:.0f} B backwards: {:.0f} B resident in most runs of the program, {:.0f} B in "
                      "at least one run",
                      footprints[i], residents[i].bytes, residents[i].most_bytes));
      search.add(residents[i]);
    }
  }
  return search.found(static_cast<double>(std::max(stride_bytes, cache.line_or_fetch_bytes())));
}

}  // namespace gputopo::probe
