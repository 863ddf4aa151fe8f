// L1 as seen by local loads, on machines with known truth: models of GPUs, and machines that could fool the probe.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "support/trial.h"
#include "support/two_level_machine.h"

namespace gputopo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LocalTruth : public ::testing::Test {
 protected:
  void discover_machine(const sim::MachineSpec& machine, std::vector<std::string> elements) {
    DiscoverOptions options;
    options.elements = std::move(elements);
    options.full = true;
    options.budget_seconds = 600;
    topology_ = truth::discover_machine(machine, 1, std::move(options)).topology;
  }
  static sim::MachineSpec builtin(const char* name) { return sim::parse_machine(*sim::builtin_machine(name)); }

  const Attribute& attribute(const char* element, const char* id) { return *topology_.find_attribute(element, id); }
  double number(const char* id, const char* element = "local") {
    const Attribute& found = attribute(element, id);
    EXPECT_TRUE(found.available()) << element << "." << id << ": " << found.detail;
    return found.number().value_or(0);
  }
  std::vector<std::string> partners() {
    const Attribute& found = attribute("local", "shared_with");
    EXPECT_TRUE(found.available()) << found.detail;
    return found.available() ? std::get<std::vector<std::string>>(found.value) : std::vector<std::string>{"none"};
  }

  Topology topology_;
};

// Mei et al. 2014, section 2: Kepler's L1 serves local memory, and has 64 KB together with shared memory.
TEST_F(LocalTruth, OfKeplerItAloneShowsL1) {
  discover_machine(builtin("gtx780"), {"local", "l1"});
  EXPECT_EQ(attribute("l1", "size").reason, Reason::kNotPresent);
  EXPECT_NEAR(number("size"), 48 << 10, 512);
  EXPECT_NEAR(number("latency"), 35, 0.5);
  EXPECT_NEAR(number("miss_penalty"), 230 - 35, 4);
  EXPECT_THAT(partners(), IsEmpty());
  EXPECT_THAT(attribute("local", "size").flags, ElementsAre(HasSubstr("line_size_unknown")));
  const Value* by_carve_out = attribute("local", "size").find_detail("size_by_carve_out_bytes");
  ASSERT_NE(by_carve_out, nullptr);
  const auto& sizes = std::get<std::vector<double>>(*by_carve_out);
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_NEAR(sizes[0], 48 << 10, 1024);
  EXPECT_NEAR(sizes[1], 32 << 10, 1024);
  EXPECT_NEAR(sizes[2], 16 << 10, 1024);
}

// Kepler with global loads in L1, which is separate from the texture cache.
TEST_F(LocalTruth, OfK20cItIsTheL1OfGlobalLoads) {
  discover_machine(builtin("k20c"), {"local", "l1.size"});
  EXPECT_NEAR(number("size"), 48 << 10, 512);
  EXPECT_NEAR(number("latency"), 64, 0.5);
  EXPECT_NEAR(number("miss_penalty"), 223 - 64, 4);
  EXPECT_THAT(partners(), ElementsAre("l1"));
  EXPECT_THAT(attribute("local", "size").flags, IsEmpty());
}

TEST_F(LocalTruth, OfHopperItIsTheUnifiedL1) {
  discover_machine(builtin("h200"), {"local", "l1.size", "l1.latency", "l1.shared_with"});
  const double l1 = number("size", "l1");
  EXPECT_NEAR(number("size"), l1, 0.01 * l1);
  EXPECT_NEAR(number("latency"), number("latency", "l1"), 0.5);
  EXPECT_THAT(partners(), ElementsAre("l1", "texture", "readonly"));
  const auto of_l1 = std::get<std::vector<std::string>>(attribute("l1", "shared_with").value);
  EXPECT_THAT(of_l1, ElementsAre("texture", "readonly")) << "what --full adds changes nothing of what others say";
}

TEST_F(LocalTruth, WhereL2AloneServesItIsNotThere) {
  discover_machine(builtin("gtx840m"), {"local"});
  for (const char* id : {"size", "latency", "miss_penalty", "shared_with"}) {
    EXPECT_EQ(attribute("local", id).reason, Reason::kNotPresent) << id;
    EXPECT_THAT(attribute("local", id).detail, HasSubstr("does not cache local loads in L1")) << id;
  }
}

TEST_F(LocalTruth, WithoutSuchLoadsItIsNotSupported) {
  discover_machine(builtin("gt200"), {"local"});
  EXPECT_EQ(attribute("local", "size").reason, Reason::kNotSupported);
}

// With a hashed index, a quarter of the 32-B lines fills all sets of an L1, so a footprint of four times its size
// fits.
TEST_F(LocalTruth, OfShortLinesNoSizeIsTold) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.caches[0].line_bytes = machine.caches[0].sector_bytes = 32;
  machine.caches[0].index = sim::IndexHash::kMixed;
  discover_machine(machine, {"local"});
  EXPECT_EQ(attribute("local", "size").reason, Reason::kInconclusive);
  EXPECT_THAT(attribute("local", "size").detail, HasSubstr("L1 lines have only 32 B"));
  EXPECT_NEAR(number("latency"), test::kL1Cycles, 0.5);
}

TEST_F(LocalTruth, AnL1ThatHoldsAllOfItIsAtLeastThatLarge) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.caches[0].size_bytes = 2 << 20;
  machine.caches[1].size_bytes = 32 << 20;
  discover_machine(machine, {"local"});
  EXPECT_EQ(attribute("local", "size").reason, Reason::kNotSupported);
  EXPECT_THAT(attribute("local", "size").detail, HasSubstr("is at least that large"));
}

// A separate cache for spilled registers, smaller than L1.
TEST_F(LocalTruth, AnotherCacheIsNotTakenForL1) {
  sim::MachineSpec machine = test::two_level_machine();
  sim::CacheSpec own = machine.caches[0];
  own.id = "local";
  own.size_bytes /= 2;
  own.replacement = sim::Replacement::kRandom;
  machine.caches.push_back(own);
  machine.spaces[Space::kLocal] = machine.spaces.at(Space::kGlobal);
  machine.spaces[Space::kLocal].path[0] = {"local", 24};
  discover_machine(machine, {"local"});
  EXPECT_NEAR(number("size"), 8 << 10, 128);
  EXPECT_NEAR(number("latency"), 24, 0.5);
  EXPECT_THAT(partners(), IsEmpty());
}

// Fetches longer than a thread's stride show in the misses, but must not make the cache look smaller.
TEST_F(LocalTruth, LongFetchesDoNotChangeTheSize) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.caches[0].line_bytes = machine.caches[0].sector_bytes = 256;
  discover_machine(machine, {"local"});
  EXPECT_NEAR(number("size"), test::kL1Bytes, 256);
  EXPECT_NEAR(number("miss_penalty"), test::kL2Cycles - test::kL1Cycles, 4);
}

// L2 does not hold all written lines, so misses go to L2 or memory, depending on what a walk leaves in each.
TEST_F(LocalTruth, ASmallL2IsNotTakenForL1) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.caches[1].size_bytes = 128 << 10;
  discover_machine(machine, {"local"});
  EXPECT_NEAR(number("size"), test::kL1Bytes, 128);
  EXPECT_NEAR(number("miss_penalty"), test::kL2Cycles - test::kL1Cycles, 4);
}

// Another process evicts lines and delays loads in one program of fifty.
TEST_F(LocalTruth, ANeighbourDoesNotMakeItSmaller) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.noise = {.jitter_cycles = 1.5,
                   .outlier_probability = 0.002,
                   .outlier_cycles = 300,
                   .drift_fraction = 0.002,
                   .interference_probability = 0.02};
  discover_machine(machine, {"local"});
  EXPECT_NEAR(number("size"), test::kL1Bytes, 128);
  EXPECT_NEAR(number("latency"), test::kL1Cycles, 1);
  EXPECT_THAT(partners(), ElementsAre("l1"));
}

}  // namespace
}  // namespace gputopo
