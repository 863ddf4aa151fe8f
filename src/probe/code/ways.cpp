#include "probe/code/ways.h"

#include <fmt/format.h>

#include "probe/bench/evidence.h"
#include "probe/bench/last_that_fits.h"
#include "probe/bench/value_or_throw.h"
#include "probe/code/edge.h"
#include "probe/code/edge_decision.h"
#include "probe/code/survey.h"
#include "probe/code/trial.h"
#include "probe/code/ways_decision.h"

namespace gputopo::probe {
namespace {

// Lengths, in whole blocks, of which a good part misses, but not nearly all.
std::vector<std::uint32_t> lengths_on_edge(ProbeRunner& runner, const CodeCache& cache) {
  const std::uint32_t all_miss = cache.survey->instructions[cache.next().first];
  // The most blocks of which at most this part misses.
  const auto last_within = [&](double part) {
    return last_that_fits(cache.fits_instructions / kCodeBlockInstructions, all_miss / kCodeBlockInstructions,
                          [&](std::uint32_t blocks) {
                            return missed_parts(runner, cache, {blocks * kCodeBlockInstructions}).front() > part;
                          });
  };
  constexpr CodeWaysParameters kDecision;
  const std::uint32_t last = last_within(kDecision.nearly_all);
  const std::uint32_t first = last_within(kDecision.good_part) + 1;
  std::vector<std::uint32_t> lengths = spread(first, last, kDecision.lengths);
  for (std::uint32_t& length : lengths) length *= kCodeBlockInstructions;
  return lengths;
}

// Measures a short edge again by its stairs, because the ramp of a hashed index may look like a line. Returns a flag
// if no stairs show; empty if they do, or the code is too long.
std::string doubt_of_stairs(const CodeEdgeCallback& edge_of, const CodeWays& ways) {
  std::uint32_t found = 0;
  try {
    found = edge_of().ways;
  } catch (const Inconclusive& error) {
    return fmt::format(
        "unconfirmed: derived only from how fast misses increase as the code grows beyond the capacity; {}",
        error.what());
  } catch (const NotSupportedError&) {
    return {};
  }
  if (found >= ways.interval.low && found <= ways.interval.high) return {};
  throw Inconclusive(
      fmt::format("as the code grows beyond the capacity, the rate at which misses increase corresponds to {} ways, "
                  "but the steps of this increase correspond to {} ways",
                  ways.value, found));
}

}  // namespace

Attribute measure_code_ways(ProbeRunner& runner, const CodeCache& cache, const CodeEdgeCallback& edge_of) {
  if (!cache.in_turn) {
    throw Inconclusive(
        "misses begin before the code exceeds the cache, or grow slowly: replacement is neither LRU nor FIFO, or the "
        "sets overflow unevenly");
  }
  const std::vector<std::uint32_t> lengths = lengths_on_edge(runner, cache);
  if (lengths.size() < CodeWaysParameters{}.least_lengths) {
    const CodeEdge edge = edge_of();
    return measured_exactly(edge.conditions, edge.ways, "", "edge_staircase");
  }
  const std::vector<double> parts = missed_parts(runner, cache, lengths);
  std::vector<MissedLength> missed;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    missed.push_back({static_cast<double>(lengths[i]), parts[i] * lengths[i]});
  }
  const CodeSlope slope = value_or_throw(runner, "code", fit_code_slope(missed));
  const std::uint32_t behind =
      (static_cast<std::uint32_t>(slope.all_miss() / kCodeBlockInstructions) + 1) * kCodeBlockInstructions;
  const double missed_behind = missed_parts(runner, cache, {behind}).front();
  const CodeWays ways =
      value_or_throw(runner, "code", decide_code_ways(slope, cache.fits_instructions, behind, missed_behind));
  std::string doubt;
  if (slope.all_miss() - cache.fits_instructions <= CodeEdgeParameters{}.max_edge) {
    doubt = doubt_of_stairs(edge_of, ways);
  }
  Attribute attribute = measured(runner.conditions(), ways.value, "", ways.interval, "slope_of_edge");
  if (!doubt.empty()) attribute.flags.push_back(std::move(doubt));
  attribute.add_detail("misses_per_excess_instruction", std::round(100 * slope.misses_per_instruction) / 100);
  return attribute;
}

}  // namespace gputopo::probe
