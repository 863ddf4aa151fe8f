#include "probe/compute/sm_resources_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "model/round_up.h"

namespace gputopo::probe {

namespace {

constexpr std::uint32_t kMostStep = 64;  // registers of a thread

// The most registers with which the same warps fit lie in [first, last]: compilers do not produce every number.
struct RegisterEdge {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Warps by registers, for blocks of one size.
using WarpsByRegisters = std::map<std::uint32_t, std::uint32_t>;

void add_edges(const WarpsByRegisters& warps, std::vector<RegisterEdge>& edges) {
  constexpr std::uint32_t kMostBetween = 4;  // more would not show the step
  for (auto next = std::next(warps.begin()); next != warps.end(); ++next) {
    const auto& [registers, held] = *std::prev(next);
    if (next->second < held && next->first - registers <= kMostBetween) edges.push_back({registers, next->first - 1});
  }
}

// Registers of an SM, at least and at most, if threads get multiples of `step`.
stats::Interval registers_with(std::span<const RegisterSample> samples, std::uint32_t step, std::uint32_t lanes,
                               std::uint32_t max_warps, std::uint32_t most_blocks) {
  stats::Interval all{0, INFINITY};
  for (const RegisterSample& sample : samples) {
    const auto of_warp = static_cast<double>(round_up(sample.registers, step) * lanes);
    const std::uint32_t more = sample.warps + sample.warps_of_block;
    all.low = std::max(all.low, sample.warps * of_warp);
    if (more <= max_warps && more <= most_blocks * sample.warps_of_block) {
      all.high = std::min(all.high, more * of_warp - 1);
    }
  }
  return all;
}

}  // namespace

Decision<RegisterFile> decide_registers(std::span<const RegisterSample> samples, std::uint32_t lanes,
                                        std::uint32_t max_warps, std::uint32_t most_blocks) {
  std::map<std::uint32_t, WarpsByRegisters> by_block;
  for (const RegisterSample& sample : samples) {
    if (sample.registers == 0) return {.why_not = "the compiler does not report how many registers it allocated"};
    by_block[sample.warps_of_block][sample.registers] = sample.warps;
  }
  std::vector<RegisterEdge> edges;
  for (const auto& [warps_of_block, warps] : by_block) add_edges(warps, edges);
  constexpr std::size_t kFewestEdges = 3;
  if (edges.size() < kFewestEdges) {
    return {.why_not = fmt::format(
                "the number of resident warps drops at only {} register counts, but at least three drops are needed",
                edges.size())};
  }
  std::vector<RegisterFile> possible;
  for (std::uint32_t step = 1; step <= kMostStep; ++step) {
    const bool has_edges =
        std::ranges::all_of(edges, [&](const RegisterEdge& edge) { return edge.last / step * step >= edge.first; });
    const stats::Interval registers = registers_with(samples, step, lanes, max_warps, most_blocks);
    if (has_edges && registers.low <= registers.high) possible.push_back({step * lanes, registers});
  }
  if (possible.empty()) return {.why_not = "no allocation unit explains how many warps fit at each register count"};
  if (possible.size() > 1) {
    return {.why_not = fmt::format("the measurements fit allocation units of both {} and {} registers",
                                   possible[0].unit, possible[1].unit)};
  }
  const RegisterFile& file = possible.front();
  return {.value = file,
          .basis = fmt::format("the number of warps drops at {} register counts; the SM has {} to {} registers",
                               edges.size(), file.registers.low, file.registers.high)};
}

Decision<std::uint64_t> decide_shared_unit(std::span<const SharedSample> samples, std::uint64_t reserved_bytes) {
  constexpr std::size_t kFewest = 4;
  if (samples.size() < kFewest)
    return {.why_not = "shared memory limits the number of blocks in fewer than four of the tests"};
  std::uint64_t unit = 0;
  for (const SharedSample& sample : samples) unit = std::gcd(unit, sample.bytes + reserved_bytes);
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
  for (const SharedSample& sample : samples) {
    const std::uint64_t of_block = sample.bytes + reserved_bytes;
    least = std::max(least, sample.blocks * of_block);
    most = std::min(most, sample.blocks * (of_block + unit) - 1);
  }
  if (unit == 0 || least > most) {
    return {.why_not = fmt::format(
                "allocation units of {} B lead to a contradiction: an SM would have at least {} B and at most {} B",
                unit, least, most)};
  }
  for (const std::uint64_t all : {least, most}) {
    const std::uint64_t half = unit / 2;
    const bool would_show = half == 0 || std::ranges::any_of(samples, [&](const SharedSample& sample) {
                              return all / sample.blocks / half * half != sample.bytes + reserved_bytes;
                            });
    if (!would_show)
      return {.why_not = fmt::format("the measurements fit allocation units of both {} B and {} B", unit, half)};
  }
  return {.value = unit, .basis = fmt::format("{} to {} B in total", least, most)};
}

namespace {

// Empty if several warps do not do a whole multiple of what one warp does.
Decision<std::uint32_t> schedulers_of(const WarpRates& operation, const SchedulerParameters& parameters) {
  if (operation.rates.empty() || operation.warps.front() != 1 || operation.rates.front() <= 0) {
    return {.why_not = "the rate of a single warp was not measured"};
  }
  const double alone = operation.rates.front();
  const double ratio = *std::ranges::max_element(operation.rates) / alone;
  const double schedulers = std::round(ratio);
  if (schedulers < 1 || std::abs(ratio - schedulers) > parameters.steady * schedulers) {
    return {.why_not =
                fmt::format("several warps reach {:.2f} times the rate of one, which is not a whole multiple", ratio)};
  }
  for (std::size_t i = 0; i < operation.warps.size(); ++i) {
    const double expected = std::min(operation.warps[i], schedulers) * alone;
    const bool is_whole = operation.warps[i] <= schedulers || std::fmod(operation.warps[i], schedulers) == 0;
    if (is_whole && std::abs(operation.rates[i] - expected) > 2 * parameters.steady * expected) {
      return {.why_not =
                  fmt::format("{} warps reach {:.2f} times the rate of one, but {} schedulers would allow {:.2f} times",
                              operation.warps[i], operation.rates[i] / alone, schedulers, expected / alone)};
    }
  }
  return {.value = static_cast<std::uint32_t>(schedulers)};
}

}  // namespace

Decision<std::uint32_t> decide_schedulers(std::span<const WarpRates> operations,
                                          const SchedulerParameters& parameters) {
  Decision<std::uint32_t> decided;
  for (const WarpRates& operation : operations) {
    Decision<std::uint32_t> one = schedulers_of(operation, parameters);
    if (!one.value) return one;
    if (decided.value && *decided.value != *one.value) {
      return {.why_not =
                  fmt::format("one operation shows {} schedulers, another shows {}", *decided.value, *one.value)};
    }
    decided.value = one.value;
  }
  if (!decided.value) decided.why_not = "no operation was measured";
  return decided;
}

ClockGroups clock_groups(std::span<const ClockReading> readings, double cycles_per_ns,
                         const ClockParameters& parameters) {
  ClockGroups groups;
  if (readings.empty()) return groups;
  const ClockReading& first = readings.front();
  std::vector<std::pair<double, std::uint32_t>> sorted;
  for (const ClockReading& reading : readings) {
    const double expected = first.clock_cycles + (reading.timer_ns - first.timer_ns) * cycles_per_ns;
    groups.offsets_cycles.push_back(reading.clock_cycles - expected);
    sorted.emplace_back(groups.offsets_cycles.back(), reading.sm);
  }
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i].first - sorted[i - 1].first > parameters.near_cycles) groups.groups.emplace_back();
    groups.groups.back().push_back(sorted[i].second);
  }
  for (std::vector<std::uint32_t>& group : groups.groups) std::ranges::sort(group);
  std::ranges::sort(groups.groups);
  return groups;
}

Decision<DivergenceCost> decide_divergence(std::span<const DivergenceSample> samples, double alone_cycles,
                                           const SidesParameters& parameters) {
  constexpr std::size_t kFewest = 3;
  if (samples.size() < kFewest)
    return {.why_not = "fewer than three branches with different numbers of control paths were timed"};
  const DivergenceSample& first = samples.front();
  const DivergenceSample& last = samples.back();
  if (last.cycles <= first.cycles)
    return {.why_not = "a branch with more control paths took no longer than one with fewer"};
  const double of_side = (last.cycles - first.cycles) / (last.sides - first.sides);
  double low = of_side;
  double high = of_side;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double off = samples[i].cycles - first.cycles - of_side * (samples[i].sides - first.sides);
    if (std::abs(off) > parameters.straight * (last.cycles - first.cycles)) {
      return {.why_not =
                  fmt::format("the time of a branch with {} control paths deviates by {:.0f} cycles from the line "
                              "through the times of the branches with the fewest and the most control paths",
                              samples[i].sides, off)};
    }
    const double between = (samples[i].cycles - samples[i - 1].cycles) / (samples[i].sides - samples[i - 1].sides);
    low = std::min(low, between);
    high = std::max(high, between);
  }
  return {.value = DivergenceCost{of_side - alone_cycles,
                                  {low - alone_cycles, high - alone_cycles},
                                  of_side < parameters.beside * alone_cycles}};
}

}  // namespace gputopo::probe
