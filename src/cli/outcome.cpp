#include "cli/outcome.h"

#include <fmt/format.h>

#include "report/hierarchy.h"

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

struct Missing {
  std::string name;  // "l1 line size"
  const Attribute* attribute = nullptr;
};

// What the coverage promises and is unavailable for a reason that the predicate takes.
template <typename Predicate>
std::vector<Missing> missing(const Topology& topology, const Predicate& predicate) {
  std::vector<Missing> found;
  for (const ElementRow& row : element_table()) {
    for (const auto& [id, coverage] : row.coverage) {
      if (row.vendor != topology.vendor || !is_promised(coverage)) continue;
      const Attribute* attribute = topology.find_attribute(row.id, id);
      if (attribute == nullptr || attribute->available() || !predicate(attribute->reason)) continue;
      found.push_back({fmt::format("{} {}", row.id, report::readable(id)), attribute});
    }
  }
  return found;
}

std::vector<Missing> missing_for(const Topology& topology, Reason reason) {
  return missing(topology, [reason](Reason other) { return other == reason; });
}

}  // namespace

Outcome judge(const Topology& topology, bool interrupted) {
  if (!topology.complete) {
    if (interrupted) return {.code = kExitInterrupted};
    // Neither the user nor the budget ended it: the device did.
    const std::vector<Missing> failed = missing_for(topology, Reason::kDeviceError);
    if (!failed.empty() && missing_for(topology, Reason::kTimedOut).empty()) {
      return {.code = kExitFailure, .error = failed.front().attribute->detail};
    }
  }
  const std::vector<Missing> broken = missing(topology, [](Reason reason) { return !keeps_the_promise(reason); });
  if (broken.empty()) return {.code = topology.complete ? kExitComplete : kExitIncomplete};
  const Attribute& first = *broken.front().attribute;
  return {.code = kExitIncomplete,
          .broken_promise = fmt::format("{} of the values that 'gputopo coverage' promises could not be found out: {} "
                                        "({}: {}){}",
                                        broken.size(), broken.front().name, report::readable(to_string(first.reason)),
                                        first.detail, broken.size() == 1 ? "" : " and others, which --markdown lists")};
}

}  // namespace gputopo::cli
