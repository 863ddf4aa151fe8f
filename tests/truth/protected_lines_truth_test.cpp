// Caches that protect lines after a hit (segmented LRU). Lines that are loaded once do not evict those, which must
// not look like a cache that nothing evicts.
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "support/trial.h"

namespace gputopo {
namespace {

constexpr std::uint32_t kLineBytes = 128;

TEST(ProtectedLinesTruth, LinesThatAreLoadedTwiceEvictThem) {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("mi210"));
  machine.info.sm_count = 4;
  machine.info.physical_sm_ids.reset();
  machine.sm_groups = {{0, 1}, {2, 3}};
  for (sim::CacheSpec& cache : machine.caches) {
    if (cache.id != "vl1" && cache.id != "sl1d") continue;
    cache.line_bytes = cache.sector_bytes = kLineBytes;
    cache.ways = 8;
    cache.protected_ways = 4;
    cache.set_ways.clear();
    cache.replacement = sim::Replacement::kSegmentedLru;
  }
  DiscoverOptions options;
  options.elements = {"vl1", "sl1d"};
  options.attributes = {"amount", "shared_between"};
  options.full = true;
  const Topology topology = truth::discover_machine(machine, 1, std::move(options)).topology;
  EXPECT_EQ(topology.find_attribute("vl1", "amount")->number(), 1) << topology.find_attribute("vl1", "amount")->detail;
  const Attribute& sharing = *topology.find_attribute("sl1d", "shared_between");
  ASSERT_TRUE(sharing.available()) << sharing.detail;
  EXPECT_EQ(std::get<UnitGroups>(sharing.value).groups, machine.sm_groups);
}

}  // namespace
}  // namespace gputopo
