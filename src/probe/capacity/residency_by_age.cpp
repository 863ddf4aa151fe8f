#include "probe/capacity/residency_by_age.h"

#include <cmath>

namespace gputopo::probe {

std::size_t ResidencyByAge::useful_bins(std::uint64_t samples, std::uint64_t array_bytes, std::uint64_t nearer_bytes,
                                        const ResidencyByAgeParameters& parameters) {
  const std::uint64_t wanted = 1 + parameters.bins_of_nearer * array_bytes / nearer_bytes;
  return std::min(1 + samples / parameters.samples_of_bin, wanted);
}

void ResidencyByAge::add(double age, bool nearer_hit, bool hit) {
  Bin& bin = bins_[std::min(bins_.size() - 1, static_cast<std::size_t>(age * bin_count()))];
  ++(nearer_hit ? bin.nearer : hit ? bin.hits : bin.misses);
  if (!nearer_hit) bin.ages += age;
}

bool ResidencyByAge::tells(const Bin& bin) const {
  return bin.told() > parameters_.min_past_nearer * (bin.told() + static_cast<double>(bin.nearer));
}

ResidencyByAge::Bin ResidencyByAge::sum(std::size_t begin, std::size_t end) const {
  Bin sum;
  for (std::size_t i = begin; i < std::min(end, bins_.size()); ++i) {
    sum.nearer += bins_[i].nearer;
    sum.hits += bins_[i].hits;
    sum.misses += bins_[i].misses;
    sum.ages += bins_[i].ages;
  }
  return sum;
}

// Mean of a parabola that is 1 at age 0 and passes through the residency just beyond the young ages and at twice that
// age. Its curvature tells how far it may be from the truth.
ResidencyByAge::Young ResidencyByAge::young(std::size_t bins) const {
  const double end = static_cast<double>(bins) / bin_count();
  const Bin near = sum(bins, bins + 2);
  const Bin far = sum(2 * bins, 2 * bins + 2);
  const double slope = (near.resident() - 1) / near.age();
  const double apart = far.age() - near.age();
  const double bend = apart > 0 ? ((far.resident() - 1) / far.age() - slope) / apart : 0;
  const double curved = 1 + (slope - bend * near.age()) * end / 2 + bend * end * end / 3;
  const double straight = 1 + slope * end / 2;
  return {std::clamp(curved, near.resident(), 1.0), std::abs(curved - straight), near.variance()};
}

std::optional<ResidencyByAge::Part> ResidencyByAge::part() const {
  const auto telling = std::ranges::find_if(bins_, [&](const Bin& bin) { return tells(bin); });
  const auto first = static_cast<std::size_t>(telling - bins_.begin());
  if (2 * first + 2 > bins_.size()) return std::nullopt;
  Part part;
  double variance = 0;
  for (std::size_t i = first; i < bins_.size(); ++i) {
    part.value += bins_[i].resident() / bin_count();
    variance += bins_[i].variance() / (bin_count() * bin_count());
  }
  double systematic = 0;
  if (first > 0) {
    const Young youngest = young(first);
    const double share = static_cast<double>(first) / bin_count();
    part.value += share * youngest.resident;
    systematic = share * youngest.systematic;
    variance += share * share * youngest.variance;
  }
  constexpr double kErrorsInInterval = 1.96;  // for 95%
  const double error = kErrorsInInterval * std::sqrt(variance) + systematic;
  part.interval = {part.value - error, part.value + error};
  return part;
}

double ResidencyByAge::old_part(double held) const {
  const double oldest_held = parameters_.clearly_older * held * bin_count();
  return sum(static_cast<std::size_t>(std::ceil(oldest_held)), bins_.size()).resident();
}

}  // namespace gputopo::probe
