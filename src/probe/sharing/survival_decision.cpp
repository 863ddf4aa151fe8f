#include "probe/sharing/survival_decision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {

Decision<double> survival_limit(const KnownSurvival& known, const SharingDecisionParameters& parameters) {
  if (known.untouched - known.evicted < parameters.least_contrast) {
    return {.why_not = fmt::format(
                "a second array in the same cache evicts hardly anything (hit ratio {:.2f} before, {:.2f} after)",
                known.untouched, known.evicted)};
  }
  return {.value = (known.untouched + known.evicted) / 2};
}

Decision<bool> decide_sharing(const KnownSurvival& known, double survived,
                              const SharingDecisionParameters& parameters) {
  const Decision<double> limit = survival_limit(known, parameters);
  Decision<bool> decision{
      .basis = fmt::format(
          "a fraction of {:.3f} of the lines survives ({:.3f} without an evictor, {:.3f} with one in the same cache)",
          survived, known.untouched, known.evicted),
      .why_not = limit.why_not};
  if (limit.value) decision.value = survived < *limit.value;
  return decision;
}

Decision<Instances> decide_amount(double untouched, std::span<const double> survived,
                                  const SharingDecisionParameters& parameters) {
  if (survived.empty()) return {.why_not = "no warp was tried as the evictor"};
  const Decision<double> limit = survival_limit({untouched, survived.front()}, parameters);
  if (!limit.value) return {.why_not = limit.why_not};
  const auto sharing = std::ranges::count_if(survived, [&](double part) { return part < *limit.value; });
  const double amount = static_cast<double>(survived.size()) / static_cast<double>(sharing);
  const double whole = std::round(amount);
  Decision<Instances> decision{
      .basis = fmt::format("{} of {} warps share the cache of warp 0 (surviving fraction of its "
                           "lines: {:.2f} without an evictor; with each warp as the evictor: {:.2f})",
                           sharing, survived.size(), untouched, fmt::join(survived, " "))};
  if (std::abs(amount - whole) > parameters.whole_tolerance * whole) {
    decision.why_not =
        fmt::format("{} of {} warps share the cache of warp 0, so the number of caches would not be a whole number",
                    sharing, survived.size());
    return decision;
  }
  decision.value = Instances{static_cast<std::int64_t>(whole), sharing};
  return decision;
}

}  // namespace gputopo::probe
