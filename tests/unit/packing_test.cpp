// Packing is exact where contiguous footprints are not: uneven indices, random replacement, a nearer cache.
#include "probe/capacity/packing.h"

#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/sim_device.h"
#include "probe/survey/survey.h"

namespace gputopo::probe {
namespace {

sim::MachineSpec machine_with(sim::CacheSpec cache) {
  sim::MachineSpec machine;
  machine.info.vendor = "NVIDIA";
  machine.info.name = "test GPU";
  machine.info.sm_count = 4;
  machine.info.memory_bytes = 1ull << 32;
  cache.id = "l1";
  machine.caches = {cache,
                    {.id = "l2",
                     .size_bytes = 1 << 20,
                     .line_bytes = 128,
                     .sector_bytes = 32,
                     .ways = 16,
                     .scope = sim::Scope::kGpu}};
  machine.spaces[Space::kGlobal] = {{{"l1", 30}, {"l2", 200}}, 500};
  machine.noise = {.jitter_cycles = 1, .outlier_probability = 0.002, .outlier_cycles = 200};
  return machine;
}

double packed(const sim::MachineSpec& machine) {
  const std::unique_ptr<Device> device = sim::make_sim_device(machine, 1);
  DeviceSession bench(*device, {});
  ProbeRunner runner(bench);
  const Survey survey = complete_survey(runner, begin_survey(runner, {.space = Space::kGlobal}));
  return packed_bytes(runner, find_cache(survey, 0));
}

TEST(Packing, FillsUnevenSetsUnderEveryReplacement) {
  for (const sim::Replacement replacement :
       {sim::Replacement::kLru, sim::Replacement::kTreePlru, sim::Replacement::kRandom}) {
    for (const std::uint32_t ways : {1u, 2u, 16u}) {
      const sim::CacheSpec cache{.size_bytes = 4096,
                                 .line_bytes = 64,
                                 .sector_bytes = 64,
                                 .ways = ways,
                                 .replacement = replacement,
                                 .index = sim::IndexHash::kMixed};
      EXPECT_EQ(packed(machine_with(cache)), 4096) << ways << " ways";
    }
  }
}

TEST(Packing, LeavesLargeCachesAlone) {
  EXPECT_EQ(packed(machine_with({.size_bytes = 256 << 10, .line_bytes = 64, .sector_bytes = 64, .ways = 4})), 0);
}

}  // namespace
}  // namespace gputopo::probe
