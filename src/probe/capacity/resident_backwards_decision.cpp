#include "probe/capacity/resident_backwards_decision.h"

#include <algorithm>
#include <cmath>

namespace gputopo::probe {

Region turning_region(std::span<const double> hits_at_places, std::uint64_t elements, double rare_part,
                      const ResidentBackwardsParameters& parameters) {
  const std::uint64_t places = hits_at_places.size();
  if (places == 0) return {0, elements};
  const double nearly_all = 1 - parameters.outliers_of_place / static_cast<double>(parameters.loads_of_place);
  std::uint64_t first_mixed = places;
  std::uint64_t last_mixed = 0;
  std::uint64_t middle = 0;
  for (std::uint64_t place = 0; place < places; ++place) {
    const double hits = hits_at_places[place];
    if (hits > 0.5) middle = place;
    if (hits < nearly_all) first_mixed = std::min(first_mixed, place);
    if (hits > 0) last_mixed = place;
  }
  const auto part_of = [](std::uint64_t count, double part) {
    return static_cast<std::uint64_t>(part * static_cast<double>(count));
  };
  const std::uint64_t spread = middle > first_mixed ? part_of(middle - first_mixed, parameters.mixed_margin) : 0;
  const std::uint64_t before = std::max(spread, part_of(first_mixed, rare_part)) + parameters.margin_places;
  const std::uint64_t begin = first_mixed < before ? 0 : first_mixed - before;
  const std::uint64_t after =
      std::max(spread, part_of(last_mixed, parameters.last_margin)) + parameters.margin_places + 1;
  return {begin * elements / places, std::min(elements, (last_mixed + after) * elements / places)};
}

namespace {

bool is_mixed(double hits, const ResidentBackwardsParameters& parameters) {
  return hits > parameters.mixed_part && hits < 1 - parameters.mixed_part;
}

}  // namespace

bool is_scattered(std::span<const double> hits_at_places, const ResidentBackwardsParameters& parameters) {
  const auto mixed = std::ranges::count_if(hits_at_places, [&](double hits) { return is_mixed(hits, parameters); });
  return static_cast<double>(mixed) > parameters.scattered_part * static_cast<double>(hits_at_places.size());
}

bool has_random_eviction(std::span<const double> hits_at_places, std::span<const double> hits_again,
                         const ResidentBackwardsParameters& parameters) {
  double more = 0;
  double squares = 0;
  double of_chance = 0;
  for (std::size_t place = 0; place < hits_at_places.size(); ++place) {
    const double hits = (hits_at_places[place] + hits_again[place]) / 2;
    const double difference = hits_at_places[place] - hits_again[place];
    more += difference;
    if (!is_mixed(hits, parameters)) continue;
    squares += difference * difference;
    of_chance += 2 * hits * (1 - hits) / static_cast<double>(parameters.loads_of_place);
  }
  return is_scattered(hits_again, parameters) &&
         std::abs(more) < parameters.alike_looks * static_cast<double>(hits_at_places.size()) &&
         squares > parameters.chance_part * of_chance;
}

Missed count_missed(std::span<const std::span<const std::uint32_t>> copies, double hit_limit_cycles) {
  Missed missed;
  if (copies.empty()) return missed;
  for (std::size_t i = 0; i < copies.front().size(); ++i) {
    const auto hits = std::ranges::count_if(copies, [&](const auto& copy) { return copy[i] < hit_limit_cycles; });
    if (2 * static_cast<std::uint64_t>(hits) <= copies.size()) ++missed.by_most;
    if (hits == 0) ++missed.by_all;
  }
  return missed;
}

ResidentSearch::ResidentSearch(double guess_bytes, double most_guesses, std::uint64_t limit_bytes,
                               const ResidentBackwardsParameters& parameters)
    : parameters_(parameters),
      limit_(most_guesses * guess_bytes),
      footprint_(parameters.first_capacities * guess_bytes) {
  if (limit_bytes == 0) return;
  limit_ = std::min(limit_, static_cast<double>(limit_bytes));
  if (limit_ > guess_bytes && limit_ < parameters.few_capacities * guess_bytes) footprint_ = limit_;
}

std::vector<double> ResidentSearch::next_footprints() const {
  if (ended_ || footprint_ > limit_) return {};
  if (first_footprint_ == 0 && 2 * footprint_ <= limit_) return {footprint_, 2 * footprint_};
  return {footprint_};
}

void ResidentSearch::add(const ResidentInCopies& resident) {
  by_chance_ = by_chance_ || resident.by_chance;
  resident_ = again_ == 0 ? resident.bytes : std::max(resident_, resident.bytes);
  most_ = std::max(most_, resident.most_bytes);
  const bool a_little_less = resident_ < best_ && resident_ > (1 - parameters_.disturbed_part) * best_;
  const bool disturbed = a_little_less && !do_copies_differ();  // random eviction varies by itself
  if (disturbed && again_ < parameters_.max_again) {
    ++again_;
    return;
  }
  if (resident_ > 0) growth_ = std::max(0.0, resident_ - best_);
  const bool grew = resident_ > best_;
  if (first_ == 0) {
    first_ = resident_;
    first_footprint_ = footprint_;
  }
  last_footprint_ = footprint_;
  best_ = std::max(best_, resident_);
  settled_ = !grew && resident_ > 0;
  ended_ = !grew;
  footprint_ *= 2;
  again_ = 0;
}

bool ResidentSearch::do_copies_differ() const { return most_ > (1 + parameters_.disturbed_part) * best_; }

SizeView ResidentSearch::found(double line_bytes) const {
  const bool by_chance = by_chance_ || do_copies_differ();
  const double most = by_chance ? best_ : std::max(most_, best_);
  // Growth with the footprint may be misses that look like hits, of which larger footprints have more.
  double least = best_;
  if (!settled_ && first_ > 0 && last_footprint_ > first_footprint_) {
    const double of_misses = (best_ - first_) / (last_footprint_ - first_footprint_);
    least = std::min(best_, first_ - of_misses * first_footprint_);
  }
  return {best_, {least - line_bytes, most + line_bytes + (settled_ ? 0 : growth_)}, settled_, by_chance};
}

}  // namespace gputopo::probe
