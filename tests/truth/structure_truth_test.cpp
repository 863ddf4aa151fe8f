// Structures that once fooled the probes, each as a small family of machines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "support/random_machine.h"

namespace gputopo::truth {
namespace {

using sim::Replacement;

Attribute found(const sim::MachineSpec& machine, std::uint64_t seed, const std::string& element,
                const std::string& id) {
  const std::unique_ptr<Device> device = sim::make_sim_device(machine, seed, 1);
  DiscoverOptions options;
  options.elements = {element + "." + id};
  options.seed = seed;
  return *discover(*device, options).find_attribute(element, id);
}

sim::MachineSpec machine_with_l1(std::uint32_t ways, Replacement replacement, std::uint32_t protected_ways) {
  sim::MachineSpec machine = random_machine(1);
  for (auto& [space, spec] : machine.spaces) {
    if (space == Space::kGlobal && spec.path.front().cache != "l1") spec.path.insert(spec.path.begin(), {"l1", 20, 0});
  }
  sim::CacheSpec& l1 = machine.caches.front();
  l1 = {.id = "l1", .size_bytes = 48ull * ways * 128, .ways = ways, .replacement = replacement};
  l1.protected_ways = protected_ways;
  l1.index = sim::IndexHash::kMixed;
  machine.noise = {.jitter_cycles = 3,
                   .outlier_probability = 0.01,
                   .outlier_cycles = 300,
                   .drift_fraction = 0.01,
                   .interference_probability = 0.1};
  return machine;
}

// Segmented LRU was taken for LRU: it evicts the oldest line, or the next one if the oldest was loaded again.
TEST(StructureTruth, EachPolicyHasItsName) {
  struct Case {
    Replacement replacement;
    std::string name;
  };
  const std::vector<Case> cases = {
      {Replacement::kLru, "lru"},     {Replacement::kFifo, "fifo"},     {Replacement::kSegmentedLru, "segmented_lru"},
      {Replacement::kSrrip, "srrip"}, {Replacement::kRandom, "random"}, {Replacement::kTreePlru, "pseudo_lru"}};
  for (const std::uint32_t ways : {4u, 7u}) {
    for (const auto& [replacement, name] : cases) {
      if (replacement == Replacement::kTreePlru && ways != 4 && ways != 16) continue;
      const std::uint32_t protected_ways = replacement == Replacement::kSegmentedLru ? ways / 2 : 0;
      const Attribute attribute = found(machine_with_l1(ways, replacement, protected_ways), ways, "l1", "replacement");
      EXPECT_EQ(attribute.value, Value(name)) << ways << " ways: " << attribute.detail;
      if (protected_ways == 0) continue;
      const Value* detail = attribute.find_detail("protected_ways");
      ASSERT_NE(detail, nullptr);
      EXPECT_EQ(*detail, Value(static_cast<std::int64_t>(protected_ways)));
    }
  }
}

// Models of Volta and Turing: sets of hundreds of lines, and a constant cache of nearly the size of all constants.
TEST(StructureTruth, WideSetsAndConstantsNearTheirLimit) {
  const sim::MachineSpec turing = sim::parse_machine(*sim::builtin_machine("t1000"));
  EXPECT_EQ(found(turing, 1, "l1", "sets").value, Value(std::int64_t{4}));
  EXPECT_EQ(found(turing, 1, "constant_l15", "size").value, Value(std::int64_t{47104}));
  EXPECT_EQ(found(turing, 1, "constant_l15", "line_size").value, Value(std::int64_t{256}));
}

}  // namespace
}  // namespace gputopo::truth
