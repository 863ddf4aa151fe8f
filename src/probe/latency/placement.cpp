#include "probe/latency/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "probe/bench/intervals.h"
#include "probe/survey/band_latency.h"

namespace gputopo::probe {
namespace {

struct PlacementParameters {
  // Most lines: several for each slice of the largest L2. Larger values steady the means but take longer.
  std::uint64_t lines = 512;
  // The array exceeds nearer caches by this factor, and takes at most this part of this cache.
  double exceeds_nearer = 1.5;
  double of_cache = 0.75;
  // Programs on the nearest and on the farthest SM, whose median counts; one on every other. Odd.
  std::size_t copies = 3;
};
constexpr PlacementParameters kPlacement;

std::uint64_t array_bytes(const Cache& cache, std::uint64_t stride_bytes) {
  const double least = kPlacement.exceeds_nearer * static_cast<double>(cache.nearer_bytes);
  const double most = kPlacement.of_cache * cache.held_bytes();
  if (least > most || most < 2.0 * static_cast<double>(stride_bytes)) {
    throw NotSupportedError(fmt::format(
        "the test may use at most {:.0f} B of this cache, and no array of that size exceeds the nearer caches", most));
  }
  const double wanted = std::clamp(static_cast<double>(kPlacement.lines * stride_bytes), least, most);
  return std::max<std::uint64_t>(2, static_cast<std::uint64_t>(wanted) / stride_bytes) * stride_bytes;
}

// The latency of the chain on each SM.
class ChainsOfSms {
 public:
  ChainsOfSms(ProbeRunner& runner, ChaseProgram program) : runner_(runner), program_(std::move(program)) {}

  // Skips numbers that no SM has; throws if programs cannot choose an SM at all.
  void measure_each() {
    for (std::uint32_t sm = 0; sm < runner_.info().sm_count; ++sm) {
      try {
        cycles_.push_back(latencies(sm, 1).front());
      } catch (const NotSupportedError&) {
        if (sm == 0) throw;
        continue;
      }
      sms_.push_back(sm);
    }
    confirmed_.resize(sms_.size());
  }

  // Index of the SM whose latency is still the least or the most after repeats: a disturbed run is an extreme, but no
  // SM is that near or far.
  template <typename Better>
  std::size_t end(Better better) {
    while (true) {
      const auto place = static_cast<std::size_t>(std::ranges::min_element(cycles_, better) - cycles_.begin());
      if (confirmed_[place]) return place;
      std::vector<double> copies = latencies(sms_[place], kPlacement.copies - 1);
      copies.push_back(cycles_[place]);
      cycles_[place] = stats::median(copies);
      confirmed_[place] = true;
    }
  }

  [[nodiscard]] const std::vector<std::uint32_t>& sms() const { return sms_; }
  [[nodiscard]] const std::vector<double>& cycles() const { return cycles_; }

 private:
  std::vector<double> latencies(std::uint32_t sm, std::size_t copies) {
    program_.sm = sm;
    std::vector<double> found;
    for (const ChaseResult& copy : runner_.chase(std::vector<ChaseProgram>(copies, program_))) {
      found.push_back(untimed_latency(copy, 1));
    }
    return found;
  }

  ProbeRunner& runner_;
  ChaseProgram program_;
  std::vector<std::uint32_t> sms_;
  std::vector<double> cycles_;
  std::vector<bool> confirmed_;
};

}  // namespace

Attribute measure_sm_latencies(ProbeRunner& runner, const Cache& cache) {
  const std::uint64_t stride = cache.line_or_fetch_bytes();
  const ChaseArray array = make_array(cache.site(), array_bytes(cache, stride), stride);
  // After two passes the cache has copied lines of its farther parts.
  std::vector<ChaseStep> steps = {{.kind = StepKind::kWarm, .loads = 2 * array.element_count()}};
  add_untimed_chain(steps, array);
  ChaseProgram program = make_program(cache.site(), {array}, steps);
  program.exclusive = true;
  ChainsOfSms chains(runner, std::move(program));
  chains.measure_each();
  const std::size_t nearest = chains.end(std::less<>());
  const std::size_t farthest = chains.end(std::greater<>());
  const std::vector<double>& cycles = chains.cycles();
  if (cycles[nearest] + cache.survey->timer_cycles < cache.hit_floor_cycles()) {
    throw Inconclusive(fmt::format(
        "some loads hit a nearer cache: the mean latency, {:.1f} cycles, is below the hit latency of this cache",
        cycles[nearest]));
  }
  Attribute attribute =
      measured(runner.conditions(), std::vector<double>{rounded(cycles[nearest]), rounded(cycles[farthest])}, "cycles",
               std::nullopt, "chain_from_every_sm");
  attribute.add_detail("nearest_sm", static_cast<std::int64_t>(chains.sms()[nearest]));
  attribute.add_detail("farthest_sm", static_cast<std::int64_t>(chains.sms()[farthest]));
  attribute.add_detail("median_cycles", rounded(stats::median(cycles)));
  if (runner.keep_samples()) {
    SampleTable table = make_table("by_sm", Plot::kPoints, {sm_axis(), values("latency_cycles", "latency", "cycles")});
    for (std::size_t i = 0; i < cycles.size(); ++i) {
      table.data[0].push_back(chains.sms()[i]);
      table.data[1].push_back(rounded(cycles[i]));
    }
    attribute.samples.push_back(std::move(table));
  }
  return attribute;
}

}  // namespace gputopo::probe
