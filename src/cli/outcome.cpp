#include "cli/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "gputopo/catalogue.h"
#include "report/words/units.h"

namespace gputopo::cli {
namespace {

// Includes attributes that only --full measures: without --full, the reason says so.
bool is_promised(Coverage coverage) { return coverage != Coverage::kNotApplicable; }

// Reasons that are an answer about the device or the user's own choice, and no failure to measure.
bool keeps_the_promise(Reason reason) {
  return reason == Reason::kNone || reason == Reason::kNotApplicable || reason == Reason::kNotSelected ||
         reason == Reason::kNotPresent || reason == Reason::kNotSupported;
}

struct Missing {
  std::string name;  // "l1 line size"
  const Attribute* attribute = nullptr;
};

// Attributes whose coverage and reason satisfy the predicates.
template <typename OfCoverage, typename OfReason>
std::vector<Missing> missing(const Topology& topology, const OfCoverage& takes, const OfReason& predicate) {
  std::vector<Missing> found;
  const Vendor vendor = vendor_of(topology.vendor);
  for (const ElementInfo* element : elements_of(vendor)) {
    for (const AttributeInfo& info : attributes_of(*element)) {
      if (!takes(coverage_of(vendor, element->id, info.id))) continue;
      const Attribute* attribute = topology.find_attribute(element->name, info.name);
      if (attribute == nullptr || attribute->available() || !predicate(attribute->reason)) continue;
      found.push_back({fmt::format("{} {}", element->name, report::readable(info.name)), attribute});
    }
  }
  if (!takes(Coverage::kMeasuredInFull)) return found;
  for (const Instruction& instruction : topology.instructions) {
    for (const auto& [id, attribute] : instruction.attributes) {
      if (attribute.available() || !predicate(attribute.reason)) continue;
      found.push_back({fmt::format("{} {}", instruction.id, report::readable(id)), &attribute});
    }
  }
  return found;
}

// Whether promised or not.
std::vector<Missing> missing_for(const Topology& topology, std::initializer_list<Reason> reasons) {
  return missing(
      topology, [](Coverage) { return true; },
      [&](Reason reason) { return std::find(reasons.begin(), reasons.end(), reason) != reasons.end(); });
}

}  // namespace

RunOutcome judge(const Topology& topology, bool interrupted) {
  if (!topology.complete) {
    // If neither the user nor the budget ended it, the device did.
    const std::vector<Missing> failed = missing_for(topology, {Reason::kDeviceError});
    if (!failed.empty() && missing_for(topology, {Reason::kTimedOut, Reason::kInterrupted}).empty()) {
      return {.code = kExitFailure, .error = failed.front().attribute->detail};
    }
    if (interrupted) return {.code = kExitInterrupted};
  }
  const std::vector<Missing> broken =
      missing(topology, is_promised, [](Reason reason) { return !keeps_the_promise(reason); });
  if (broken.empty()) return {.code = topology.complete ? kExitComplete : kExitIncomplete};
  const Attribute& first = *broken.front().attribute;
  return {
      .code = kExitIncomplete,
      .broken_promise = fmt::format("{} of the requested values could not be determined: {} ({}: {}){}", broken.size(),
                                    broken.front().name, report::readable(to_string(first.reason)), first.detail,
                                    broken.size() == 1 ? "" : " and others; --markdown lists all of them")};
}

}  // namespace gputopo::cli
