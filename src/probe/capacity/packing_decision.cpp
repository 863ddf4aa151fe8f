#include "probe/capacity/packing_decision.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

PackingGroup places_in(std::size_t begin, std::size_t end) {
  PackingGroup group(end - begin);
  std::iota(group.begin(), group.end(), static_cast<std::uint32_t>(begin));
  return group;
}

}  // namespace

FalseMisses false_misses_of(std::span<const double> counts, double loads, const PackingParameters& parameters) {
  const double count = stats::trimmed_mean(counts, parameters.trim);
  return {count / loads, std::sqrt((count + 1) / static_cast<double>(counts.size())) / loads};
}

double passes_over(double elements, const FalseMisses& false_misses, const PackingParameters& parameters) {
  const double errors = parameters.passes_errors * parameters.median_error / parameters.max_misses;
  const double enough = std::pow(errors, 2) * false_misses.per_load * elements;
  return std::clamp(std::ceil(enough), parameters.min_passes, parameters.max_passes);
}

double error_of_misses(double elements, const FalseMisses& false_misses, const PackingParameters& parameters) {
  const double passes = passes_over(elements, false_misses, parameters);
  const double noise = std::sqrt(false_misses.per_load * elements / passes);
  const double uncertainty = false_misses.error * elements;
  // Not std::hypot, which needs a newer glibc than the release binary may require.
  return std::sqrt(noise * noise + uncertainty * uncertainty);
}

double times_to_learn(double elements, const FalseMisses& false_misses, bool alone,
                      const PackingParameters& parameters) {
  const double error = false_misses.error * elements / parameters.max_misses;
  if (error <= parameters.max_error) return 1;
  const double wanted = parameters.wanted_error;
  return std::min(alone ? parameters.max_times_alone : parameters.max_times, error * error / (wanted * wanted));
}

double misses_a_pass(std::span<const double> counts, double loads, double elements, const FalseMisses& false_misses) {
  return (stats::median(counts) - false_misses.per_load * loads) / (loads / elements);
}

bool misses_many(double misses_a_pass, double error, const PackingParameters& parameters) {
  return misses_a_pass >= parameters.max_misses + std::max(parameters.max_misses, parameters.many_errors * error);
}

PackingSearch::PackingSearch(std::size_t places, std::size_t first, double patience, PackingTrial fit,
                             const PackingParameters& parameters)
    : places_(places),
      first_(std::clamp<std::size_t>(first, 1, std::max<std::size_t>(1, places))),
      patience_(patience),
      fit_(std::move(fit)),
      parameters_(parameters),
      group_size_(std::max<std::size_t>(1, first_ / parameters.first_groups)) {}

PackingGroup PackingSearch::run() {
  if (places_ == 0) return {};
  take_first();
  while (is_patient()) {
    refill();
    if (waiting_.empty()) break;
    const std::vector<PackingGroup> groups = next_groups();
    const std::vector<bool> fits = fit_(groups, taken_);
    std::vector<PackingGroup> good;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (fits[i]) {
        good.push_back(groups[i]);
      } else {
        refuse(groups[i]);
      }
    }
    if (good.empty()) continue;
    refused_in_a_row_ = 0;
    take_together(good);
  }
  return taken_;
}

void PackingSearch::take(const PackingGroup& group) { taken_.insert(taken_.end(), group.begin(), group.end()); }

// Takes the largest start that fits: the expected number of places, three quarters of it, half of it, or one.
void PackingSearch::take_first() {
  std::vector<PackingGroup> starts;
  for (const std::size_t count : {first_, first_ * 3 / 4, first_ / 2, std::size_t{1}}) {
    if (count > 0) starts.push_back(places_in(0, count));
  }
  const std::vector<bool> fits = fit_(starts, {});
  const auto largest = std::ranges::find(fits, true);
  if (largest == fits.end()) return;
  take(starts[static_cast<std::size_t>(largest - fits.begin())]);
  next_ = taken_.size();
}

bool PackingSearch::is_patient() const {
  const double refused = patience_ * static_cast<double>(taken_.size()) + parameters_.min_refused;
  return static_cast<double>(refused_in_a_row_) < refused;
}

void PackingSearch::refill() {
  while (waiting_.size() < parameters_.groups_at_once && next_ < places_) {
    const std::size_t end = std::min(places_, next_ + group_size_);
    waiting_.push_back(places_in(next_, end));
    next_ = end;
  }
}

std::vector<PackingGroup> PackingSearch::next_groups() {
  const auto end =
      waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), parameters_.groups_at_once));
  std::vector<PackingGroup> groups(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return groups;
}

void PackingSearch::refuse(const PackingGroup& group) {
  if (group.size() == 1) {
    ++refused_in_a_row_;
    return;
  }
  // Most sets are full by now, so single places are the quickest.
  group_size_ = 1;
  const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
  waiting_.emplace_back(group.begin(), middle);
  waiting_.emplace_back(middle, group.end());
}

// Each group fits alone; together they may not.
void PackingSearch::take_together(const std::vector<PackingGroup>& good) {
  PackingGroup all;
  for (const PackingGroup& group : good) all.insert(all.end(), group.begin(), group.end());
  if (good.size() == 1 || fit_({all}, taken_).front()) {
    take(all);
    return;
  }
  take(good.front());
  waiting_.insert(waiting_.begin(), good.begin() + 1, good.end());
}

}  // namespace gputopo::probe
