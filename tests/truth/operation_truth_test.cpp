// Compares the probes of operations with random machines and with the tables of Wong et al., ISPASS 2010.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "support/draw.h"
#include "support/seeds.h"

namespace gputopo::truth {
namespace {

// Pipes of any width, each shared by some operations, and schedulers.
sim::MachineSpec random_pipe_machine(std::uint64_t seed) {
  Draw draw(seed);
  sim::MachineSpec machine;
  machine.info.vendor = "NVIDIA";
  machine.info.name = fmt::format("random pipes {}", seed);
  machine.info.sm_count = 1 + draw.below(20);
  machine.info.sm_clock_max_mhz = 1000;
  machine.info.max_threads_per_block = draw.pick({512u, 1024u});
  machine.caches = {{.id = "l2", .size_bytes = 1 << 20, .scope = sim::Scope::kGpu}};
  machine.spaces[Space::kGlobalBypassL1] = {{{"l2", 200, 0}}, 500};
  sim::ComputeSpec compute{
      .schedulers = draw.pick({1u, 2u, 4u}), .loop_cycles = draw.uniform(0, 20), .wait_cycles = draw.uniform(20, 50)};
  const std::uint32_t pipes = 1 + draw.below(6);
  for (std::uint32_t i = 0; i < pipes; ++i) {
    compute.pipes[fmt::format("pipe{}", i)].lanes_per_cycle = compute.schedulers * draw.log_uniform(0.5, 32);
  }
  for (const OperationInfo& operation : instruction_catalogue()) {
    if (draw.chance(0.3)) continue;
    sim::OperationSpec& spec = compute.operations[std::string(operation.name)];
    spec.pipe = fmt::format("pipe{}", draw.below(pipes));
    spec.latency_cycles = operation.of == OperationClass::kDivision ? draw.uniform(40, 900) : draw.uniform(2, 40);
    if (draw.chance(0.3)) spec.lanes_per_cycle = compute.pipes[spec.pipe].lanes_per_cycle * draw.uniform(0.3, 1);
  }
  machine.compute = std::move(compute);
  machine.noise.jitter_cycles = draw.uniform(0, 2.5);
  machine.noise.outlier_probability = draw.uniform(0, 0.0005);
  machine.noise.outlier_cycles = draw.uniform(100, 500);
  return machine;
}

// The highest throughput of an operation over the tested numbers of warps, with at most `most_streams` chains.
double true_throughput(const sim::MachineSpec& machine, const OperationInfo& operation, const sim::OperationSpec& spec,
                       double most_streams) {
  const sim::ComputeSpec& compute = *machine.compute;
  const auto warps = static_cast<double>(*machine.info.max_threads_per_block / machine.info.warp_size);
  const double lanes = spec.lanes_per_cycle > 0 ? spec.lanes_per_cycle : compute.pipes.at(spec.pipe).lanes_per_cycle;
  const double wait = warps_per_operation(operation.type) > 1 ? compute.wait_cycles : 0;
  const double loop = (compute.loop_cycles + wait) / operations_per_round({.operation = operation.id});
  double most = 0;
  const std::uint32_t together = warps_per_operation(operation.type);
  const double max_warps = together == 1 ? warps : std::min<double>(warps, kMaxWarpgroupWarps);
  for (const double streams : {1.0, together == 1 ? most_streams : 1.0}) {
    for (double some = together; some <= max_warps; some *= 2) {
      const double of_scheduler = std::ceil(some / compute.schedulers);
      const double own = together == 1 ? 0
                                       : std::ceil(static_cast<double>(together) / compute.schedulers) *
                                             machine.info.warp_size * compute.schedulers / lanes;
      const double cycles = std::max({std::max(spec.latency_cycles, own) / streams + loop,
                                      of_scheduler * machine.info.warp_size * compute.schedulers / lanes,
                                      of_scheduler * spec.instructions * compute.issue_cycles});
      most = std::max(most, some * machine.info.warp_size / cycles);
    }
  }
  return most;
}

struct PipeTally {
  std::size_t asked = 0;
  std::vector<std::string> wrong;
};

PipeTally judge_machine(std::uint64_t seed) {
  sim::MachineSpec machine = random_pipe_machine(seed);
  if (seed % 5 == 0) machine.info.vendor = "AMD";
  const auto device = sim::make_sim_device(machine, seed, 1);
  DiscoverOptions options;
  options.elements = {"instructions"};
  options.budget_seconds = 1e5;
  log_if_asked(seed, options);
  const Topology found = discover(*device, options);
  PipeTally tally;
  for (const OperationInfo& operation : instruction_catalogue()) {
    if (operation.ptx.empty() && machine.info.vendor == "NVIDIA") continue;
    const Instruction* instruction = found.find_instruction(operation.name);
    const auto spec = machine.compute->operations.find(std::string(operation.name));
    const Attribute* latency = find(instruction->attributes, AttributeId::kLatency);
    const Attribute* throughput = find(instruction->attributes, AttributeId::kThroughput);
    ++tally.asked;
    const auto expect = [&](bool right, const char* what, const Attribute& attribute, double truth) {
      if (right) return;
      tally.wrong.push_back(fmt::format("seed {}: {} {}: {} ({}), truth {}", seed, operation.name, what,
                                        attribute.number().value_or(-1), attribute.detail, truth));
    };
    if (spec == machine.compute->operations.end()) {
      expect(latency->reason == Reason::kNotSupported, "latency", *latency, 0);
      continue;
    }
    // A chain also waits for the pipe if a warp occupies it for longer.
    const sim::ComputeSpec& compute = *machine.compute;
    const double lanes = spec->second.lanes_per_cycle > 0 ? spec->second.lanes_per_cycle
                                                          : compute.pipes.at(spec->second.pipe).lanes_per_cycle;
    const double of_scheduler =
        std::ceil(static_cast<double>(warps_per_operation(operation.type)) / compute.schedulers);
    const double cycles =
        std::max({spec->second.latency_cycles, of_scheduler * machine.info.warp_size * compute.schedulers / lanes,
                  of_scheduler * spec->second.instructions * compute.issue_cycles});
    const double rate = true_throughput(machine, operation, spec->second, 4);
    // The probe tries eight chains if four nearly fill what may be the unit.
    const double more = std::max(rate, true_throughput(machine, operation, spec->second, 8));
    expect(latency->number() && std::abs(*latency->number() - cycles) <= 0.5 + 0.001 * cycles, "latency", *latency,
           cycles);
    expect(latency->number() && *latency->low <= cycles + 0.5 && *latency->high >= cycles - 0.5, "interval of latency",
           *latency, cycles);
    expect(throughput->number() && *throughput->number() >= 0.99 * rate - 0.005 &&
               *throughput->number() <= 1.01 * more + 0.005,
           "throughput", *throughput, rate);
  }
  return tally;
}

TEST(OperationTruth, RandomPipes) {
  PipeTally all;
  judge_seeds(first_seed(), std::min<std::uint64_t>(machines_wanted(), 200), judge_machine, [&](PipeTally tally) {
    all.asked += tally.asked;
    all.wrong.insert(all.wrong.end(), tally.wrong.begin(), tally.wrong.end());
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(all.wrong.size(), 20); ++i) ADD_FAILURE() << all.wrong[i];
  EXPECT_TRUE(all.wrong.empty()) << all.wrong.size() << " of " << all.asked;
}

struct PairTally {
  std::size_t told = 0;
  std::size_t untold = 0;
  std::vector<std::string> wrong;
};

// Operations of one pipe must be reported together and those of two pipes apart, or the pair is not told apart.
PairTally judge_pairs(std::uint64_t seed) {
  sim::MachineSpec machine = random_pipe_machine(seed);
  const auto device = sim::make_sim_device(machine, seed, 1);
  DiscoverOptions options;
  options.elements = {"pipes"};
  options.keep_samples = false;
  options.budget_seconds = 1e5;
  const Topology found = discover(*device, options);
  const Attribute* pipes = find(found.compute, AttributeId::kPipes);
  PairTally tally;
  if (pipes == nullptr || !pipes->available()) return tally;
  std::map<std::string, std::size_t> place;
  const auto& units = std::get<std::vector<std::string>>(pipes->value);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::size_t names = units[i].find(": ");
    std::istringstream words(names == std::string::npos ? units[i] : units[i].substr(names + 2));
    for (std::string word; words >> word;) place[word] = i;
  }
  std::set<std::string> untold;
  for (const char* detail : {"partly_shared_pairs", "undecided_pairs"}) {
    const Value* pairs = pipes->find_detail(detail);
    if (pairs == nullptr) continue;
    for (const std::string& pair : std::get<std::vector<std::string>>(*pairs)) untold.insert(pair);
  }
  for (const auto& [one, unit] : place) {
    for (const auto& [other, other_unit] : place) {
      if (one == other) continue;
      if (untold.contains(one + " " + other) || untold.contains(other + " " + one)) {
        ++tally.untold;
        continue;
      }
      ++tally.told;
      const bool together = machine.compute->operations.at(one).pipe == machine.compute->operations.at(other).pipe;
      if (together != (unit == other_unit)) tally.wrong.push_back(fmt::format("seed {}: {} and {}", seed, one, other));
    }
  }
  return tally;
}

TEST(OperationTruth, RandomPipesAreToldApart) {
  PairTally all;
  std::size_t machines = 0;
  std::size_t told_machines = 0;
  judge_seeds(first_seed(), std::min<std::uint64_t>(machines_wanted(), 200), judge_pairs, [&](const PairTally& tally) {
    ++machines;
    told_machines += tally.told > 0 ? 1 : 0;
    all.told += tally.told;
    all.untold += tally.untold;
    all.wrong.insert(all.wrong.end(), tally.wrong.begin(), tally.wrong.end());
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(all.wrong.size(), 20); ++i) ADD_FAILURE() << all.wrong[i];
  EXPECT_TRUE(all.wrong.empty()) << all.wrong.size() << " of " << all.told << " pairs";
  EXPECT_GE(told_machines, machines * 9 / 10);
  EXPECT_GE(all.told, 3 * all.untold);
}

struct UnitTally {
  std::map<std::string, int> told;  // values without a flag, by attribute
  std::vector<std::string> wrong;
  int full_of_blocks = 0;   // machines whose SMs can hold the maximum of one-warp blocks
  int with_arithmetic = 0;  // machines with the operations that the count of schedulers needs
};

// Capacities and clocks of the SMs of random machines.
UnitTally judge_units(std::uint64_t seed) {
  Draw draw(seed);
  sim::MachineSpec machine = random_pipe_machine(seed);
  if (seed % 5 == 0) machine.info.vendor = "AMD";
  const std::uint32_t schedulers = draw.pick<std::uint32_t>({1, 2, 4});
  machine.compute->schedulers = schedulers;
  machine.info.max_threads_per_sm = 32 * schedulers * (8 + draw.below(9));
  machine.info.max_blocks_per_sm = 8 + draw.below(25);
  machine.info.registers_per_sm = 1024 * schedulers * (4 + draw.below(13));
  machine.info.shared_bytes_per_sm = 1024 * (16 + draw.below(213));
  machine.info.shared_bytes_per_block_opt_in = *machine.info.shared_bytes_per_sm - 1024;
  machine.info.shared_reserved_bytes_per_block = draw.pick<std::uint64_t>({0, 1024});
  machine.compute->register_unit = 32 * draw.pick<std::uint32_t>({1, 2, 4, 8, 16});
  machine.compute->shared_unit = draw.pick<std::uint32_t>({64, 128, 256, 512});
  machine.compute->timer_step_ns = draw.pick<double>({1, 32, 1000});
  machine.compute->clock_step_cycles = draw.pick<double>({1, 2, 4});
  machine.compute->side_cycles = draw.uniform(0, 80);
  const auto device = sim::make_sim_device(machine, seed);
  DiscoverOptions options;
  options.elements = {"registers", "clocks", "control"};
  options.full = true;
  const Topology found = discover(*device, options);
  UnitTally tally;
  tally.full_of_blocks = *machine.info.max_threads_per_sm / machine.info.warp_size >= *machine.info.max_blocks_per_sm;
  const auto& operations = machine.compute->operations;
  tally.with_arithmetic = operations.contains("fma.f32") && operations.contains("add.s32");
  const auto expect = [&](const char* element, const char* attribute, double truth, double error) {
    const Attribute* value = found.find_attribute(element, attribute);
    if (value == nullptr || !value->available() || !value->flags.empty()) return;
    ++tally.told[attribute];
    const double number = value->number().value_or(0);
    if (std::abs(number - truth) > error) {
      tally.wrong.push_back(fmt::format("seed {}: {}.{} {} for {}", seed, element, attribute, number, truth));
    }
  };
  expect("registers", "register_allocation_unit", machine.compute->register_unit, 0);
  expect("registers", "shared_allocation_unit", machine.compute->shared_unit, 0);
  expect("registers", "schedulers", schedulers, 0);
  expect("registers", "resident_blocks", static_cast<double>(*machine.info.max_blocks_per_sm), 0);
  expect("clocks", "timer_resolution", machine.compute->timer_step_ns, 0);
  expect("clocks", "clock_resolution", machine.compute->clock_step_cycles, 0);
  const Attribute* file = found.find_attribute("registers", "register_file");
  if (file != nullptr && file->low) {
    ++tally.told["register_file"];
    const double bytes = 4.0 * static_cast<double>(*machine.info.registers_per_sm);
    if (bytes < *file->low || bytes > *file->high) tally.wrong.push_back(fmt::format("seed {}: register file", seed));
  }
  return tally;
}

TEST(OperationTruth, WhatAnSmHoldsOfRandomMachines) {
  UnitTally all;
  const std::uint64_t machines = std::min<std::uint64_t>(machines_wanted(), 200);
  judge_seeds(first_seed(), machines, judge_units, [&](const UnitTally& tally) {
    for (const auto& [attribute, told] : tally.told) all.told[attribute] += told;
    all.full_of_blocks += tally.full_of_blocks;
    all.with_arithmetic += tally.with_arithmetic;
    all.wrong.insert(all.wrong.end(), tally.wrong.begin(), tally.wrong.end());
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(all.wrong.size(), 20); ++i) ADD_FAILURE() << all.wrong[i];
  const int count = static_cast<int>(machines);
  EXPECT_EQ(all.told["clock_resolution"], count);
  EXPECT_EQ(all.told["timer_resolution"], count);
  EXPECT_GE(all.full_of_blocks, count / 2);
  EXPECT_EQ(all.told["resident_blocks"], all.full_of_blocks);
  EXPECT_GE(all.told["shared_allocation_unit"], all.full_of_blocks * 9 / 10);
  EXPECT_GE(all.with_arithmetic, count / 3);
  EXPECT_GE(all.told["schedulers"], all.with_arithmetic * 4 / 10);
  // Compilers allocate registers in steps, and on most machines the results are compatible with two units.
  EXPECT_GE(all.told["register_allocation_unit"], count / 4);
  EXPECT_EQ(all.told["register_file"], all.told["register_allocation_unit"]);
}

// Returns the values of control flow and launches that differ from the random machine's truth.
std::vector<std::string> wrong_control(std::uint64_t seed) {
  sim::MachineSpec machine = random_pipe_machine(seed);
  Draw draw(seed + 7'000'000);
  sim::ComputeSpec& compute = *machine.compute;
  compute.loop_cycles = draw.uniform(0, 20);
  const std::string pipe = compute.pipes.begin()->first;
  const auto set = [&](const char* name, double least, double most) -> sim::OperationSpec& {
    sim::OperationSpec& spec = compute.operations[name];
    spec = {.pipe = pipe, .latency_cycles = draw.uniform(least, most)};
    spec.latency_cycles = std::max(
        spec.latency_cycles, machine.info.warp_size * compute.schedulers / compute.pipes.at(pipe).lanes_per_cycle);
    return spec;
  };
  const double branch = set("bra", 4, 60).latency_cycles;
  const double call = set("call", 20, 400).latency_cycles;
  sim::OperationSpec& grid = set("barrier.grid", 400, 3000);
  grid.block_cycles = draw.uniform(0, 10);
  machine.launches = sim::LaunchSpec{.latency_ns = draw.uniform(2000, 40'000),
                                     .submit_ns = draw.uniform(500, 1500),
                                     .interval_ns = draw.uniform(500, 9000),
                                     .graph_latency_ns = draw.uniform(2000, 20'000),
                                     .graph_interval_ns = draw.uniform(300, 4000),
                                     .argument_byte_ns = draw.uniform(0, 0.5)};
  if (seed % 5 == 0) machine.info.vendor = "AMD";
  const auto device = sim::make_sim_device(machine, seed, 1);
  DiscoverOptions options;
  options.elements = {"control.branch_cost", "control.call_cost", "control.grid_barrier_latency", "clocks"};
  options.full = true;
  log_if_asked(seed, options);
  const Topology found = discover(*device, options);
  std::vector<std::string> wrong;
  const auto expect = [&](const char* element, const char* name, double truth, double slack, double tolerance) {
    const Attribute* attribute = found.find_attribute(element, name);
    const double value = attribute->number().value_or(-1);
    if (value >= 0 && std::abs(value - truth) <= slack + tolerance * truth) return;
    wrong.push_back(fmt::format("seed {}: {} {}, truth {} ({})", seed, name, value, truth, attribute->detail));
  };
  constexpr double kOperations = 32;  // per round
  const double loop = compute.loop_cycles / kOperations;
  expect("control", "branch_cost", branch, loop + 0.5, 0.01);
  expect("control", "call_cost", call, loop + 0.5, 0.01);
  expect("control", "grid_barrier_latency", grid.latency_cycles + (machine.info.sm_count - 1) * grid.block_cycles,
         loop + 0.5, 0.01);
  const sim::LaunchSpec& launches = *machine.launches;
  const double arguments_ns = 8 * launches.argument_byte_ns;
  expect("clocks", "launch_latency", launches.latency_ns + arguments_ns, 1, 0.02);
  expect("clocks", "launch_interval", launches.interval_ns + arguments_ns, 1, 0.02);
  expect("clocks", "graph_launch_latency", launches.graph_latency_ns, 1, 0.02);
  expect("clocks", "graph_launch_interval", launches.graph_interval_ns, 1, 0.02);
  return wrong;
}

TEST(OperationTruth, JumpsBarriersAndLaunchesOfRandomMachines) {
  std::vector<std::string> wrong;
  judge_seeds(first_seed(), std::min<std::uint64_t>(machines_wanted(), 200), wrong_control,
              [&](const std::vector<std::string>& some) { wrong.insert(wrong.end(), some.begin(), some.end()); });
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 20); ++i) ADD_FAILURE() << wrong[i];
}

// A simulated H200 with some results changed.
class OtherAnswers : public Device {
 public:
  using Change = std::function<void(const OperationProgram&, OperationResult&)>;

  explicit OtherAnswers(Change change) : change_(std::move(change)) {}

  [[nodiscard]] const DeviceInfo& info() const override { return device_->info(); }
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    std::vector<ProgramResult> results = device_->run(programs);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const auto* operation = std::get_if<OperationProgram>(&programs[i]);
      if (operation != nullptr) change_(*operation, std::get<OperationResult>(results[i].data));
    }
    return results;
  }

 private:
  Change change_;
  std::unique_ptr<Device> device_ = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 1, 1);
};

// On an H200 the compiler merged eight chains of cvt.f32.f64 into one, which seemed to run 428 per clock, not 14.
TEST(OperationTruth, WhatTheCompilerMergedIsNotTheMost) {
  constexpr std::uint32_t kMerged = 8;
  bool is_merged = false;
  OtherAnswers device([&](const OperationProgram& program, OperationResult& result) {
    if (program.streams < kMerged) return;
    is_merged = true;
    result.code_bytes /= kMerged;
    for (double& cycles : result.cycles) cycles /= kMerged;
  });
  DiscoverOptions options;
  options.elements = {"instructions.clz.b32"};
  const Topology found = discover(device, options);
  EXPECT_TRUE(is_merged);
  const Attribute* throughput = find(found.find_instruction("clz.b32")->attributes, AttributeId::kThroughput);
  EXPECT_NEAR(throughput->number().value_or(0), 15.34, 0.2);
  EXPECT_THAT(throughput->flags, testing::Not(testing::Contains(testing::StartsWith("operations_merged"))));
}

// On an H200 the first run of a kernel waits for code that no cache holds: one warp seemed to do 1.4 times its work.
TEST(OperationTruth, CodeThatNoCacheHoldsIsNoScheduler) {
  std::set<std::pair<OperationId, std::uint32_t>> run;
  OtherAnswers device([&](const OperationProgram& program, OperationResult& result) {
    if (!run.emplace(program.operation, program.streams).second) return;
    for (double& cycles : result.cycles) cycles += 570;
  });
  const Topology found = discover(device, {.elements = {"registers.schedulers"}});
  EXPECT_FALSE(run.empty());
  EXPECT_EQ(found.find_attribute("registers", "schedulers")->number(), 4);
}

// The registers of a lane may suffice for one chain but not for four.
TEST(OperationTruth, RefusedChainsThatTakeTurnsTakeNothingFromOne) {
  bool is_refused = false;
  OtherAnswers device([&](const OperationProgram& program, OperationResult& result) {
    if (program.streams == 1) return;
    is_refused = true;
    result = {.refusal = "too few registers"};
  });
  DiscoverOptions options;
  options.elements = {"instructions.vote.any"};
  const Topology found = discover(device, options);
  EXPECT_TRUE(is_refused);
  const auto& attributes = found.find_instruction("vote.any")->attributes;
  EXPECT_NEAR(find(attributes, AttributeId::kLatency)->number().value_or(0), 21, 0.5);
  EXPECT_NEAR(find(attributes, AttributeId::kThroughput)->number().value_or(0), 21.3, 0.3);
}

// Like membar.sys on an H200: in some launches all SMs are slow; in the others they are faster, and some SMs get more
// than others.
TEST(OperationTruth, WhatSmsShareByTurnsIsTheSameInTenRuns) {
  Draw draw(first_seed());
  OtherAnswers device([&](const OperationProgram& program, OperationResult& result) {
    if (!program.every_sm) return;
    const bool is_slow = program.warps >= 8 && draw.chance(0.5);
    for (std::size_t i = 0; i < result.cycles.size(); ++i) {
      result.cycles[i] *= is_slow ? 1.11 : 0.92 + 0.16 * result.sms[i] / 132 + draw.uniform(-0.02, 0.02);
    }
  });
  DiscoverOptions options;
  options.elements = {"instructions.bar.sync"};
  std::vector<double> rates;
  for (int run = 0; run < 10; ++run) {
    const Topology found = discover(device, options);
    const Attribute* throughput = find(found.find_instruction("bar.sync")->attributes, AttributeId::kThroughput);
    ASSERT_TRUE(throughput->number()) << throughput->detail;
    rates.push_back(*throughput->number());
    const auto* warps = throughput->find_detail("warps_tried");
    EXPECT_TRUE(std::ranges::is_sorted(std::get<std::vector<double>>(*warps)));
  }
  EXPECT_LE(*std::ranges::max_element(rates), 1.01 * *std::ranges::min_element(rates)) << testing::PrintToString(rates);
}

// Half of the SMs have a neighbor in the first `launches` launches.
Attribute throughput_of_disturbed(int launches) {
  OtherAnswers device([&](const OperationProgram& program, OperationResult& result) {
    if (!program.every_sm || program.warps < 32 || launches-- <= 0) return;
    for (std::size_t i = 0; i < result.cycles.size(); i += 2) result.cycles[i] *= 1.5;
  });
  DiscoverOptions options;
  options.elements = {"instructions.bar.sync"};
  return *find(discover(device, options).find_instruction("bar.sync")->attributes, AttributeId::kThroughput);
}

TEST(OperationTruth, WhatWasDisturbedIsRunLonger) {
  const double undisturbed = throughput_of_disturbed(0).number().value_or(0);
  ASSERT_GT(undisturbed, 0);
  const Attribute throughput = throughput_of_disturbed(6);
  EXPECT_NEAR(throughput.number().value_or(0), undisturbed, 0.01 * undisturbed);
  EXPECT_THAT(throughput.flags, testing::Not(testing::Contains(testing::StartsWith("disturbed"))));
}

// An old recording has no longer programs.
TEST(OperationTruth, ALatencyThatCannotBeRunLongerStaysDisturbed) {
  int runs = 0;
  OtherAnswers device([&](const OperationProgram& program, OperationResult& result) {
    if (program.operation != OperationId::kAddF32 || program.every_sm || program.warps > 1) return;
    if (program.rounds > 6) throw DeviceError("was not recorded");
    result.cycles.front() *= 1 + 0.1 * (runs++ % 3);
  });
  const Topology found = discover(device, {});
  EXPECT_GT(runs, 0);
  const Attribute* latency = find(found.find_instruction("add.f32")->attributes, AttributeId::kLatency);
  EXPECT_EQ(latency->reason, Reason::kInconclusive) << latency->detail;
}

// The throughput of fewer warps is then only a lower bound.
TEST(OperationTruth, WhatStaysDisturbedSaysSo) {
  const Attribute throughput = throughput_of_disturbed(1'000'000);
  EXPECT_THAT(throughput.flags,
              testing::Contains(testing::StartsWith("disturbed: 32 warps may reach a higher rate, ")));
}

// Section IV-D and Figure 9: a barrier of one warp takes 20 clocks, and registers are allocated in units of 4 to 64
// threads.
TEST(OperationTruth, WongsBarrierAndRegistersComeOut) {
  const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("gt200")), 1);
  DiscoverOptions options;
  options.elements = {"control", "registers"};
  options.full = true;
  const Topology found = discover(*device, options);
  const auto number = [&](const char* element, const char* attribute) {
    return found.find_attribute(element, attribute)->number().value_or(0);
  };
  EXPECT_NEAR(number("control", "barrier_latency"), 20, 1);
  EXPECT_EQ(number("registers", "register_allocation_unit"), 4 * 64);
  EXPECT_EQ(number("registers", "register_file"), 16384 * 4);
  EXPECT_EQ(number("registers", "schedulers"), 1);
}

// Tables III and IV. A block has 512 threads there, which are 16 warps.
TEST(OperationTruth, WongsTablesComeOut) {
  struct Row {
    const char* operation;
    double latency_cycles;
    double per_clock;
  };
  constexpr Row kRows[] = {{"add.f32", 24, 7.9},          {"fma.f32", 24, 7.9},        {"mul.f32", 24, 11.2},
                           {"add.f64", 48, 1.0},          {"fma.f64", 48, 1.0},        {"div.full.f32", 137, 1.5},
                           {"mul.hi.u32", 144, 1.0},      {"mul.hi.s32", 180, 0.77},   {"mul24.u32", 24, 7.9},
                           {"sin.approx.f32", 48, 2.0},   {"ex2.approx.f32", 48, 2.0}, {"sqrt.approx.f32", 56, 2.0},
                           {"rsqrt.approx.f32", 28, 2.0}, {"lg2.approx.f32", 28, 2.0}, {"div.approx.f32", 52, 1.9},
                           {"add.s32", 24, 7.9},          {"mul.s32", 96, 1.7},        {"mad.s32", 120, 1.4},
                           {"div.u32", 608, 0.28},        {"div.s32", 684, 0.23},      {"rem.u32", 728, 0.24},
                           {"rem.s32", 784, 0.20},        {"div.rn.f64", 1366, 0.063}, {"xor.b32", 24, 7.9},
                           {"sad.u32", 24, 7.9}};
  const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("gt200")), 1);
  DiscoverOptions options;
  options.elements = {"instructions"};
  const Topology found = discover(*device, options);
  for (const Row& row : kRows) {
    const Instruction* instruction = found.find_instruction(row.operation);
    ASSERT_NE(instruction, nullptr) << row.operation;
    const Attribute* latency = find(instruction->attributes, AttributeId::kLatency);
    const Attribute* throughput = find(instruction->attributes, AttributeId::kThroughput);
    // The tables give whole clocks, and two digits of throughput.
    EXPECT_NEAR(latency->number().value_or(0), row.latency_cycles, 0.5 + 0.001 * row.latency_cycles) << row.operation;
    EXPECT_NEAR(throughput->number().value_or(0), row.per_clock, 0.02 * row.per_clock + 0.005) << row.operation;
  }
}

}  // namespace
}  // namespace gputopo::truth
