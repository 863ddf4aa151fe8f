// More blocks than an SM has room for each stay for a while: the most at one time is what it holds. What each block
// needs (registers, shared memory) limits that number, and the sizes at which one block fewer fits show the allocation
// unit.
//
// What fools it: blocks that leave before the last one arrives (they stay many times the start time); registers that
// the compiler did not allocate as requested (NVIDIA's reports what it allocated; only the tests check AMD's); shared
// memory that a block gets unasked (the vendor's interface reports it); other processes (programs are repeated);
// unequal SMs.
#include "probe/compute/sm_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/error.h"
#include "probe/bench/evidence.h"
#include "probe/bench/intervals.h"
#include "probe/compute/sm_resources_decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kStayCycles = 100'000;
constexpr std::uint32_t kMostSchedulers = 4;  // of any GPU

// The most blocks that an SM held. No SM holds more than fits. SMs that got their blocks late show fewer, and so do
// SMs of larger shader engines (AMD deals as many blocks to each engine). A quarter of the SMs must agree.
std::uint32_t resident(const OccupancyResult& result) {
  const auto [least, most] = std::ranges::minmax(result.resident);
  if (4 * std::ranges::count(result.resident, most) < std::ssize(result.resident)) {
    throw Inconclusive(fmt::format("SMs held {} to {} blocks, and too few SMs held the maximum", least, most));
  }
  return most;
}

std::uint32_t warps_of(const ProbeRunner& runner, std::uint32_t threads) {
  return (threads + runner.info().warp_size - 1) / runner.info().warp_size;
}

// One more than the vendor's figure, or than a guess that no GPU reaches.
std::uint32_t more_blocks_than_fit(const ProbeRunner& runner) {
  constexpr std::uint64_t kGuess = 64;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kMaxOccupancyBlocks, runner.info().max_blocks_per_sm.value_or(kGuess) + 1));
}

// Blocks of many warps, so that the number of blocks does not limit the warps; and of fewer warps, which may fill the
// room that is left on an SM.
std::uint32_t max_warps(ProbeRunner& runner) {
  std::vector<OccupancyProgram> programs;
  for (const std::uint32_t threads :
       {2 * runner.info().warp_size, 4 * runner.info().warp_size, 8 * runner.info().warp_size}) {
    programs.push_back({.threads = threads, .blocks_per_sm = more_blocks_than_fit(runner), .stay_cycles = kStayCycles});
  }
  const std::vector<OccupancyResult> results = runner.occupancy(programs);
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    most = std::max(most, resident(results[i]) * warps_of(runner, programs[i].threads));
  }
  return most;
}

void beside_api(Attribute& attribute, const char* name, const std::optional<std::uint64_t>& told, double measured) {
  if (!told) return;
  attribute.add_detail(name, static_cast<std::int64_t>(*told));
  if (static_cast<double>(*told) == measured) return;
  attribute.flags.push_back(fmt::format("differs_from_api: the vendor's interface reports {}", *told));
}

// ---- Registers ----

struct RegisterCounts {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t step;
};

// From few registers to slightly more than a warp of a full SM can have, then some larger numbers.
std::vector<std::uint32_t> register_counts(const DeviceInfo& info) {
  // A thread of AMD's can have 256 or 512 registers, one of NVIDIA's 255, and eight or ten wavefronts share them.
  const std::vector<RegisterCounts> ranges =
      vendor_of(info.vendor) == Vendor::kAmd ? std::vector<RegisterCounts>{{48, 128, 2}, {136, 224, 8}}
                                             : std::vector<RegisterCounts>{{8, 64, 1}, {80, 128, 16}, {160, 224, 32}};
  std::vector<std::uint32_t> counts;
  for (const RegisterCounts& range : ranges) {
    for (std::uint32_t count = range.first; count <= range.last; count += range.step) counts.push_back(count);
  }
  return counts;
}

std::vector<OccupancyProgram> register_programs(const ProbeRunner& runner, std::uint32_t schedulers) {
  const std::vector<std::uint32_t> counts = register_counts(runner.info());
  std::vector<OccupancyProgram> programs;
  for (const std::uint32_t warps : {2u, 4u}) {
    if (warps % schedulers != 0) continue;
    for (const std::uint32_t count : counts) {
      programs.push_back({.threads = warps * runner.info().warp_size,
                          .registers = count,
                          .blocks_per_sm = more_blocks_than_fit(runner),
                          .stay_cycles = kStayCycles});
    }
  }
  return programs;
}

SampleTable table_of(const std::vector<RegisterSample>& samples) {
  SampleTable table = make_table(
      "registers", Plot::kLine,
      {axis("registers", "registers per thread"), series("block_warps", "warps per block"), values("warps", "warps")});
  for (const RegisterSample& sample : samples) {
    table.data[0].push_back(sample.registers);
    table.data[1].push_back(sample.warps_of_block);
    table.data[2].push_back(sample.warps);
  }
  return table;
}

// ---- Shared memory ----

// The most bytes of a block with which an SM holds `blocks` blocks, for several numbers of blocks at once.
std::vector<SharedSample> shared_edges(ProbeRunner& runner, std::uint64_t most_bytes) {
  constexpr std::uint32_t kFewestBlocks = 2;
  const std::uint32_t most_blocks = more_blocks_than_fit(runner) - 1;
  struct Search {
    std::uint32_t blocks;
    std::uint64_t fits;
    std::uint64_t too_many;
  };
  std::vector<Search> searches;
  for (std::uint32_t blocks = kFewestBlocks; blocks <= most_blocks; ++blocks) {
    searches.push_back({blocks, 1, most_bytes + 1});
  }
  while (std::ranges::any_of(searches, [](const Search& search) { return search.fits + 1 < search.too_many; })) {
    std::vector<OccupancyProgram> programs;
    for (const Search& search : searches) {
      programs.push_back({.threads = runner.info().warp_size,
                          .shared_bytes = search.fits + (search.too_many - search.fits) / 2,
                          .blocks_per_sm = search.blocks + 1,
                          .stay_cycles = kStayCycles});
    }
    const std::vector<OccupancyResult> results = runner.occupancy(programs);
    for (std::size_t i = 0; i < searches.size(); ++i) {
      if (searches[i].fits + 1 >= searches[i].too_many) continue;
      (resident(results[i]) >= searches[i].blocks ? searches[i].fits : searches[i].too_many) = programs[i].shared_bytes;
    }
  }
  std::vector<SharedSample> samples;
  for (const Search& search : searches) {
    // Otherwise the limit of a block, not that of the SM, ends the search.
    if (search.too_many <= most_bytes) samples.push_back({search.blocks, search.fits});
  }
  return samples;
}

// ---- Schedulers ----

constexpr std::uint32_t kFewWarpRounds = 2;
constexpr std::uint32_t kManyWarpRounds = 6;

WarpRates rates_of(ProbeRunner& runner, OperationId operation) {
  WarpRates rates;
  std::vector<OperationProgram> programs;
  for (const std::uint32_t warps : {1u, 2u, 3u, 4u, 8u, 16u}) {
    if (warps * runner.info().warp_size > runner.info().max_threads_per_block.value_or(512)) continue;
    rates.warps.push_back(warps);
    for (const std::uint32_t rounds : {kFewWarpRounds, kManyWarpRounds}) {
      programs.push_back({.operation = operation,
                          .streams = kMaxOperationStreams,
                          .warps = warps,
                          .every_sm = false,
                          .rounds = rounds});
    }
  }
  // The faster of two runs, because the first waits for code that no instruction cache holds yet.
  const std::vector<OperationResult> first = runner.operation(programs);
  const std::vector<OperationResult> second = runner.operation(programs);
  const auto cycles_of = [&](std::size_t i) { return std::min(first[i].cycles.front(), second[i].cycles.front()); };
  for (std::size_t i = 0; i < rates.warps.size(); ++i) {
    if (!first[2 * i].refusal.empty()) throw NotSupportedError(first[2 * i].refusal);
    const double cycles = cycles_of(2 * i + 1) - cycles_of(2 * i);
    if (cycles <= 0) throw Inconclusive("more rounds of an operation took no longer than fewer rounds");
    rates.rates.push_back(rates.warps[i] * operations_per_round(programs[2 * i]) * (kManyWarpRounds - kFewWarpRounds) /
                          cycles);
  }
  return rates;
}

}  // namespace

Attribute measure_resident_warps(ProbeRunner& runner) {
  const std::uint32_t warps = max_warps(runner);
  Attribute attribute = measured_exactly(runner.conditions(), warps, "", "co_resident_blocks");
  std::optional<std::uint64_t> told = runner.info().max_threads_per_sm;
  if (told) *told /= runner.info().warp_size;
  beside_api(attribute, "warps_by_api", told, warps);
  return attribute;
}

Attribute measure_resident_blocks(ProbeRunner& runner) {
  const OccupancyProgram program = {
      .threads = runner.info().warp_size, .blocks_per_sm = more_blocks_than_fit(runner), .stay_cycles = kStayCycles};
  const std::uint32_t blocks = resident(runner.occupancy({program}).front());
  Attribute attribute = measured_exactly(runner.conditions(), blocks, "", "co_resident_blocks");
  beside_api(attribute, "blocks_by_api", runner.info().max_blocks_per_sm, blocks);
  return attribute;
}

RegisterFinding measure_registers(ProbeRunner& runner, std::optional<double> schedulers) {
  const std::uint32_t most = max_warps(runner);
  const std::vector<OccupancyProgram> programs =
      register_programs(runner, static_cast<std::uint32_t>(schedulers.value_or(kMostSchedulers)));
  const std::vector<OccupancyResult> results = runner.occupancy(programs);
  std::vector<RegisterSample> samples;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::uint32_t warps = warps_of(runner, programs[i].threads);
    samples.push_back({results[i].registers, resident(results[i]) * warps, warps});
  }
  const Decision<RegisterFile> decided =
      decide_registers(samples, runner.info().warp_size, most, more_blocks_than_fit(runner) - 1);
  if (!decided.value) throw Inconclusive(decided.why_not);
  runner.log("registers: " + decided.basis);
  constexpr double kRegisterBytes = 4;
  const stats::Interval& registers = decided.value->registers;
  RegisterFinding finding{
      measured(runner.conditions(), static_cast<std::int64_t>(registers.low * kRegisterBytes), "B",
               stats::Interval{registers.low * kRegisterBytes, registers.high * kRegisterBytes}, "co_resident_blocks"),
      measured_exactly(runner.conditions(), decided.value->unit, "", "co_resident_blocks")};
  beside_api(finding.file, "registers_by_api", runner.info().registers_per_sm, registers.low);
  finding.file.add_detail("max_registers_per_thread", static_cast<std::int64_t>(samples.back().registers));
  if (runner.keep_samples()) finding.file.samples.push_back(table_of(samples));
  return finding;
}

Attribute measure_shared_unit(ProbeRunner& runner) {
  const DeviceInfo& info = runner.info();
  const std::optional<std::uint64_t> told = info.max_shared_bytes_per_block();
  if (!told) throw NotSupportedError("the vendor's interface does not report the maximum shared memory per block");
  const std::vector<SharedSample> samples = shared_edges(runner, *told);
  const Decision<std::uint64_t> unit = decide_shared_unit(samples, info.shared_reserved_bytes_per_block.value_or(0));
  if (!unit.value) throw Inconclusive(unit.why_not);
  runner.log("shared memory: " + unit.basis);
  return measured_exactly(runner.conditions(), static_cast<std::int64_t>(*unit.value), "B", "co_resident_blocks");
}

Attribute measure_schedulers(ProbeRunner& runner) {
  const std::vector<WarpRates> rates = {rates_of(runner, OperationId::kFmaF32), rates_of(runner, OperationId::kAddS32)};
  const Decision<std::uint32_t> schedulers = decide_schedulers(rates);
  if (!schedulers.value) throw Inconclusive(schedulers.why_not);
  Attribute attribute = measured_exactly(runner.conditions(), *schedulers.value, "", "warp_scaling");
  attribute.add_detail("warps_tried", rates.front().warps);
  std::vector<double> shown;
  for (const double rate : rates.front().rates) shown.push_back(rounded(rate));
  attribute.add_detail("instructions_per_clk", shown);
  return attribute;
}

ClockFinding measure_clocks(ProbeRunner& runner) {
  constexpr std::uint32_t kLongStay = 400'000;  // many times the step of the slowest timers, a microsecond
  const OccupancyProgram program = {
      .threads = runner.info().warp_size, .blocks_per_sm = 1, .stay_cycles = kLongStay, .clocks = true};
  const std::vector<OccupancyResult> results = runner.occupancy({program, program});
  const OccupancyResult& first = results[0];
  const OccupancyResult& second = results[1];
  // The speed of the clocks between both launches.
  std::vector<double> speeds;
  std::vector<ClockReading> readings;
  for (std::size_t i = 0; i < first.sms.size(); ++i) {
    readings.push_back({first.sms[i], first.timer_ns[i], first.clock_cycles[i]});
    const auto again = std::ranges::find(second.sms, first.sms[i]);
    if (again == second.sms.end()) continue;
    const auto at = static_cast<std::size_t>(again - second.sms.begin());
    const double ns = second.timer_ns[at] - first.timer_ns[i];
    if (ns > 0) speeds.push_back((second.clock_cycles[at] - first.clock_cycles[i]) / ns);
  }
  const double told = runner.conditions().sm_clock_mhz() / 1000;
  const double speed = speeds.empty() ? told : stats::median(speeds);
  const double step_ns = std::ranges::min(first.timer_step_ns);
  if (step_ns <= 0 || step_ns >= 1e9) throw Inconclusive("the timer that all SMs share did not advance");

  ClockFinding finding{
      measured_exactly(runner.conditions(), static_cast<std::int64_t>(std::ranges::min(first.clock_step_cycles)),
                       "cycles", "readings_in_a_row"),
      measured_exactly(runner.conditions(), static_cast<std::int64_t>(step_ns), "ns", "readings_in_a_row"),
      {}};
  finding.step.add_detail("cycles_of_a_reading", std::ranges::min(first.clock_read_cycles));
  const ClockGroups groups = clock_groups(readings, speed);
  finding.groups = measured(runner.conditions(), UnitGroups{groups.groups}, "", std::nullopt, "clocks_at_one_moment");
  const auto [low, high] = std::ranges::minmax(groups.offsets_cycles);
  finding.groups.add_detail("largest_difference_cycles", rounded(high - low));
  return finding;
}

}  // namespace gputopo::probe
