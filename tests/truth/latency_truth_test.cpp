// Latencies on machines that once made them wrong: caches whose lines survive an evictor, TLBs smaller than an array,
// outliers, loop overhead and clock drift.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "support/draw.h"

namespace gputopo {
namespace {

using sim::CacheSpec;
using sim::MachineSpec;
using truth::Draw;

constexpr std::uint64_t kLatencyMachines = 6;

CacheSpec& cache_of(MachineSpec& machine, const std::string& id) {
  for (CacheSpec& cache : machine.caches) {
    if (cache.id == id) return cache;
  }
  throw std::runtime_error("the machine has no " + id);
}

// A quiet machine with its own L2 in one or two partitions; otherwise a V100 or an MI300X.
MachineSpec machine_of(Draw& draw, bool with_l3 = false) {
  MachineSpec machine = sim::parse_machine(*sim::builtin_machine(with_l3 ? "mi300x" : "v100"));
  machine.noise = {.jitter_cycles = draw.uniform(0.5, 2), .outlier_probability = 0.0005, .outlier_cycles = 300};
  machine.timer_cycles = std::round(draw.uniform(2, 30));
  machine.tlbs = {{.page_bytes = 2u << 20, .entries = 2048, .miss_cycles = 150}};
  CacheSpec& l2 = cache_of(machine, "l2");
  l2.partitions = with_l3 ? 1 : draw.pick<std::uint32_t>({1, 2});
  l2.size_bytes = with_l3 ? 4u << 20 : draw.pick<std::uint64_t>({4u << 20, 8u << 20, 16u << 20});
  l2.line_bytes = 128;
  l2.sector_bytes = 32;
  l2.ways = 16;
  l2.replacement = sim::Replacement::kLru;
  machine.info.l2_bytes = l2.size_bytes;
  const double near = draw.uniform(180, 280);
  const double far = l2.partitions > 1 ? near * draw.uniform(1.3, 1.7) : 0;
  const double l3 = near * 1.6;
  if (with_l3) {
    cache_of(machine, "l3").size_bytes = 32u << 20;
    machine.info.l3_bytes = 32u << 20;
  }
  for (auto& [space, spec] : machine.spaces) {
    double last = 0;
    for (sim::PathStop& stop : spec.path) {
      if (stop.cache == "l2" && space != Space::kConstant && space != Space::kTexture) stop.latency_cycles = near;
      if (stop.cache == "l2") stop.far_latency_cycles = far == 0 ? 0 : stop.latency_cycles * far / near;
      if (stop.cache == "l3") stop.latency_cycles = l3;
      last = std::max({last, stop.latency_cycles, stop.far_latency_cycles});
    }
    if (!spec.path.empty()) spec.memory_latency_cycles = 1.6 * last;
    spec.far_memory_latency_cycles = 0;
  }
  return machine;
}

// Each element's latency has a value whose interval holds the truth, or is inconclusive because TLB misses take as
// long as the next level. Adds the number of values to `told`.
void expect_latencies(const MachineSpec& machine, const std::vector<std::string>& elements, std::uint64_t seed,
                      std::size_t& told) {
  const auto device = sim::make_sim_device(machine, seed);
  DiscoverOptions options;
  options.elements = elements;
  options.attributes = {"latency"};
  options.keep_samples = false;
  const Topology found = discover(*device, options);
  const sim::SpaceSpec& global = machine.spaces.at(Space::kGlobal);
  for (const std::string& element : elements) {
    double truth = machine.spaces.at(element == "shared" ? Space::kShared : Space::kGlobal).memory_latency_cycles;
    for (const sim::PathStop& stop : global.path) {
      if (stop.cache == element) truth = stop.latency_cycles;
    }
    const Attribute& latency = *found.find_attribute(element, "latency");
    if (!latency.available() && !machine.tlbs.empty()) {
      EXPECT_EQ(latency.reason, Reason::kInconclusive) << element << " of machine " << seed << ": " << latency.detail;
      continue;
    }
    ++told;
    ASSERT_TRUE(latency.available()) << element << " of machine " << seed << ": " << latency.detail;
    EXPECT_LE(*latency.low, truth) << element << " of machine " << seed;
    EXPECT_GE(*latency.high, truth) << element << " of machine " << seed;
    EXPECT_NEAR(*latency.number(), truth, 0.5 + 0.03 * truth) << element << " of machine " << seed;
  }
}

void for_machines(const std::vector<std::string>& elements, const std::function<void(Draw&, MachineSpec&)>& change) {
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < kLatencyMachines; ++seed) {
    Draw draw(seed);
    MachineSpec machine = machine_of(draw);
    change(draw, machine);
    expect_latencies(machine, elements, seed, told);
  }
  EXPECT_GE(2 * told, kLatencyMachines * elements.size());
}

TEST(LatencyTruth, ShortLinesAndHashedIndices) {
  for_machines({"l2", "device"}, [](Draw& draw, MachineSpec& machine) {
    cache_of(machine, "l2").line_bytes = draw.pick<std::uint32_t>({32, 64});
    cache_of(machine, "l2").index = draw.chance(0.5) ? sim::IndexHash::kXorFold : sim::IndexHash::kMixed;
  });
}

TEST(LatencyTruth, RandomReplacement) {
  for_machines({"l2", "device"},
               [](Draw&, MachineSpec& machine) { cache_of(machine, "l2").replacement = sim::Replacement::kRandom; });
}

TEST(LatencyTruth, SmallTlbs) {
  for_machines({"l2", "device"}, [](Draw& draw, MachineSpec& machine) {
    const sim::TlbSpec small{.page_bytes = draw.pick<std::uint64_t>({64u << 10, 2u << 20}),
                             .entries = draw.pick<std::uint32_t>({16, 32}),
                             .miss_cycles = draw.uniform(50, 300),
                             .scope = sim::Scope::kSm};
    machine.tlbs.insert(machine.tlbs.begin(), small);
  });
}

TEST(LatencyTruth, L3BehindASmallTlb) {
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < kLatencyMachines; ++seed) {
    Draw draw(seed);
    MachineSpec machine = machine_of(draw, true);
    const sim::TlbSpec small{.page_bytes = draw.pick<std::uint64_t>({64u << 10, 2u << 20}),
                             .entries = draw.pick<std::uint32_t>({16, 32}),
                             .miss_cycles = draw.uniform(50, 300),
                             .scope = sim::Scope::kSm};
    machine.tlbs.insert(machine.tlbs.begin(), small);
    expect_latencies(machine, {"l3", "device"}, seed, told);
  }
  EXPECT_GE(2 * told, 2 * kLatencyMachines);
}

TEST(LatencyTruth, Outliers) {
  for_machines({"l1", "l2", "shared", "device"}, [](Draw& draw, MachineSpec& machine) {
    machine.noise = {.jitter_cycles = draw.uniform(1, 4),
                     .outlier_probability = draw.uniform(0.003, 0.015),
                     .outlier_cycles = draw.uniform(100, 500)};
  });
}

TEST(LatencyTruth, LoopsAroundChains) {
  for_machines({"l1", "shared"}, [](Draw& draw, MachineSpec& machine) { machine.loop_cycles = draw.uniform(1, 20); });
}

TEST(LatencyTruth, Drift) {
  for_machines({"l1", "l2", "shared", "device"},
               [](Draw&, MachineSpec& machine) { machine.noise.drift_fraction = 0.02; });
}

TEST(LatencyTruth, NoLoadTakesThreeCycles) {
  Draw draw(1);
  MachineSpec machine = machine_of(draw);
  for (auto& [space, spec] : machine.spaces) {
    for (sim::PathStop& stop : spec.path) {
      if (stop.cache == "l1") stop.latency_cycles = 3;
    }
  }
  const auto device = sim::make_sim_device(machine, 1);
  DiscoverOptions options;
  options.elements = {"l1"};
  options.attributes = {"latency"};
  const Topology found = discover(*device, options);
  const Attribute& latency = *found.find_attribute("l1", "latency");
  EXPECT_FALSE(latency.available());
  EXPECT_EQ(latency.reason, Reason::kInconclusive);
  EXPECT_NE(latency.detail.find("3.0 cycles"), std::string::npos) << latency.detail;
}

}  // namespace
}  // namespace gputopo
