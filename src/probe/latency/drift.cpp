#include "probe/latency/drift.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/survey/band_latency.h"

namespace gputopo::probe {
namespace {

struct DriftWatchParameters {
  // Programs between two looks. Smaller values see shorter drift; each look takes a millisecond.
  std::uint64_t programs = 60;
  // Bytes in L2 that a look loads, because slices lie at different distances and each look gets other lines. Larger
  // values steady the mean but take longer.
  std::uint64_t bytes = 128 << 10;
  std::uint64_t stride_bytes = 128;
  // Divisor of the last cache: the array is at most this part of it, so that all lines stay.
  std::uint64_t cache_divisor = 16;
};
constexpr DriftWatchParameters kDriftWatchParameters;

// A small array in L2 if loads can bypass L1: noise is a smaller part of longer loads.
ChaseProgram reference_program(const DeviceSession& bench, const ProbeRunner& runner) {
  Site site;
  ChaseArray array = make_array(site, bench.parameters().tiny_bytes, kMinimumStrideBytes);
  if (bench.has_space(Space::kGlobalBypassL1)) {
    site.space = Space::kGlobalBypassL1;
    const std::uint64_t most = runner.last_cache_bytes() / kDriftWatchParameters.cache_divisor;
    array = make_array(site,
                       std::clamp(kDriftWatchParameters.bytes, bench.parameters().tiny_bytes,
                                  std::max(most, bench.parameters().tiny_bytes)),
                       kDriftWatchParameters.stride_bytes);
  }
  std::vector<ChaseStep> steps = {{.kind = StepKind::kWarm, .loads = 4 * array.element_count()}};
  add_untimed_chain(steps, array);
  return make_program(site, {array}, std::move(steps));
}

}  // namespace

void DriftWatch::look() {
  if (!cycles_.empty() && session_.programs_run() < programs_at_look_ + kDriftWatchParameters.programs) return;
  look_again();
}

void DriftWatch::look_again() {
  if (!is_possible_) return;
  try {
    ProbeRunner runner(session_);
    const std::vector<ChaseResult> results = runner.chase({reference_program(session_, runner)});
    cycles_.push_back(untimed_latency(results.front(), 1));
    session_.log(fmt::format("drift: {:.2f} cycles", cycles_.back()));
  } catch (const Error& error) {
    session_.log(fmt::format("drift: {}", error.what()));
    is_possible_ = false;
  }
  programs_at_look_ = session_.programs_run();
}

}  // namespace gputopo::probe
