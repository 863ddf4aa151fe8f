// Caches that several spaces use: a size counts for both elements only if they are the same cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "support/trial.h"

namespace gputopo {
namespace {

// `part`: size of a separate texture cache, relative to L1. `instances`: number of L1 caches in an SM.
struct Trial {
  bool own_cache = false;
  double part = 1;
  std::uint32_t instances = 1;
};

class SameCacheTruth : public ::testing::Test {
 protected:
  static Attribute texture_size(const Trial& trial) { return of_texture("size", trial); }
  static Attribute of_texture(const std::string& attribute, const Trial& trial) {
    sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("a100"));
    std::ranges::find(machine.caches, "l1", &sim::CacheSpec::id)->instances = trial.instances;
    if (trial.own_cache) {
      sim::CacheSpec own = *std::ranges::find(machine.caches, "l1", &sim::CacheSpec::id);
      own.id = "texture";
      own.size_bytes = static_cast<std::uint64_t>(trial.part * static_cast<double>(own.size_bytes));
      own.ways = static_cast<std::uint32_t>(trial.part * own.ways);
      own.unified = false;
      machine.caches.push_back(own);
      machine.spaces.at(Space::kTexture).path.front().cache = own.id;
    }
    DiscoverOptions options;
    options.elements = {"texture"};
    options.attributes = {attribute};
    return *truth::discover_machine(machine, 1, std::move(options)).topology.find_attribute("texture", attribute);
  }
  static bool is_as_l1(const Attribute& size) {
    return std::ranges::any_of(size.conditions, [](const auto& condition) {
      return condition.first == "measured_as" && condition.second == Value(std::string("l1"));
    });
  }
};

TEST_F(SameCacheTruth, TexturesInL1HaveItsSize) {
  const Attribute size = texture_size({});
  ASSERT_TRUE(size.available()) << size.detail;
  EXPECT_TRUE(is_as_l1(size));
  EXPECT_NEAR(*size.number(), 192 << 10, 8 << 10);
}

TEST_F(SameCacheTruth, AnotherCacheOfThatSizeIsMeasuredItself) {
  const Attribute size = texture_size({.own_cache = true});
  ASSERT_TRUE(size.available()) << size.detail;
  EXPECT_FALSE(is_as_l1(size));
  EXPECT_NEAR(*size.number(), 192 << 10, 8 << 10);
}

TEST_F(SameCacheTruth, NorIsASmallerOneTakenForL1) {
  const Attribute size = texture_size({.own_cache = true, .part = 0.5});
  ASSERT_TRUE(size.available()) << size.detail;
  EXPECT_FALSE(is_as_l1(size));
  EXPECT_NEAR(*size.number(), 96 << 10, 8 << 10);
}

// With one L1, a few warps show that textures have one too. In all other cases the probe needs all warps.
TEST_F(SameCacheTruth, FewWarpsTellHowManyThereAreOfOneL1) {
  struct Expected {
    Trial trial;
    double amount;
    std::int64_t warps;
  };
  for (const auto& [trial, amount, warps] : std::vector<Expected>{
           {{}, 1, 4}, {{.own_cache = true}, 1, 32}, {{.instances = 2}, 2, 32}, {{.instances = 4}, 4, 32}}) {
    SCOPED_TRACE(trial.instances);
    const Attribute found = of_texture("amount", trial);
    ASSERT_TRUE(found.available()) << found.detail;
    EXPECT_EQ(found.number(), amount);
    EXPECT_EQ(*found.find_detail("warps_tried"), Value(warps));
  }
}

}  // namespace
}  // namespace gputopo
