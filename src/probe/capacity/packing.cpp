#include "probe/capacity/packing.h"

#include <fmt/format.h>

#include <numeric>

namespace gputopo::probe {
namespace {

constexpr PackingParameters kPackingParameters;

template <typename Value>
std::vector<Value> chosen(const std::vector<Value>& all, const std::vector<std::size_t>& indices) {
  std::vector<Value> some;
  for (const std::size_t i : indices) some.push_back(all[i]);
  return some;
}

}  // namespace

FitTest::FitTest(ProbeRunner& runner, const Cache& cache, ChaseArray array, const std::vector<PackingPlace>& places)
    : runner_(runner), cache_(cache), array_(std::move(array)), places_(places) {
  learn_false_misses(runner.parameters().copies);
}

void FitTest::learn_false_misses(std::size_t copies) {
  // The loads must be hits of this very cache: a hit in a nearer one takes a longer delay to look like a miss.
  const bool is_nearest = cache_.nearer_bytes == 0;
  const std::uint64_t past_nearer = std::max(2 * cache_.nearer_bytes, cache_.fits_bytes / 2);
  const std::uint64_t bytes = is_nearest ? runner_.parameters().tiny_bytes : std::min(past_nearer, cache_.fits_bytes);
  const std::uint64_t stride = is_nearest ? cache_.fetch_bytes : cache_.nearest_fetch_bytes();
  const ChaseArray hits = make_array(cache_.site(), bytes, std::max(kMinimumStrideBytes, stride));
  // Each copy's loads are split over several programs, which run at the same time if possible.
  constexpr std::size_t kParts = 5;
  const ChaseProgram program =
      make_program(cache_.site(), {hits},
                   {{.kind = StepKind::kWarm, .loads = 4 * hits.element_count()},
                    {.kind = StepKind::kCounted, .loads = kPackingParameters.hit_loads / kParts}});
  const std::vector<ChaseResult> results = runner_.chase(std::vector<ChaseProgram>(kParts * copies, program));
  std::vector<double> counts(copies, 0);
  for (std::size_t i = 0; i < results.size(); ++i) counts[i / kParts] += band_count(results[i].steps.back().histogram);
  false_misses_ = false_misses_of(counts, static_cast<double>(kPackingParameters.hit_loads), kPackingParameters);
}

void FitTest::sharpen(double elements) {
  const double times = times_to_learn(elements, false_misses_, cache_.site().exclusive, kPackingParameters);
  if (times > 1) learn_false_misses(static_cast<std::size_t>(times * runner_.parameters().copies));
}

double FitTest::error(double elements) const { return error_of_misses(elements, false_misses_, kPackingParameters); }

// One copy reveals most groups that do not fit: they miss at least once per pass, far from none if few hits look like
// misses. A neighbor may disturb one copy, but hardly the next one as well. Groups that seem to fit in either look
// are decided by the median of several copies.
std::vector<bool> FitTest::fit(const std::vector<Group>& groups, const Group& taken) {
  std::vector<std::size_t> missing(groups.size());
  std::iota(missing.begin(), missing.end(), std::size_t{0});
  std::vector<std::size_t> undecided;
  for (int look = 0; look < kPackingParameters.looks; ++look) {
    const std::vector<double> misses = misses_per_pass(chosen(groups, missing), taken, 1);
    std::vector<std::size_t> again;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const double elements = elements_in(taken) + elements_in(groups[missing[i]]);
      (misses_many(misses[i], error(elements), kPackingParameters) ? again : undecided).push_back(missing[i]);
    }
    missing = std::move(again);
  }
  std::vector<bool> answers(groups.size());
  const std::vector<double> misses = misses_per_pass(chosen(groups, undecided), taken, runner_.parameters().copies);
  for (std::size_t i = 0; i < undecided.size(); ++i) answers[undecided[i]] = misses[i] < kDecision;
  return answers;
}

std::vector<double> FitTest::misses_per_pass(const std::vector<Group>& groups, const Group& taken, std::size_t copies) {
  std::vector<ChaseProgram> programs;
  for (const Group& group : groups) programs.insert(programs.end(), copies, program_of(taken, group));
  if (programs.empty()) return {};
  const std::vector<ChaseResult> results = runner_.chase(programs);
  std::vector<double> misses;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<double> counts;
    for (std::size_t copy = g * copies; copy < (g + 1) * copies; ++copy) {
      counts.push_back(band_count(results[copy].steps.back().histogram));
    }
    const auto loads = static_cast<double>(results[g * copies].steps.back().loads);
    misses.push_back(misses_a_pass(counts, loads, elements_in(taken) + elements_in(groups[g]), false_misses_));
  }
  return misses;
}

double FitTest::nearer_per_pass(const Group& group, std::size_t copies) {
  if (cache_.nearer_bytes == 0 || group.empty()) return 0;
  std::vector<double> parts;
  for (const ChaseResult& result : runner_.chase(std::vector<ChaseProgram>(copies, program_of({}, group)))) {
    parts.push_back(stats::fraction_below(result.steps.back().histogram, cache_.hit_floor_cycles()));
  }
  return stats::median(parts) * elements_in(group);
}

double FitTest::band_count(const stats::Histogram& histogram) const {
  const auto& levels = cache_.survey->levels;
  const std::size_t next = std::min(cache_.last_level + 2, levels.size() - 1);
  const double limit = cache_.hit_limit_cycles();
  return static_cast<double>(stats::summarise_band(histogram, limit, levels[next].high_cycles).count);
}

double FitTest::elements_in(const Group& group) const {
  std::size_t count = 0;
  for (const std::uint32_t place : group) count += places_[place].size();
  return static_cast<double>(count);
}

ChaseProgram FitTest::program_of(const Group& taken, const Group& group) const {
  ChaseArray array = array_;
  for (const Group* part : {&taken, &group}) {
    for (const std::uint32_t place : *part) {
      array.elements.insert(array.elements.end(), places_[place].begin(), places_[place].end());
    }
  }
  std::ranges::sort(array.elements);
  const std::uint64_t n = array.elements.size();
  const auto counted =
      static_cast<std::uint64_t>(passes_over(static_cast<double>(n), false_misses_, kPackingParameters)) * n;
  // The two walks before use different orders, so that a policy that depends on the order keeps no foreign line.
  return make_program(cache_.site(), {array},
                      {{.kind = StepKind::kWarm, .loads = 2 * n, .chain = 1},
                       {.kind = StepKind::kWarm, .loads = n},
                       {.kind = StepKind::kCounted, .loads = counted}});
}

Packed pack(ProbeRunner& runner, const Cache& cache, const ChaseArray& array, const std::vector<PackingPlace>& places,
            std::size_t first, double patience) {
  FitTest test(runner, cache, array, places);
  const PackingTrial trial = [&](const std::vector<PackingGroup>& groups, const PackingGroup& taken) {
    return test.fit(groups, taken);
  };
  Packed packed{.places = PackingSearch(places.size(), first, patience, trial, kPackingParameters).run()};
  packed.nearer_elements = test.nearer_per_pass(packed.places, runner.parameters().copies);
  return packed;
}

double packed_bytes(ProbeRunner& runner, const Cache& cache) {
  // Behind another cache, an element is one fetch of that cache: with one load per line it could hold as many of
  // these lines as it has lines of its own, perhaps all lines of this cache.
  const std::uint64_t element = cache.nearest_fetch_bytes();
  const std::uint64_t place = std::max(element, cache.line_or_fetch_bytes());
  const double guess = std::max(cache.held_bytes(), static_cast<double>(place));
  if (cache.site().exclusive || guess > kPackingParameters.max_places * static_cast<double>(place)) return 0;
  const auto wanted = static_cast<std::uint64_t>(kPackingParameters.capacities * guess);
  const ChaseArray array = make_array(cache.site(), wanted / place * place, element, Order::kShuffled);
  const auto in_place = static_cast<std::uint32_t>(place / element);
  std::vector<PackingPlace> places;
  for (std::uint32_t i = 0; i + in_place <= array.element_count(); i += in_place) {
    PackingPlace& elements = places.emplace_back(cache.nearer_bytes > 0 ? in_place : 1);
    std::iota(elements.begin(), elements.end(), i);
  }
  const auto first = static_cast<std::size_t>(guess / static_cast<double>(place));
  const Packed packed = pack(runner, cache, array, places, first);
  const double bytes = static_cast<double>(packed.places.size() * place);
  const double nearer_bytes = packed.nearer_elements * static_cast<double>(element);
  runner.log(
      fmt::format("packed: {:.0f} B stay resident together, in pieces of {} B; a nearer cache holds {:.1f} B of them",
                  bytes, place, nearer_bytes));
  return nearer_bytes < kPackingParameters.nearer_places * static_cast<double>(place) ? bytes : 0;
}

}  // namespace gputopo::probe
