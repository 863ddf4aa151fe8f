#include <fmt/format.h>

#include "probe/resident_backwards_decision.h"
#include "probe/size_views.h"

namespace gputopo::probe {
namespace {

constexpr ResidentBackwardsParameters kResidentBackwardsParameters;

// A pass over the array, and, for a cache behind another, the end of it a few times more.
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

// Elements of the region that a backward reading misses.
Missed missed_in(Lab& lab, const Cache& cache, const ChaseArray& array, const Region& region) {
  ChaseProgram program = make_program(cache.site(), {array}, fill_steps(cache, array));
  const std::size_t first_step = program.steps.size();
  add_timed_steps(program, region.begin, region.end);
  const std::vector<ChaseResult> copies = lab.chase(std::vector<ChaseProgram>(lab.parameters().copies, program));
  Missed missed;
  for (std::size_t step = first_step; step < program.steps.size(); ++step) {
    std::vector<std::span<const std::uint32_t>> latencies;
    for (const ChaseResult& copy : copies) latencies.emplace_back(copy.steps[step].latencies);
    const Missed of_step = count_missed(latencies, cache.hit_limit_cycles());
    missed.by_most += of_step.by_most;
    missed.by_all += of_step.by_all;
  }
  return missed;
}

// Where a backward reading turns from hits to misses, from a few loads at each of many places: too long an array to
// read whole.
Region find_turning_region(Lab& lab, const Cache& cache, const ChaseArray& array, double rare_part) {
  const std::uint64_t places = kResidentBackwardsParameters.places;
  ChaseProgram program = make_program(cache.site(), {array}, {warm_step(cache.site(), array)});
  for (std::uint64_t place = 0; place < places; ++place) {
    program.steps.push_back({.kind = StepKind::kCounted,
                             .loads = kResidentBackwardsParameters.loads_of_place,
                             .chain = 1,
                             .first = place * array.element_count() / places});
  }
  const ChaseResult result = lab.chase({program}).front();
  std::vector<double> hits;
  for (std::uint64_t place = 0; place < places; ++place) {
    hits.push_back(hit_fraction(result.steps[place + 1], cache.hit_limit_cycles()));
  }
  return turning_region(hits, array.element_count(), rare_part, kResidentBackwardsParameters);
}

// Of an array of `bytes` what one pass leaves resident, read backwards; 0 where reading would take too long.
ResidentInCopies resident_backwards(Lab& lab, const Cache& cache, double bytes, std::uint64_t stride_bytes) {
  const ChaseArray array = make_array(cache.site(), static_cast<std::uint64_t>(bytes), stride_bytes, Order::kReversed);
  Region region{0, array.element_count()};
  const auto takes_too_long = [&] {
    const auto loads = static_cast<double>(region.end - region.begin);
    return loads * cache.survey->levels.back().mode_cycles > lab.parameters().launch_cycles_limit;
  };
  if (cache.site().exclusive) {
    region = find_turning_region(lab, cache, array, kResidentBackwardsParameters.rare_part);
    if (takes_too_long()) region = find_turning_region(lab, cache, array, kResidentBackwardsParameters.short_rare_part);
  }
  lab.log(fmt::format("size: of {} elements read {} to {}", array.element_count(), region.begin, region.end));
  if (takes_too_long()) return {};
  const Missed missed = missed_in(lab, cache, array, region);
  // Past the region nothing hits. A miss may fetch more than one stride at once.
  const auto resident = [&](std::uint64_t misses) {
    const std::uint64_t missed_bytes = misses * std::max(stride_bytes, cache.fetch_bytes);
    return static_cast<double>(region.end * stride_bytes) - static_cast<double>(missed_bytes);
  };
  return {resident(missed.by_most), resident(missed.by_all)};
}

}  // namespace

SizeView view_resident(Lab& lab, const Cache& cache, double guess_bytes, double most_guesses,
                       std::uint64_t stride_bytes) {
  ResidentSearch search(guess_bytes, most_guesses, cache.site().limit_bytes, kResidentBackwardsParameters);
  while (const std::optional<double> footprint = search.next_footprint()) {
    const ResidentInCopies resident = resident_backwards(lab, cache, *footprint, stride_bytes);
    lab.log(fmt::format("size: backwards over {:.0f} B: {:.0f} B resident, {:.0f} in any copy", *footprint,
                        resident.bytes, resident.most_bytes));
    search.add(resident);
  }
  return search.found(static_cast<double>(std::max(stride_bytes, cache.line_or_fetch_bytes())));
}

}  // namespace gputopo::probe
