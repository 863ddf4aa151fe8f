#include "probe/capacity/fetch_limit.h"

#include <fmt/format.h>

#include <array>

#include "probe/survey/fetch_granularity.h"
#include "probe/survey/survey.h"

namespace gputopo::probe {
namespace {

constexpr std::array<std::uint32_t, 3> kLimitsBytes = {32, 64, 128};

}  // namespace

void require_fetch_limits(ProbeRunner& runner, const Site& site) {
  const ChaseArray array = make_array(site, runner.parameters().tiny_bytes, kMinimumStrideBytes);
  ChaseProgram program = make_program(site, {array}, {{.kind = StepKind::kWarm, .loads = array.element_count()}});
  program.l2_fetch_bytes = kLimitsBytes.front();
  static_cast<void>(runner.chase({program}));
}

Attribute measure_least_fetch(ProbeRunner& runner, const Cache& cache) {
  std::vector<FetchGranularity> fetches;
  for (const std::uint32_t limit : kLimitsBytes) {
    fetches.push_back(
        fetch_granularity_of(cache, run_cold_loads(runner, cache.site(), limit).passes, runner.parameters()));
  }
  const FetchGranularity& least = fetches.front();
  require_clear(least);
  Attribute attribute = measured_exactly(runner.conditions(), static_cast<std::int64_t>(least.bytes), "B", "cold_pass");
  for (std::size_t i = 0; i < kLimitsBytes.size(); ++i) {
    if (!is_clear(fetches[i])) continue;
    attribute.add_detail(fmt::format("at_limit_{}_bytes", kLimitsBytes[i]),
                         static_cast<std::int64_t>(fetches[i].bytes));
  }
  return attribute;
}

}  // namespace gputopo::probe
