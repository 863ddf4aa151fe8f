// A cache whose sets each hold many neighboring lines: a few such lines evict one another while the rest is empty. A
// size from footprints would be that of one set.
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "support/random_machine.h"
#include "support/trial.h"

namespace gputopo {
namespace {

// Changes to the nearest constant cache of an H200.
struct ConstantCache {
  std::uint64_t size_bytes;
  std::uint32_t sector_bytes;
  std::uint32_t ways;
  std::uint32_t set_interleave_bytes = 0;
};

Topology discover_constants(const ConstantCache& wanted) {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("h200"));
  truth::take_groups(machine, 8);
  for (sim::CacheSpec& cache : machine.caches) {
    if (cache.id != "constant_l1") continue;
    cache.size_bytes = wanted.size_bytes;
    cache.line_bytes = 128;
    cache.sector_bytes = wanted.sector_bytes;
    cache.ways = wanted.ways;
    cache.set_ways.clear();
    cache.replacement = sim::Replacement::kLru;
    cache.index = sim::IndexHash::kModulo;
    cache.set_interleave_bytes = wanted.set_interleave_bytes;
  }
  DiscoverOptions options;
  options.elements = {"constant_l1"};
  options.attributes = {"size", "line_size", "latency"};
  return truth::discover_machine(machine, 1, std::move(options)).topology;
}

TEST(NeighbourSetsTruth, TheSizeOfASetIsNotThatOfTheCache) {
  const Topology topology =
      discover_constants({.size_bytes = 4608, .sector_bytes = 64, .ways = 2, .set_interleave_bytes = 1024});
  EXPECT_TRUE(topology.find_attribute("constant_l1", "latency")->available());
  for (const char* what : {"size", "line_size"}) {
    EXPECT_EQ(topology.find_attribute("constant_l1", what)->reason, Reason::kInconclusive) << what;
  }
}

TEST(NeighbourSetsTruth, LinesInTurnAreMeasured) {
  const Topology topology = discover_constants({.size_bytes = 4608, .sector_bytes = 64, .ways = 2});
  EXPECT_EQ(topology.find_attribute("constant_l1", "size")->number(), 4608);
  EXPECT_EQ(topology.find_attribute("constant_l1", "line_size")->number(), 128);
}

// Every footprint is larger than this cache; only the tiny array fits, which cannot show that neighbors share a set.
TEST(NeighbourSetsTruth, ACacheOfThreeLinesIsMeasured) {
  const Topology topology = discover_constants({.size_bytes = 384, .sector_bytes = 32, .ways = 3});
  EXPECT_EQ(topology.find_attribute("constant_l1", "size")->number(), 384);
  EXPECT_EQ(topology.find_attribute("constant_l1", "line_size")->number(), 128);
}

}  // namespace
}  // namespace gputopo
