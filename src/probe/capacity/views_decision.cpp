#include "probe/capacity/views_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {
namespace {

// Whether a footprint of `bytes` or more misses with nearly every load when walked in order, as under LRU.
bool misses_all(const CapacityEvidence& evidence, double bytes, const CapacityDecisionParameters& parameters) {
  const auto beyond =
      std::ranges::find_if(evidence.sweep, [&](const FootprintHits& footprint) { return footprint.bytes >= bytes; });
  return beyond != evidence.sweep.end() && 1 - beyond->hits > (1 - parameters.still_hits) * evidence.misses_at_most;
}

// Footprint to sample of a cache that SMs share, in capacities.
double capacities_of_shared(const SizeView& resident, const CapacityDecisionParameters& parameters) {
  const bool is_unread = resident.bytes == 0;
  if (is_unread && resident.by_chance) return parameters.chance_capacities;
  return is_unread || resident.settled ? parameters.shared_capacities : parameters.unsettled_capacities;
}

// Result of all views except sampling.
struct Standing {
  SizeView best;
  std::string method;
  double base_bytes = 0;    // unit of the footprint to sample
  double capacities = 0;    // footprint to sample, in units of base_bytes
  bool can_sample = false;  // the space allows a footprint that large
  bool exact = false;       // reading backwards or the fitting footprint is exact
  double packed_bytes = 0;  // 0: not packed
};

Standing standing_of(const CapacityEvidence& evidence, const CapacityDecisionParameters& parameters) {
  const SizeView& resident = *evidence.resident;
  Standing standing{.best = resident, .method = "resident_backwards"};
  if (evidence.is_behind && evidence.is_shared) {
    standing.best.interval.low -= parameters.kept_by_nearer * resident.bytes;
  }
  if (evidence.fits && !evidence.is_behind) {
    // Behind another cache a footprint also fits if both hold it together: no lower bound. It may be too large by as
    // much as its interval says: where reading backwards is exact (LRU), a small excess proves nothing.
    const SizeView& fits = *evidence.fits;
    const bool in_turn = misses_all(evidence, 2 * resident.bytes, parameters);
    if ((in_turn ? fits.interval.low : fits.bytes) > resident.bytes) {
      standing.best = fits;
      standing.method = "largest_fitting_footprint";
    }
  }
  standing.base_bytes = std::max(standing.best.bytes, evidence.guess_bytes);
  const double wanted = evidence.is_shared ? capacities_of_shared(resident, parameters) : parameters.sampled_capacities;
  standing.capacities =
      evidence.limit_bytes == 0 ? wanted : std::min(wanted, evidence.limit_bytes / standing.base_bytes);
  standing.can_sample = standing.capacities >= parameters.min_capacities;
  if (!standing.can_sample) {
    // The space allows little more than the capacity. What that leaves resident is the capacity only if an equally
    // large footprint fits by itself, and no larger one does.
    const bool agree = evidence.fits && std::abs(evidence.fits->bytes - resident.bytes) <= evidence.line_bytes &&
                       resident.bytes + evidence.line_bytes <= evidence.limit_bytes;  // else nothing exceeded the cache
    if (!agree) standing.best = {};
    return standing;
  }
  standing.exact = evidence.is_shared ? resident.bytes > 0 : misses_all(evidence, 2 * standing.base_bytes, parameters);
  if (evidence.is_behind && resident.by_chance) {
    // The nearer cache may still hold lines that this one evicted, unless it evicts the oldest first: no lower bound.
    standing.best = {};
    standing.exact = false;
  }
  standing.packed_bytes = evidence.packed_bytes.value_or(0);
  // Under policies other than LRU, reading backwards may count too much; packing does not.
  if (standing.packed_bytes > 0 &&
      (standing.packed_bytes > parameters.packed_beyond * standing.best.bytes || !standing.exact)) {
    standing.best = {standing.packed_bytes,
                     {standing.packed_bytes - evidence.line_bytes, standing.packed_bytes + evidence.line_bytes}};
    standing.method = "packed_places";
  }
  return standing;
}

bool is_above(const SampledResidency& sampled, const Standing& standing, double standard_errors) {
  constexpr double kErrorsInInterval = 1.96;  // for 95%
  const double error = (sampled.bytes - sampled.interval.low) / kErrorsInInterval;
  return sampled.bytes - standard_errors * error > standing.best.bytes;
}

// Reading backwards is exact if the oldest line is evicted. Otherwise it finds too little at any footprint.
bool replaces_in_turn(const SampledResidency& sampled, const CapacityDecisionParameters& parameters) {
  return sampled.old_part <= parameters.still_hits;
}

bool may_hide_memory_loads(const CapacityEvidence& evidence, const ClearMemoryLoadsParameters& parameters) {
  return evidence.is_shared && evidence.has_far_part && evidence.cold_hits > 1 - parameters.nearly_all_told;
}

// Whether memory loads hide among the far hits. The other views would count them as hits.
bool is_told_by_memory_loads(const CapacityEvidence& evidence) {
  return evidence.memory && explains_all(*evidence.memory, evidence.guess_bytes / evidence.stride_bytes);
}

// Uses the sample if it exceeds the other views. Otherwise it only raises the upper end of a lower bound.
void weigh_sample(const CapacityEvidence& evidence, const CapacityDecisionParameters& parameters, Standing& standing) {
  const SampledResidency& sampled = evidence.sampled.back();
  const bool exact = standing.exact && replaces_in_turn(evidence.sampled.front(), parameters);
  // An exact view stands unless the full sample is clearly above it.
  const double clearly = exact && evidence.resident->settled ? parameters.clear_errors : parameters.likely_errors;
  if (is_above(sampled, standing, clearly)) {
    const double line = evidence.line_bytes;
    standing.best = {std::round(sampled.bytes / line) * line,
                     {sampled.interval.low - line / 2, sampled.interval.high + line / 2}};
    standing.method = "sampled_residency";
  } else if (!exact) {
    standing.best.interval.high = std::max(standing.best.interval.high, sampled.interval.high);
  }
}

// Behind another cache, noise may falsify packing: a place that was refused is not tried again, and one that seemed
// to fit stays. Two other views that agree on another size may be right. Returns the reason if nothing can be told.
std::string weigh_packed(const CapacityEvidence& evidence, const CapacityDecisionParameters& parameters,
                         Standing& standing) {
  const double resident = evidence.resident->bytes;
  const SampledResidency& sampled = evidence.sampled.back();
  // Uses the sample alone if nothing could be read back.
  const auto least_of = [&](double of_sample) { return resident > 0 ? std::min(resident, of_sample) : of_sample; };
  if (standing.best.bytes < parameters.contradicting_part * least_of(sampled.interval.low)) {
    return fmt::format(
        "the methods disagree: packing finds {:.0f} B, but {}sampling finds {:.0f} B", standing.best.bytes,
        resident > 0 ? fmt::format("reading backwards finds {:.0f} B and ", resident) : "", sampled.bytes);
  }
  stats::Interval& interval = standing.best.interval;
  if (least_of(sampled.bytes) > interval.high) interval.high = sampled.interval.high;
  const bool agree = resident > 0 && evidence.fits && std::abs(evidence.fits->bytes - resident) <= evidence.line_bytes;
  // Lines that the nearer cache keeps seem to fit as well; neither reading back nor a sample finds these.
  const double both = std::max(resident, sampled.bytes);
  if (agree) interval.low = std::min({interval.low, resident, evidence.fits->bytes});
  if (both < interval.low) interval.low = both;
  return {};
}

}  // namespace

std::optional<Look> next_look(const CapacityEvidence& evidence, const CapacityDecisionParameters& parameters) {
  if (may_hide_memory_loads(evidence, {}) && !evidence.memory) return Look{CapacityMethod::kMemoryLoads};
  if (is_told_by_memory_loads(evidence)) return std::nullopt;
  if (!evidence.resident) return Look{CapacityMethod::kResident};
  if (!evidence.is_shared && !evidence.fits) return Look{CapacityMethod::kFits};
  const Standing standing = standing_of(evidence, parameters);
  if (!standing.can_sample || evidence.not_sampled) return std::nullopt;
  // If a walk of twice the capacity in order still hits, the policy is not LRU. Lines of a cache that SMs share are
  // packed only if it could not be read back.
  const bool is_chance = evidence.is_shared && evidence.resident->by_chance && evidence.resident->bytes == 0;
  if (!standing.exact && !is_chance && !evidence.packed_bytes && parameters.packs) return Look{CapacityMethod::kPacked};
  const auto sample = [&](double capacities, std::uint64_t samples) {
    return Look{CapacityMethod::kSampled, capacities, standing.base_bytes, samples};
  };
  if (evidence.sampled.empty()) {
    const bool is_known = standing.exact || standing.packed_bytes > 0;
    const double of_lines = parameters.quick_samples_of_line * standing.base_bytes / evidence.line_bytes;
    const std::uint64_t quick = std::min(parameters.quick_samples, static_cast<std::uint64_t>(of_lines));
    return sample(standing.capacities, is_known ? quick : parameters.full_samples);
  }
  if (evidence.sampled.size() > 1 || !standing.exact || standing.packed_bytes > 0) return std::nullopt;
  const SampledResidency& first = evidence.sampled.front();
  if (!replaces_in_turn(first, parameters)) {
    return sample(std::min(standing.capacities, parameters.sampled_capacities), parameters.full_samples);
  }
  if (is_above(first, standing, parameters.doubt_errors) || !evidence.resident->settled) {
    return sample(standing.capacities, parameters.full_samples);
  }
  return std::nullopt;
}

double all_miss_bytes(std::span<const FootprintHits> sweep, const CapacityDecisionParameters& parameters) {
  const auto found = std::ranges::find_if(
      sweep, [&](const FootprintHits& footprint) { return footprint.hits < parameters.nothing_hits; });
  return found == sweep.end() ? 0 : found->bytes;
}

Decision<Capacity> decide_capacity(const CapacityEvidence& evidence, const CapacityDecisionParameters& parameters) {
  if (is_told_by_memory_loads(evidence)) {
    const SizeView& found = evidence.memory->capacity;
    return {
        .value = Capacity{.bytes = std::round(found.bytes), .interval = found.interval, .method = "clear_memory_loads"},
        .basis = fmt::format("{:.0f} B; {:.0f}% of memory loads are clearly slower than hits", found.bytes,
                             100 * evidence.memory->distinguishable_part)};
  }
  Standing standing = standing_of(evidence, parameters);
  const bool in_turn = evidence.sampled.empty() || replaces_in_turn(evidence.sampled.front(), parameters);
  const bool is_known = (standing.exact && in_turn) || standing.packed_bytes > 0;
  if (evidence.not_sampled && !is_known) return {.why_not = *evidence.not_sampled};
  const bool is_sampled = !evidence.sampled.empty() && !evidence.not_sampled;
  if (is_sampled && evidence.is_shared && !evidence.resident->settled &&
      evidence.sampled.back().bytes < parameters.contradicting_part * standing.best.bytes) {
    return {.why_not = fmt::format(
                "reading backwards finds {:.0f} B, a value that grows with the footprint, but sampling finds {:.0f} B",
                standing.best.bytes, evidence.sampled.back().bytes)};
  }
  if (is_sampled && standing.packed_bytes == 0) weigh_sample(evidence, parameters, standing);
  if (is_sampled && evidence.is_behind && standing.method == "packed_places") {
    if (std::string why_not = weigh_packed(evidence, parameters, standing); !why_not.empty()) {
      return {.why_not = std::move(why_not)};
    }
  }
  if (standing.best.bytes <= 0) {
    return {.why_not =
                fmt::format("footprints up to {} B fit, and arrays cannot be large enough to exceed the cache clearly",
                            evidence.fits_bytes)};
  }
  Capacity capacity{.bytes = std::round(standing.best.bytes),
                    .interval = standing.best.interval,
                    .method = standing.method,
                    .resident_bytes = evidence.resident->bytes,
                    .first_miss_bytes = evidence.fits ? evidence.fits->bytes : 0,
                    .all_miss_bytes = all_miss_bytes(evidence.sweep, parameters),
                    .sampled_bytes = is_sampled ? evidence.sampled.back().bytes : 0};
  std::string basis = fmt::format(
      "{}: {:.0f} B [{:.0f}, {:.0f}]; reading backwards {:.0f} B, fitting footprint {:.0f} B, packing {:.0f} B, "
      "sampling {:.0f} B",
      capacity.method, capacity.bytes, capacity.interval.low, capacity.interval.high, capacity.resident_bytes,
      capacity.first_miss_bytes, standing.packed_bytes, capacity.sampled_bytes);
  if (evidence.not_sampled) basis += fmt::format("; not sampled: {}", *evidence.not_sampled);
  return {.value = std::move(capacity), .basis = std::move(basis)};
}

bool may_leave_sets_unfilled(const Capacity& capacity, std::uint64_t limit_bytes,
                             const CapacityDecisionParameters& parameters) {
  return limit_bytes > 0 && capacity.first_miss_bytes > 0 &&
         capacity.first_miss_bytes < parameters.alike_part * capacity.bytes &&
         parameters.filling_capacities * capacity.bytes > static_cast<double>(limit_bytes);
}

}  // namespace gputopo::probe
