#include "probe/packing.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>

namespace gputopo::probe {
namespace {

class Packer {
 public:
  Packer(Lab& lab, const Cache& cache, const ChaseArray& array, const std::vector<PackingPlace>& places)
      : lab_(lab), cache_(cache), array_(array), places_(places) {}

  // Whether the taken places and each of the groups are resident together. One copy tells most of those that are not:
  // it misses once a pass or more, which is far from none where few loads look like misses. The others take the median
  // of several.
  std::vector<bool> fit(const std::vector<std::vector<std::uint32_t>>& groups) {
    std::vector<std::size_t> undecided;
    const std::vector<double> first = misses_per_pass(groups, 1);
    std::vector<std::vector<std::uint32_t>> rest;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (first[g] >= kDecision + clearly_) continue;
      undecided.push_back(g);
      rest.push_back(groups[g]);
    }
    std::vector<bool> answers(groups.size());
    const std::vector<double> misses = misses_per_pass(rest, lab_.parameters().copies);
    for (std::size_t i = 0; i < rest.size(); ++i) answers[undecided[i]] = misses[i] < kDecision;
    return answers;
  }

  void take(const std::vector<std::uint32_t>& group) { taken_.insert(taken_.end(), group.begin(), group.end()); }
  [[nodiscard]] const std::vector<std::uint32_t>& taken() const { return taken_; }

  // Learns how many loads of what fits look like misses, and from that how many passes it takes to tell.
  void calibrate(std::size_t elements) {
    const Survey& survey = *cache_.survey;
    const auto total = static_cast<double>(stats::total_count(survey.tiny));
    false_misses_ = band_count(survey.tiny) / total;
    // With the median of five copies (0.56 standard errors of one), four of those away from the decision.
    constexpr double kLeastPasses = 6;
    constexpr double kMostPasses = 64;
    const double enough = std::pow(4 * 0.56 / kDecision, 2) * false_misses_ * static_cast<double>(elements);
    passes_ = static_cast<std::uint64_t>(std::clamp(std::ceil(enough), kLeastPasses, kMostPasses));
    constexpr double kErrors = 5;
    const double false_misses_a_pass = false_misses_ * static_cast<double>(elements);
    clearly_ = std::max(kDecision, kErrors * std::sqrt(false_misses_a_pass / static_cast<double>(passes_)));
  }

 private:
  static constexpr double kDecision = 0.4;  // misses a pass, beyond the false ones

  // Of each group with the taken places, beyond the false ones: the median of some copies.
  std::vector<double> misses_per_pass(const std::vector<std::vector<std::uint32_t>>& groups, std::size_t copies) {
    std::vector<ChaseProgram> programs;
    for (const auto& group : groups) programs.insert(programs.end(), copies, program_of(group));
    if (programs.empty()) return {};
    const std::vector<ChaseResult> results = lab_.chase(programs);
    std::vector<double> medians;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::vector<double> misses;
      for (std::size_t copy = g * copies; copy < (g + 1) * copies; ++copy) {
        misses.push_back(band_count(results[copy].steps.back().histogram));
      }
      const auto loads = static_cast<double>(results[g * copies].steps.back().loads);
      medians.push_back((stats::median(misses) - false_misses_ * loads) / static_cast<double>(passes_));
    }
    return medians;
  }

  // Loads as slow as the level behind the cache answers. What is slower still is an outlier: nothing that is walked
  // again and again is evicted from there.
  [[nodiscard]] double band_count(const stats::Histogram& histogram) const {
    const auto& levels = cache_.survey->levels;
    const std::size_t next = std::min(cache_.last_level + 2, levels.size() - 1);
    const double limit = cache_.hit_limit_cycles();
    return static_cast<double>(stats::summarise_band(histogram, limit, levels[next].high_cycles).count);
  }

  [[nodiscard]] ChaseProgram program_of(const std::vector<std::uint32_t>& group) const {
    ChaseArray array = array_;
    for (const std::vector<std::uint32_t>* part : {&taken_, &group}) {
      for (const std::uint32_t place : *part) {
        array.elements.insert(array.elements.end(), places_[place].begin(), places_[place].end());
      }
    }
    std::sort(array.elements.begin(), array.elements.end());
    const std::uint64_t n = array.elements.size();
    // Walked in an order of its own each way, so that a replacement that depends on order does not keep a stranger.
    return make_program(cache_.site(), {array},
                        {{.kind = StepKind::kWarm, .loads = 2 * n, .chain = 1},
                         {.kind = StepKind::kWarm, .loads = n},
                         {.kind = StepKind::kCounted, .loads = passes_ * n}});
  }

  Lab& lab_;
  const Cache& cache_;
  ChaseArray array_;
  const std::vector<PackingPlace>& places_;
  std::vector<std::uint32_t> taken_;
  double false_misses_ = 0;
  double clearly_ = kDecision;  // above the decision: misses a pass of one copy that need no second look
  std::uint64_t passes_ = 8;
};

}  // namespace

std::vector<std::uint32_t> pack(Lab& lab, const Cache& cache, const ChaseArray& array,
                                const std::vector<PackingPlace>& places, std::size_t first) {
  Packer packer(lab, cache, array, places);
  using Group = std::vector<std::uint32_t>;
  const auto range = [](std::size_t begin, std::size_t end) {
    Group group;
    for (std::size_t i = begin; i < end; ++i) group.push_back(static_cast<std::uint32_t>(i));
    return group;
  };
  first = std::clamp<std::size_t>(first, 1, places.size());
  packer.calibrate(first * places.front().size());
  std::vector<Group> starts;
  for (const std::size_t count : {first, first * 3 / 4, first / 2, std::size_t{1}}) {
    if (count > 0) starts.push_back(range(0, count));
  }
  const std::vector<bool> start_fits = packer.fit(starts);
  std::size_t next = 0;
  for (std::size_t i = 0; i < starts.size() && next == 0; ++i) {
    if (!start_fits[i]) continue;
    packer.take(starts[i]);
    next = starts[i].size();
  }
  // Groups that wait: halved until they fit or are one place that does not.
  std::deque<Group> waiting;
  std::size_t group_size = std::max<std::size_t>(1, first / 8);
  std::size_t refused_in_a_row = 0;
  constexpr std::size_t kAtOnce = 12;
  // A cache of two ways whose sets have, one in a hundred, room for one more: twice its places of refusals miss that
  // with a probability of e^-2 for each such set. Beyond it what is missing is less than a place or two of hundreds.
  constexpr std::size_t kPatience = 3;
  while (refused_in_a_row < kPatience * packer.taken().size() + 8) {
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
    const std::vector<bool> fits = packer.fit(groups);
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
    if (good.size() == 1 || packer.fit({all}).front()) {
      packer.take(all);
    } else {
      packer.take(good.front());
      waiting.insert(waiting.begin(), good.begin() + 1, good.end());
    }
  }
  return packer.taken();
}

double packed_bytes(Lab& lab, const Cache& cache) {
  // Behind another cache the fetch of that one: a load a line would let it hold as many of these lines as it has of its
  // own, which may be all of this cache's.
  const std::uint64_t element = cache.nearest_fetch_bytes();
  const std::uint64_t place = std::max({element, cache.line_bytes, cache.fetch_bytes});
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
