#include "probe/partitions/sm_by_line.h"

#include <random>
#include <set>

namespace gputopo::probe {
namespace {

struct SmByLineParameters {
  // Span of the lines. Larger values spread them more evenly over slices; smaller values keep all in the smallest L2.
  std::uint64_t span_bytes = 16u << 20;
  // Passes before the timed ones.
  std::uint64_t warm_passes = 3;
};
constexpr SmByLineParameters kSmByLineParameters;

}  // namespace

SmByLine add_from_every_sm(ProbeRunner& runner, const Cache& l2, std::size_t lines, std::uint64_t passes) {
  if (l2.site().space != Space::kGlobalBypassL1) throw NotSupportedError("L2 does not serve global accesses");
  const std::uint64_t stride = l2.line_or_fetch_bytes();
  ChaseArray array = make_array(l2.site(), kSmByLineParameters.span_bytes, stride, Order::kSequential);
  std::mt19937_64 random(runner.seed());
  std::set<std::uint32_t> chosen;
  while (chosen.size() < lines) chosen.insert(static_cast<std::uint32_t>(random() % array.element_count()));
  array.elements.assign(chosen.begin(), chosen.end());
  array.order = Order::kShuffled;
  SmByLine found;
  for (const std::uint32_t line : array.elements) found.line_bytes.push_back(line * stride);
  ChaseProgram program =
      make_program(l2.site(), {array}, {{.kind = StepKind::kWarm, .loads = kSmByLineParameters.warm_passes * lines}});
  program.exclusive = true;
  program.timed_cap = static_cast<std::uint32_t>(lines);
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    program.steps.push_back({.kind = StepKind::kAtomic, .loads = lines, .chain = 1});
  }
  for (std::uint32_t sm = 0; sm < runner.info().sm_count; ++sm) {
    program.sm = sm;
    std::vector<ChaseResult> results;
    try {
      results = runner.chase({program});
    } catch (const NotSupportedError&) {
      if (sm == 0) throw;
      continue;  // no SM has this number
    }
    found.sms.push_back(sm);
    auto& of_sm = found.latencies.emplace_back(lines, std::vector<std::uint32_t>(passes));
    for (std::size_t line = 0; line < lines; ++line) {
      for (std::uint64_t pass = 0; pass < passes; ++pass) {
        of_sm[line][pass] = results.front().steps[pass + 1].latencies[line];
      }
    }
  }
  return found;
}

}  // namespace gputopo::probe
