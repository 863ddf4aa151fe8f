#include "cli/outcome.h"

namespace gputopo::cli {
namespace {

bool is_promised(Coverage coverage) {
  return coverage == Coverage::kMeasured || coverage == Coverage::kApi || coverage == Coverage::kApiAndMeasured;
}

// Reasons that are an answer about the device or the user's own wish, not a failure to find out.
bool keeps_the_promise(Reason reason) {
  return reason == Reason::kNone || reason == Reason::kNotApplicable || reason == Reason::kNotSelected ||
         reason == Reason::kNotPresent || reason == Reason::kNotSupported;
}

// The first attribute that the coverage promises and that is unavailable for a reason that the predicate takes.
template <typename Predicate>
const Attribute* find_promised(const Topology& topology, const Predicate& predicate) {
  for (const ElementRow& row : element_table()) {
    for (const auto& [id, coverage] : row.coverage) {
      if (row.vendor != topology.vendor || !is_promised(coverage)) continue;
      const Attribute* attribute = topology.find_attribute(row.id, id);
      if (attribute != nullptr && !attribute->available() && predicate(attribute->reason)) return attribute;
    }
  }
  return nullptr;
}

}  // namespace

Outcome judge(const Topology& topology, bool interrupted) {
  const auto first_with = [&](Reason reason) {
    return find_promised(topology, [reason](Reason other) { return other == reason; });
  };
  if (!topology.complete) {
    if (interrupted) return {kExitInterrupted, {}};
    // Neither the user nor the budget ended it: the device did.
    const Attribute* failed = first_with(Reason::kDeviceError);
    if (failed != nullptr && first_with(Reason::kTimedOut) == nullptr) return {kExitFailure, failed->detail};
    return {kExitIncomplete, {}};
  }
  const bool broken = find_promised(topology, [](Reason reason) { return !keeps_the_promise(reason); }) != nullptr;
  return {broken ? kExitIncomplete : kExitComplete, {}};
}

}  // namespace gputopo::cli
