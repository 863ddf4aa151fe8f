// Compares the probes of banks, atomics and loaded latency with the truth of random machines.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/sim/machine/machine.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "support/draw.h"
#include "support/number_of.h"
#include "support/seeds.h"

namespace gputopo::truth {
namespace {

constexpr double kClockMhz = 1000;

constexpr std::uint64_t kThreadsPerBlock = 1024;

sim::MachineSpec random_access_machine(const std::string& vendor, std::uint64_t seed) {
  Draw draw(seed);
  sim::MachineSpec machine;
  machine.info.vendor = vendor;
  machine.info.warp_size = vendor == "AMD" ? 64 : 32;
  machine.info.max_threads_per_block = kThreadsPerBlock;
  machine.info.name = fmt::format("random access {}", seed);
  machine.info.sm_count = draw.pick<std::uint32_t>({1, 4, 16, 80});
  machine.info.sm_clock_max_mhz = kClockMhz;
  machine.info.memory_bytes = 8ull << 30;
  machine.info.l2_bytes = 4 << 20;
  machine.caches = {{.id = "l1", .size_bytes = 32 << 10, .line_bytes = 128, .sector_bytes = 32, .ways = 4},
                    {.id = "l2",
                     .size_bytes = 4 << 20,
                     .line_bytes = 128,
                     .sector_bytes = 32,
                     .ways = 16,
                     .scope = sim::Scope::kGpu}};
  const double l1 = draw.uniform(20, 60);
  const double l2 = l1 * draw.uniform(3, 6);
  const double memory = l2 * draw.uniform(1.5, 3);
  machine.spaces[Space::kShared].memory_latency_cycles = draw.uniform(18, 45);
  machine.spaces[Space::kGlobal] = {{{"l1", l1, 0}, {"l2", l2, 0}}, memory};
  machine.spaces[Space::kGlobalBypassL1] = {{{"l2", l2, 0}}, memory};
  // Bandwidth of all SMs together.
  const auto bandwidth = [&](double bytes_per_cycle_and_sm) {
    return sim::BandwidthSpec{.read_bytes_per_second =
                                  bytes_per_cycle_and_sm * machine.info.sm_count * kClockMhz * 1e6};
  };
  machine.bandwidths["shared"] = bandwidth(draw.uniform(32, 128));
  machine.bandwidths["l1"] = bandwidth(draw.uniform(32, 256));
  machine.bandwidths["l2"] = bandwidth(draw.uniform(16, 128));
  machine.bandwidths["memory"] = bandwidth(draw.uniform(4, 40));
  machine.banks = {.banks = draw.pick<std::uint32_t>({16, 32}),
                   .bank_bytes = draw.pick<std::uint32_t>({4, 8}),
                   .lanes_at_once = draw.pick<std::uint32_t>({16, 32, 32}),
                   .conflict_cycles = draw.uniform(1, 40),
                   .store_latency_cycles = draw.uniform(20, 60)};
  if (machine.banks->bank_bytes == 8 && draw.chance(0.5)) {
    machine.banks->modes_bytes = draw.pick<std::vector<std::uint32_t>>({{4, 8}, {8, 4}});
  }
  // Neighboring words must never conflict, so fewer bank bytes serve fewer lanes at once.
  if (machine.banks->banks * machine.banks->bank_bytes < 32 * 4) machine.banks->lanes_at_once = 16;
  const auto narrower = [&](std::uint32_t lanes) { return std::min(lanes, machine.banks->lanes_at_once); };
  machine.banks->lanes_at_once_8_bytes = narrower(draw.pick<std::uint32_t>({0, 0, 8, 16, 32}));
  machine.banks->lanes_at_once_16_bytes = narrower(draw.pick<std::uint32_t>({0, 0, 4, 8, 16, 32}));
  machine.atomics["shared"] = {draw.uniform(30, 100), draw.uniform(100, 200), draw.uniform(4, 64),
                               draw.uniform(0.5, 4)};
  machine.atomics["l2"] = {draw.uniform(200, 500), draw.uniform(500, 700), draw.uniform(100, 3000),
                           draw.uniform(1, 64)};
  machine.noise.jitter_cycles = draw.uniform(0, 2.5);
  machine.noise.outlier_probability = draw.uniform(0, 0.003);
  machine.noise.outlier_cycles = draw.uniform(100, 500);
  machine.noise.drift_fraction = draw.uniform(0, 0.005);
  return machine;
}

// The vendor's names of shared memory and of the first cache of global loads.
const char* scratchpad_of(const sim::MachineSpec& machine) { return machine.info.vendor == "AMD" ? "lds" : "shared"; }
const char* first_cache_of(const sim::MachineSpec& machine) { return machine.info.vendor == "AMD" ? "vl1" : "l1"; }

std::uint32_t max_warps(const sim::MachineSpec& machine) {
  return static_cast<std::uint32_t>(kThreadsPerBlock / machine.info.warp_size);
}

class AccessTruth : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(OfVendor, AccessTruth, ::testing::Values("NVIDIA", "AMD"),
                         [](const auto& vendor) { return vendor.param; });

Topology discover_accesses(const sim::MachineSpec& machine, std::uint64_t seed,
                           const std::vector<std::string>& attributes) {
  const std::unique_ptr<Device> device = sim::make_sim_device(machine, seed, 1);
  DiscoverOptions options;
  options.attributes = attributes;
  options.seed = seed;
  return discover(*device, options);
}

TEST_P(AccessTruth, BanksAndTheirWidthAreExact) {
  std::uint64_t costs_inside = 0;
  std::uint64_t lanes_told = 0;
  for (std::uint64_t seed = 1; seed <= machines_wanted(); ++seed) {
    SCOPED_TRACE(seed);
    const sim::MachineSpec machine = random_access_machine(GetParam(), seed);
    const Topology topology =
        discover_accesses(machine, seed, {"banks", "bank_width", "conflict_cost", "store_latency"});
    EXPECT_EQ(topology.find_attribute(scratchpad_of(machine), "banks")->number(), machine.banks->banks);
    EXPECT_EQ(topology.find_attribute(scratchpad_of(machine), "bank_width")->number(), machine.banks->bank_bytes);
    const Attribute& banks = *topology.find_attribute(scratchpad_of(machine), "banks");
    if (banks.find_detail("lanes_at_once") != nullptr) {
      ++lanes_told;
      EXPECT_EQ(number_of(banks, "lanes_at_once"), machine.banks->lanes_at_once);
    }
    const Attribute& cost = *topology.find_attribute(scratchpad_of(machine), "conflict_cost");
    ASSERT_TRUE(cost.available()) << cost.detail;
    EXPECT_NEAR(*cost.number(), machine.banks->conflict_cycles, 0.1 + 0.02 * machine.banks->conflict_cycles);
    const double truth = machine.banks->conflict_cycles;
    costs_inside += *cost.low <= truth && truth <= *cost.high ? 1 : 0;
    EXPECT_NEAR(*topology.find_attribute(scratchpad_of(machine), "store_latency")->number(),
                machine.banks->store_latency_cycles, 1.5 + 0.02 * machine.banks->store_latency_cycles);
    EXPECT_NEAR(number_of(cost, "broadcast_cycles"), machine.spaces.at(Space::kShared).memory_latency_cycles, 2);
  }
  EXPECT_GE(static_cast<double>(costs_inside), 0.95 * static_cast<double>(machines_wanted()));
  EXPECT_EQ(lanes_told, machines_wanted());
}

TEST_P(AccessTruth, RequestsAndModesOfBanksAreExact) {
  std::uint64_t wide_loads = 0;
  std::uint64_t modes = 0;
  std::uint64_t machines_with_modes = 0;
  for (std::uint64_t seed = 1; seed <= machines_wanted(); ++seed) {
    SCOPED_TRACE(seed);
    const sim::MachineSpec machine = random_access_machine(GetParam(), seed);
    const sim::BankSpec& truth = *machine.banks;
    const Topology topology = discover_accesses(machine, seed, {"bank_interleave", "lanes_per_request"});
    const Attribute& interleave = *topology.find_attribute(scratchpad_of(machine), "bank_interleave");
    EXPECT_EQ(interleave.number(), truth.modes_bytes.empty() ? truth.bank_bytes : truth.modes_bytes.front());
    machines_with_modes += truth.modes_bytes.empty() ? 0 : 1;
    for (const std::uint32_t mode : {4u, 8u}) {
      const std::string name = fmt::format("in_mode_{}_bytes", mode);
      if (interleave.find_detail(name) == nullptr) continue;
      EXPECT_FALSE(truth.modes_bytes.empty());
      EXPECT_EQ(number_of(interleave, name), mode);
      ++modes;
    }
    const Attribute& lanes = *topology.find_attribute(scratchpad_of(machine), "lanes_per_request");
    ASSERT_TRUE(lanes.available()) << lanes.detail;
    EXPECT_EQ(lanes.number(), truth.lanes_at_once);
    for (const auto& [bytes, given] :
         {std::pair(8u, truth.lanes_at_once_8_bytes), {16u, truth.lanes_at_once_16_bytes}}) {
      const std::string name = fmt::format("of_{}_byte_loads", bytes);
      if (lanes.find_detail(name) == nullptr) continue;
      EXPECT_EQ(number_of(lanes, name), given != 0 ? given : truth.lanes_at_once * 4 / bytes) << name;
      ++wide_loads;
    }
  }
  EXPECT_GE(static_cast<double>(wide_loads), 0.95 * 2 * static_cast<double>(machines_wanted()));
  EXPECT_GT(machines_with_modes, 0u);
  EXPECT_EQ(modes, 2 * machines_with_modes);
}

TEST_P(AccessTruth, AtomicsAreAsFastAsTheyAre) {
  for (std::uint64_t seed = 1; seed <= (machines_wanted() + 3) / 4; ++seed) {
    SCOPED_TRACE(seed);
    const sim::MachineSpec machine = random_access_machine(GetParam(), seed);
    const Topology topology = discover_accesses(machine, seed, {"atomic_latency", "atomic_throughput"});
    for (const char* element : {scratchpad_of(machine), "l2"}) {
      SCOPED_TRACE(element);
      const sim::AtomicSpec& truth = machine.atomics.at(element == std::string("l2") ? "l2" : "shared");
      const Attribute& latency = *topology.find_attribute(element, "atomic_latency");
      const double lanes = machine.info.warp_size;
      // One warp on each SM can already exceed the throughput of L2.
      const double sms = element == std::string("l2") ? machine.info.sm_count : 1;
      const double many = std::max(truth.latency_cycles, sms * lanes / truth.lanes_per_cycle);
      EXPECT_NEAR(*latency.number(), many, 2 + 0.01 * many);
      const double one = std::max(truth.one_address_latency_cycles, lanes / truth.one_address_lanes_per_cycle);
      EXPECT_NEAR(number_of(latency, "one_address_cycles"), one, 2 + 0.01 * one);
      const Attribute& throughput = *topology.find_attribute(element, "atomic_throughput");
      // With few SMs, the accesses in flight limit the throughput. Outliers add to the time of an access.
      const double under_way = sms * max_warps(machine) * lanes;
      const double outliers = machine.noise.outlier_probability * machine.noise.outlier_cycles;
      const auto reached = [&](double rate, double cycles) {
        return under_way / (std::max(under_way / rate, cycles) + outliers);
      };
      const double rate = reached(truth.lanes_per_cycle, truth.latency_cycles);
      EXPECT_NEAR(*throughput.number(), rate, 0.03 * rate);
      const double one_rate = reached(truth.one_address_lanes_per_cycle, truth.one_address_latency_cycles);
      EXPECT_NEAR(number_of(throughput, "one_address_ops_per_clock"), one_rate, 0.03 * one_rate + 0.01);
    }
  }
}

TEST_P(AccessTruth, TheKneeIsWhereThroughputMeetsLatency) {
  std::size_t knees = 0;
  struct Level {
    const char* element;
    const char* bandwidth;
    Space space;
    double lane_bytes;
  };
  for (std::uint64_t seed = 1; seed <= (machines_wanted() + 3) / 4; ++seed) {
    SCOPED_TRACE(seed);
    const sim::MachineSpec machine = random_access_machine(GetParam(), seed);
    const Topology topology = discover_accesses(machine, seed, {"loaded_latency"});
    const Level levels[] = {{first_cache_of(machine), "l1", Space::kGlobal, 8},
                            {scratchpad_of(machine), "shared", Space::kShared, 4},
                            {"l2", "l2", Space::kGlobalBypassL1, 32},
                            {"device", "memory", Space::kGlobalBypassL1, 32}};
    for (const Level& level : levels) {
      SCOPED_TRACE(level.element);
      const Attribute& loaded = *topology.find_attribute(level.element, "loaded_latency");
      ASSERT_TRUE(loaded.available()) << loaded.detail;
      const sim::SpaceSpec& space = machine.spaces.at(level.space);
      const bool last = level.element == std::string("device") || space.path.empty();
      const double alone = last ? space.memory_latency_cycles : space.path.front().latency_cycles;
      // For one SM while all SMs load.
      const double bytes_per_cycle =
          machine.bandwidths.at(level.bandwidth).read_bytes_per_second / machine.info.sm_count / (kClockMhz * 1e6);
      const double bytes = level.lane_bytes * machine.info.warp_size;
      const double knee = alone * bytes_per_cycle / bytes;
      EXPECT_NEAR(*loaded.number(), std::max(alone, max_warps(machine) * bytes / bytes_per_cycle),
                  2 + 0.03 * *loaded.number());
      // A single warp can already exceed the throughput of the level.
      if (knee < 1) continue;
      EXPECT_NEAR(number_of(loaded, "unloaded_cycles"), alone, 2 + 0.02 * alone);
      if (std::isnan(number_of(loaded, "knee_warps"))) {
        EXPECT_GT(knee, 0.85 * max_warps(machine));
      } else {
        ++knees;
        EXPECT_NEAR(number_of(loaded, "knee_warps"), knee, 0.1 * knee);
      }
    }
  }
  // Each machine has four levels; most have a knee between one warp and all warps.
  EXPECT_GE(knees, 2 * ((machines_wanted() + 3) / 4));
}

// The report must not invent properties that the machine file leaves out.
TEST_P(AccessTruth, WhatTheMachineDoesNotHaveIsNotSupported) {
  sim::MachineSpec machine = random_access_machine(GetParam(), 1);
  machine.banks.reset();
  machine.atomics.clear();
  const Topology topology = discover_accesses(
      machine, 1, {"banks", "conflict_cost", "store_latency", "atomic_latency", "atomic_throughput", "loaded_latency"});
  for (const char* attribute : {"store_latency", "atomic_latency", "atomic_throughput", "banks", "conflict_cost"}) {
    const Attribute& found = *topology.find_attribute(scratchpad_of(machine), attribute);
    EXPECT_EQ(found.reason, Reason::kNotSupported) << attribute << ": " << found.detail;
  }
  EXPECT_TRUE(topology.find_attribute(scratchpad_of(machine), "loaded_latency")->available());
}

}  // namespace
}  // namespace gputopo::truth
