#include "probe/packing.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <numeric>

namespace gputopo::probe {

FitTest::FitTest(Lab& lab, const Cache& cache, ChaseArray array, const std::vector<PackingPlace>& places)
    : lab_(lab), cache_(cache), array_(std::move(array)), places_(places) {
  learn_false_misses(lab.parameters().copies);
}

void FitTest::learn_false_misses(std::size_t copies) {
  // Thousands of loads are to miss less than once: how many look like it although they hit must be known well.
  constexpr std::uint64_t kLoads = 100'000;
  // Of loads that this very cache serves: one that is nearer must be slowed down by more to look like a miss.
  const std::uint64_t bytes =
      cache_.nearer_bytes == 0 ? lab_.parameters().tiny_bytes
                               : std::min(std::max(2 * cache_.nearer_bytes, cache_.fits_bytes / 2), cache_.fits_bytes);
  const std::uint64_t stride = cache_.nearer_bytes == 0 ? cache_.fetch_bytes : cache_.nearest_fetch_bytes();
  const ChaseArray hits = make_array(cache_.site(), bytes, std::max(kMinimumStrideBytes, stride));
  const ChaseProgram program = make_program(
      cache_.site(), {hits},
      {{.kind = StepKind::kWarm, .loads = 4 * hits.element_count()}, {.kind = StepKind::kCounted, .loads = kLoads}});
  // The middle half, for a neighbour may disturb a copy.
  std::vector<double> counts;
  for (const ChaseResult& copy : lab_.chase(std::vector<ChaseProgram>(copies, program))) {
    counts.push_back(band_count(copy.steps.back().histogram));
  }
  constexpr double kTrim = 0.25;
  const double count = stats::trimmed_mean(counts, kTrim);
  false_misses_ = count / static_cast<double>(kLoads);
  false_misses_error_ = std::sqrt((count + 1) / static_cast<double>(counts.size())) / static_cast<double>(kLoads);
}

void FitTest::sharpen(double elements) {
  constexpr double kTooMuch = 0.25;  // of the decision
  constexpr double kWanted = 0.1;
  const double most_times = cache_.site().exclusive ? 20 : 200;  // one after another, or on all SMs at once
  const double error = false_misses_error_ * elements / kDecision;
  if (error <= kTooMuch) return;
  const double times = std::min(most_times, error * error / (kWanted * kWanted));
  learn_false_misses(static_cast<std::size_t>(times * lab_.parameters().copies));
}

double FitTest::error(double elements) const {
  const double noise = std::sqrt(false_misses_ * elements / passes(elements));
  const double uncertainty = false_misses_error_ * elements;
  // Not std::hypot, which needs a newer glibc than the release binary may.
  return std::sqrt(noise * noise + uncertainty * uncertainty);
}

// One copy tells most of those that do not fit: they miss once a pass or more, which is far from none where few loads
// look like misses. A neighbour may have done that to one copy, hardly to the next as well. All that fit in either look
// take the median of several.
std::vector<bool> FitTest::fit(const std::vector<Group>& groups, const Group& taken) {
  const auto chosen = [&](const std::vector<std::size_t>& indices) {
    std::vector<Group> some;
    for (const std::size_t g : indices) some.push_back(groups[g]);
    return some;
  };
  std::vector<std::size_t> missing(groups.size());
  std::iota(missing.begin(), missing.end(), std::size_t{0});
  std::vector<std::size_t> undecided;
  constexpr int kLooks = 2;
  for (int look = 0; look < kLooks; ++look) {
    const std::vector<double> misses = misses_per_pass(chosen(missing), taken, 1);
    std::vector<std::size_t> again;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      constexpr double kErrors = 5;
      const double elements = elements_in(taken) + elements_in(groups[missing[i]]);
      const bool misses_many = misses[i] >= kDecision + std::max(kDecision, kErrors * error(elements));
      (misses_many ? again : undecided).push_back(missing[i]);
    }
    missing = std::move(again);
  }
  std::vector<bool> answers(groups.size());
  const std::vector<double> misses = misses_per_pass(chosen(undecided), taken, lab_.parameters().copies);
  for (std::size_t i = 0; i < undecided.size(); ++i) answers[undecided[i]] = misses[i] < kDecision;
  return answers;
}

std::vector<double> FitTest::misses_per_pass(const std::vector<Group>& groups, const Group& taken, std::size_t copies) {
  std::vector<ChaseProgram> programs;
  for (const Group& group : groups) programs.insert(programs.end(), copies, program_of(taken, group));
  if (programs.empty()) return {};
  const std::vector<ChaseResult> results = lab_.chase(programs);
  std::vector<double> medians;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<double> misses;
    for (std::size_t copy = g * copies; copy < (g + 1) * copies; ++copy) {
      misses.push_back(band_count(results[copy].steps.back().histogram));
    }
    const auto loads = static_cast<double>(results[g * copies].steps.back().loads);
    const double times = loads / (elements_in(taken) + elements_in(groups[g]));
    medians.push_back((stats::median(misses) - false_misses_ * loads) / times);
  }
  return medians;
}

double FitTest::band_count(const stats::Histogram& histogram) const {
  const auto& levels = cache_.survey->levels;
  const std::size_t next = std::min(cache_.last_level + 2, levels.size() - 1);
  const double limit = cache_.hit_limit_cycles();
  return static_cast<double>(stats::summarise_band(histogram, limit, levels[next].high_cycles).count);
}

double FitTest::passes(double elements) const {
  // With the median of five copies (0.56 standard errors of one), four of those away from the decision.
  constexpr double kLeastPasses = 6;
  constexpr double kMostPasses = 64;
  const double enough = std::pow(4 * 0.56 / kDecision, 2) * false_misses_ * elements;
  return std::clamp(std::ceil(enough), kLeastPasses, kMostPasses);
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
  std::sort(array.elements.begin(), array.elements.end());
  const std::uint64_t n = array.elements.size();
  const auto counted = static_cast<std::uint64_t>(passes(static_cast<double>(n))) * n;
  // Walked in an order of its own each way, so that a replacement that depends on order does not keep a stranger.
  return make_program(cache_.site(), {array},
                      {{.kind = StepKind::kWarm, .loads = 2 * n, .chain = 1},
                       {.kind = StepKind::kWarm, .loads = n},
                       {.kind = StepKind::kCounted, .loads = counted}});
}

std::vector<std::uint32_t> pack(Lab& lab, const Cache& cache, const ChaseArray& array,
                                const std::vector<PackingPlace>& places, std::size_t first, double patience) {
  FitTest test(lab, cache, array, places);
  using Group = FitTest::Group;
  Group taken;
  const auto take = [&](const Group& group) { taken.insert(taken.end(), group.begin(), group.end()); };
  const auto range = [](std::size_t begin, std::size_t end) {
    Group group;
    for (std::size_t i = begin; i < end; ++i) group.push_back(static_cast<std::uint32_t>(i));
    return group;
  };
  first = std::clamp<std::size_t>(first, 1, places.size());
  std::vector<Group> starts;
  for (const std::size_t count : {first, first * 3 / 4, first / 2, std::size_t{1}}) {
    if (count > 0) starts.push_back(range(0, count));
  }
  const std::vector<bool> start_fits = test.fit(starts);
  std::size_t next = 0;
  for (std::size_t i = 0; i < starts.size() && next == 0; ++i) {
    if (!start_fits[i]) continue;
    take(starts[i]);
    next = starts[i].size();
  }
  // Groups that wait: halved until they fit or are one place that does not.
  std::deque<Group> waiting;
  std::size_t group_size = std::max<std::size_t>(1, first / 8);
  std::size_t refused_in_a_row = 0;
  constexpr std::size_t kAtOnce = 12;
  while (static_cast<double>(refused_in_a_row) < patience * static_cast<double>(taken.size()) + 8) {
    while (waiting.size() < kAtOnce && next < places.size()) {
      const std::size_t end = std::min(places.size(), next + group_size);
      waiting.push_back(range(next, end));
      next = end;
    }
    if (waiting.empty()) break;
    std::vector<Group> groups;
    while (!waiting.empty() && groups.size() < kAtOnce) {
      groups.push_back(std::move(waiting.front()));
      waiting.pop_front();
    }
    const std::vector<bool> fits = test.fit(groups, taken);
    std::vector<Group> good;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (fits[i]) {
        good.push_back(groups[i]);
      } else if (groups[i].size() == 1) {
        ++refused_in_a_row;
      } else {
        // What is left is mostly full: singles are the quickest then.
        group_size = 1;
        const auto middle = groups[i].begin() + static_cast<std::ptrdiff_t>(groups[i].size() / 2);
        waiting.emplace_back(groups[i].begin(), middle);
        waiting.emplace_back(middle, groups[i].end());
      }
    }
    if (good.empty()) continue;
    refused_in_a_row = 0;
    // Each fits alone; together they may not.
    Group all;
    for (const Group& group : good) all.insert(all.end(), group.begin(), group.end());
    if (good.size() == 1 || test.fit({all}, taken).front()) {
      take(all);
    } else {
      take(good.front());
      waiting.insert(waiting.begin(), good.begin() + 1, good.end());
    }
  }
  return taken;
}

double packed_bytes(Lab& lab, const Cache& cache) {
  // Behind another cache the fetch of that one: a load a line would let it hold as many of these lines as it has of its
  // own, which may be all of this cache's.
  const std::uint64_t element = cache.nearest_fetch_bytes();
  const std::uint64_t place = std::max(element, cache.line_or_fetch_bytes());
  const double guess = std::max(cache.held_bytes(), static_cast<double>(place));
  const double places_limit = lab.parameters().packed_places_limit;
  if (cache.site().exclusive || guess > places_limit * static_cast<double>(place)) return 0;
  constexpr double kCapacities = 6;  // sets of two ways then find room for each but one in some hundreds
  const ChaseArray array = make_array(cache.site(), static_cast<std::uint64_t>(kCapacities * guess) / place * place,
                                      element, Order::kShuffled);
  std::vector<PackingPlace> places;
  const std::uint64_t elements_per_place = cache.nearer_bytes > 0 ? place / element : 1;
  for (std::uint32_t i = 0; i + place / element <= array.element_count();
       i += static_cast<std::uint32_t>(place / element)) {
    PackingPlace& elements = places.emplace_back();
    for (std::uint32_t e = 0; e < elements_per_place; ++e) elements.push_back(i + e);
  }
  const auto first = static_cast<std::size_t>(guess / static_cast<double>(place));
  const double bytes = static_cast<double>(pack(lab, cache, array, places, first).size() * place);
  lab.log(fmt::format("packed: {:.0f} B in places of {} B", bytes, place));
  return bytes;
}

}  // namespace gputopo::probe
