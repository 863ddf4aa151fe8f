#include "probe/partitions/slices.h"

#include "probe/bench/intervals.h"
#include "probe/bench/value_or_throw.h"
#include "probe/partitions/slices_decision.h"
#include "probe/partitions/sm_by_line.h"

namespace gputopo::probe {
namespace {

struct SlicesParameters {
  // Lines: several of each slice of the largest L2. Larger values show rare slices; time grows in proportion.
  std::size_t lines = 2048;
  // Passes, in two halves that are compared.
  std::uint64_t passes = 16;
  // With fewer SMs, slices at the same distance look alike.
  std::size_t least_sms = 4;
};
constexpr SlicesParameters kSlicesParameters;

}  // namespace

Attribute measure_slices(ProbeRunner& runner, const Cache& l2) {
  const SmByLine map = add_from_every_sm(runner, l2, kSlicesParameters.lines, kSlicesParameters.passes);
  if (map.sms.size() < kSlicesParameters.least_sms)
    throw NotSupportedError("too few SMs can be selected to tell slices apart");
  const Slices slices = value_or_throw(runner, "slices", decide_slices(map.latencies));
  Attribute attribute = measured(runner.conditions(), slices.count, "", slices.interval, "atomic_latency_profiles");
  attribute.details = {{"lines", static_cast<std::int64_t>(kSlicesParameters.lines)},
                       {"noise_cycles", rounded_to_tenth(slices.noise_cycles)}};
  return attribute;
}

}  // namespace gputopo::probe
