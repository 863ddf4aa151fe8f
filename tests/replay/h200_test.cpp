// What the analysis says of a recorded H200: the recording holds what the GPU answered, so any change here is a change
// of the analysis. The values are those of docs/results/h200.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gputopo/discover.h"
#include "gputopo/operation.h"

namespace gputopo {
namespace {

using testing::ElementsAre;

class RecordedH200 : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto device = open_device("replay:" GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo", 1);
    topology_ = new Topology(discover(*device, {}));
  }
  static void TearDownTestSuite() { delete topology_; }

  static const Attribute& of(const std::string& element, const std::string& attribute) {
    return *topology_->find_attribute(element, attribute);
  }
  static double number(const std::string& element, const std::string& attribute) {
    const Attribute& found = of(element, attribute);
    EXPECT_TRUE(found.available()) << element << "." << attribute << ": " << found.detail;
    return found.number().value_or(-1);
  }
  static std::vector<std::string> names(const std::string& element) {
    return std::get<std::vector<std::string>>(of(element, "shared_with").value);
  }

  static Topology* topology_;
};

Topology* RecordedH200::topology_ = nullptr;

TEST_F(RecordedH200, IsARealDevice) {
  EXPECT_FALSE(topology_->simulated);
  EXPECT_EQ(topology_->name, "NVIDIA H200");
  EXPECT_TRUE(topology_->complete);
}

TEST_F(RecordedH200, LinesAndFetches) {
  for (const char* element : {"l1", "texture", "readonly"}) {
    EXPECT_EQ(number(element, "line_size"), 128) << element;
    EXPECT_EQ(number(element, "fetch_granularity"), 32) << element;
  }
  EXPECT_EQ(number("constant_l1", "line_size"), 64);
  EXPECT_EQ(number("constant_l1", "fetch_granularity"), 64);
  EXPECT_EQ(number("constant_l15", "fetch_granularity"), 256);
  EXPECT_EQ(number("l2", "line_size"), 128);
  EXPECT_EQ(number("l2", "fetch_granularity"), 64);
}

TEST_F(RecordedH200, OneCacheServesGlobalTextureAndReadOnlyLoads) {
  EXPECT_THAT(names("l1"), ElementsAre("texture", "readonly"));
  EXPECT_THAT(names("texture"), ElementsAre("l1", "readonly"));
  EXPECT_THAT(names("readonly"), ElementsAre("l1", "texture"));
  EXPECT_THAT(names("constant_l1"), ElementsAre());
  for (const char* element : {"l1", "texture", "readonly", "constant_l1"})
    EXPECT_EQ(number(element, "amount"), 1) << element;
}

// The recording was made without it, so there is no answer to its chases: that is said, and our values are what they
// were.
TEST_F(RecordedH200, HoldsNothingOfAnotherMethod) {
  const auto device = open_device("replay:" GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo", 1);
  const Topology asked = discover(*device, {.methods = {"change-point"}});
  const Attribute& theirs = *asked.find_attribute("l1", "change_point_size");
  EXPECT_EQ(theirs.reason, Reason::kDeviceError);
  EXPECT_THAT(theirs.detail, testing::HasSubstr("the recording does not hold a program that this needs"));
  for (const char* element : {"l1", "texture", "readonly", "constant_l1", "constant_l15", "l2"}) {
    EXPECT_EQ(*asked.find_attribute(element, "size"), of(element, "size")) << element;
    EXPECT_EQ(topology_->find_attribute(element, "change_point_size"), nullptr) << element;
  }
}

TEST_F(RecordedH200, Sizes) {
  EXPECT_NEAR(number("l1", "size"), 240 * 1024, 0.02 * 240 * 1024);
  EXPECT_EQ(number("constant_l1", "size"), 2048);
  EXPECT_EQ(number("l2", "size"), 60 << 20);
  EXPECT_EQ(number("l2", "partitions"), 2);
  // Behind the 64 KiB that constants may have, with code beside them: what code alone shows of the same cache.
  const Attribute& constants = of("constant_l15", "size");
  EXPECT_LE(*constants.low, number("icache_l2", "size"));
  EXPECT_GE(*constants.high, number("icache_l2", "size"));
  ASSERT_TRUE(of("l1", "size").available());
  // At every carve-out what shared memory takes is gone from L1.
  const auto& sizes = std::get<std::vector<double>>(*of("l1", "size").find_detail("size_by_carve_out_bytes"));
  ASSERT_EQ(sizes.size(), 9u);
  for (std::size_t i = 1; i < sizes.size(); ++i) EXPECT_LT(sizes[i], sizes[i - 1]);
}

TEST_F(RecordedH200, TlbAndInstructionCaches) {
  EXPECT_EQ(number("tlb_l1", "entries"), 16);
  EXPECT_EQ(number("tlb_l1", "entry_bytes"), 16 << 20);
  EXPECT_EQ(number("tlb_l1", "ways"), 16);
  EXPECT_NEAR(number("tlb_l1", "miss_penalty"), 10, 1.5);
  // To a page or two: some sets hold a page of something else.
  EXPECT_NEAR(number("tlb_l2", "entries"), 2048, 2);
  EXPECT_LE(*of("tlb_l2", "entries").low, 2048);
  EXPECT_GE(*of("tlb_l2", "entries").high, 2048);
  EXPECT_EQ(number("tlb_l2", "reach"), number("tlb_l2", "entries") * (32 << 20));
  EXPECT_EQ(number("tlb_l2", "entry_bytes"), 32 << 20);
  EXPECT_EQ(std::get<std::string>(of("l2", "write_policy").value), "write_back");
  EXPECT_EQ(std::get<std::string>(of("icache_l1", "scope").value), "2 SMs");
  EXPECT_THAT(names("icache_l1"), ElementsAre());
  EXPECT_THAT(names("icache_l2"), ElementsAre("constants"));
  EXPECT_EQ(number("icache_l1", "ways"), 4);
  EXPECT_EQ(number("icache_l2", "ways"), 8);
  EXPECT_EQ(number("icache_l1", "line_size"), 128);
  EXPECT_EQ(number("icache_l2", "line_size"), 256);
  // 32 and 128 KiB, less what a pass runs beside the code and what is fetched ahead of its end.
  EXPECT_EQ(number("icache_l1", "size"), 32 << 10);
  EXPECT_GE(number("icache_l2", "size"), 125 << 10);
  EXPECT_LE(number("icache_l2", "size"), 128 << 10);
  EXPECT_GE(*of("icache_l2", "size").high, 128 << 10);
  EXPECT_GE(number("constant_l15", "size"), 122 << 10);
  EXPECT_LE(number("constant_l15", "size"), 128 << 10);
}

TEST_F(RecordedH200, Clusters) {
  EXPECT_EQ(number("cluster", "max_cluster_size"), 16);
  EXPECT_NEAR(number("cluster", "latency"), 198, 2);
  EXPECT_GT(number("cluster", "latency"), number("shared", "latency"));
  EXPECT_GT(number("bulk_copy", "latency"), number("l2", "latency"));
}

// What only --full asks.
TEST(RecordedH200InFull, StructureAndMap) {
  const auto device = open_device("replay:" GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo", 1);
  DiscoverOptions options;
  options.full = true;
  const Topology topology = discover(*device, options);
  const auto of = [&](const char* element, const char* attribute) -> const Attribute& {
    return *topology.find_attribute(element, attribute);
  };
  for (const char* element : {"l1", "constant_l1"}) {
    EXPECT_EQ(of(element, "ways").number(), 4) << element << of(element, "ways").detail;
  }
  // L1 protects two lines of a set of four from new ones, but for one access in 25; LRU foretells one in five wrongly.
  EXPECT_EQ(of("l1", "replacement").value, Value(std::string("other")));
  const Attribute& l1_replacement = of("l1", "replacement");
  ASSERT_NE(l1_replacement.find_detail("best_policy"), nullptr) << l1_replacement.detail;
  EXPECT_EQ(*l1_replacement.find_detail("best_policy"), Value(std::string("segmented_lru 2/4")));
  EXPECT_GT(std::get<double>(*l1_replacement.find_detail("next_mispredicted_percent")), 15);
  EXPECT_EQ(of("constant_l1", "replacement").value, Value(std::string("pseudo_lru")));
  EXPECT_EQ(of("l2", "ways").number(), 16);
  EXPECT_EQ(of("l2", "sets").number(), 15360);  // of one partition: 30 MiB
  EXPECT_EQ(of("l2", "index").value, Value(std::string("hashed")));
  EXPECT_EQ(of("l2", "replacement").value, Value(std::string("lru")));
  EXPECT_EQ(of("constant_l1", "sets").number(), 8);
  EXPECT_EQ(of("constant_l1", "index").value, Value(std::string("modulo")));
  EXPECT_EQ(of("l1", "index").value, Value(std::string("hashed")));
  EXPECT_EQ(of("tlb_l1", "scope").value, Value(std::string("SM")));
  EXPECT_EQ(of("tlb_l2", "scope").value, Value(std::string("6 SMs")));  // of this H200: others have 2 or 4
  // The programs that look for slices are left out of the recording: they find none that hold, and are a half of it.
  EXPECT_FALSE(of("l2", "slices").available());
  const auto groups = [&](const char* element, const char* attribute) {
    std::vector<std::set<std::uint32_t>> result;
    for (const auto& group : std::get<UnitGroups>(of(element, attribute).value).groups) {
      result.emplace_back(group.begin(), group.end());
    }
    return result;
  };
  // Two ways of looking that share no loads agree: each group of SMs lies within one partition, each pair in a group.
  const auto partitions = groups("l2", "near_sms");
  const auto gpcs = groups("icache_l2", "shared_between");
  const auto tpcs = groups("icache_l1", "shared_between");
  EXPECT_EQ(partitions.size(), 2u);
  EXPECT_EQ(gpcs.size(), 8u);
  EXPECT_EQ(tpcs.size(), 66u);
  const auto within = [](const std::set<std::uint32_t>& part, const std::vector<std::set<std::uint32_t>>& wholes) {
    return std::any_of(wholes.begin(), wholes.end(), [&](const std::set<std::uint32_t>& whole) {
      return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
    });
  };
  for (const auto& gpc : gpcs) EXPECT_TRUE(within(gpc, partitions));
  for (const auto& tpc : tpcs) EXPECT_TRUE(within(tpc, gpcs));
  // So do clusters, which the driver places within a GPC.
  const auto clusters = groups("cluster", "cluster_sms");
  EXPECT_GE(clusters.size(), gpcs.size());
  for (const auto& cluster : clusters) EXPECT_TRUE(within(cluster, gpcs));
}

// Of what the programs behind it ran with, and not of the last program that ran before.
TEST_F(RecordedH200, ConditionsAreThoseOfTheProgramsBehindAValue) {
  const auto condition = [](const char* element, const char* attribute, const char* name) -> Value {
    for (const auto& [key, value] : of(element, attribute).conditions) {
      if (key == name) return value;
    }
    return {};
  };
  // The smallest carve-outs that hold what the programs keep; the sweep over carve-outs, which ends with 228 KiB, came
  // later.
  constexpr double kLargest = 16384;
  for (const char* element : {"l1", "texture", "readonly"}) {
    for (const char* attribute : {"latency", "fetch_granularity", "line_size", "size", "miss_penalty", "amount"}) {
      const Value found = condition(element, attribute, "carve_out_bytes");
      const auto* one = std::get_if<std::int64_t>(&found);
      const auto* several = std::get_if<std::vector<double>>(&found);
      ASSERT_TRUE(one != nullptr || several != nullptr) << element << "." << attribute;
      EXPECT_LE(one != nullptr ? static_cast<double>(*one) : several->back(), kLargest) << element << "." << attribute;
    }
    // Of a single launch.
    EXPECT_EQ(condition(element, "latency", "carve_out_bytes"), Value(std::int64_t{16384})) << element;
  }
  EXPECT_EQ(condition("tlb_l2", "entries", "carve_out_bytes"), condition("tlb_l2", "reach", "carve_out_bytes"));
  int measured = 0;
  int in_both_units = 0;
  for (const MemoryElement& element : topology_->memory) {
    for (const auto& [name, attribute] : element.attributes) {
      if (attribute.source != Source::kMeasured) continue;
      ++measured;
      EXPECT_NE(condition(element.id.c_str(), name.c_str(), "sm_clock_mhz"), Value()) << element.id << "." << name;
      const Value* ns = attribute.find_detail("mean_ns");
      const Value clock = condition(element.id.c_str(), name.c_str(), "sm_clock_mhz");
      if (ns == nullptr || !std::holds_alternative<double>(clock)) continue;
      ++in_both_units;
      // The same launches' clock, so that nanoseconds and cycles say one thing.
      EXPECT_NEAR(std::get<double>(*ns), *attribute.number() / std::get<double>(clock) * 1000, 0.02)
          << element.id << "." << name;
    }
  }
  EXPECT_GE(measured, 50);
  EXPECT_GE(in_both_units, 10);
}

TEST_F(RecordedH200, LatenciesAreInOrder) {
  // Of the load alone, by whatever path: 32 cycles with what a chain's own address takes.
  EXPECT_NEAR(number("l1", "latency"), 31.2, 0.5);
  EXPECT_NEAR(number("readonly", "latency"), number("l1", "latency"), 0.2);
  EXPECT_NEAR(number("l2", "latency"), 279, 6);
  EXPECT_NEAR(number("device", "latency"), 680, 10);  // of this H200: others take 650 to 690
  EXPECT_LT(std::get<double>(*of("device", "latency").find_detail("near_cycles")), number("device", "latency") - 50);
  EXPECT_GT(std::get<double>(*of("device", "latency").find_detail("far_cycles")), number("device", "latency") + 50);
  EXPECT_GT(std::get<double>(*of("device", "latency").find_detail("tlb_cold_cycles")),
            number("device", "latency") + 50);
}

// Those of every run; the others, and all throughputs, with --full.
TEST_F(RecordedH200, LatenciesOfCommonOperations) {
  ASSERT_EQ(topology_->instructions.size(), common_operations().size());
  for (const Instruction& instruction : topology_->instructions) {
    const Attribute* latency = find(instruction.attributes, AttributeId::kLatency);
    EXPECT_TRUE(latency->available()) << instruction.id << ": " << latency->detail;
    EXPECT_EQ(find(instruction.attributes, AttributeId::kThroughput)->reason, Reason::kNotSelected) << instruction.id;
  }
  const auto cycles = [](const char* id) {
    const auto found = std::ranges::find(topology_->instructions, id, &Instruction::id);
    return find(found->attributes, AttributeId::kLatency)->number().value_or(0);
  };
  EXPECT_NEAR(cycles("fma.f32"), 4, 0.05);
  EXPECT_NEAR(cycles("fma.f64"), 8, 0.05);
}

TEST_F(RecordedH200, BandwidthsReachWhatTheGpuCan) {
  constexpr double kMemory = 4.81e12;
  constexpr double kBanks = 128 * 132 * 1.98e9;
  EXPECT_GT(number("device", "read_bandwidth"), 0.93 * kMemory);
  EXPECT_LT(number("device", "read_bandwidth"), kMemory);
  EXPECT_GT(number("l2", "read_bandwidth"), 9.0e12);
  EXPECT_LT(number("l2", "read_bandwidth"), 9.2e12);
  EXPECT_GT(number("l1", "read_bandwidth"), 0.9 * kBanks);
  EXPECT_LT(number("l1", "read_bandwidth"), 1.001 * kBanks);
}

// What computes.
TEST(RecordedH200Compute, UnitsAndPeaks) {
  const auto device = open_device("replay:" GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo", 1);
  DiscoverOptions options;
  options.full = true;
  options.elements = {"registers", "clocks", "control", "peaks", "instructions", "pipes"};
  const Topology topology = discover(*device, options);
  const auto number = [&](const char* element, const char* attribute) {
    const Attribute& found = *topology.find_attribute(element, attribute);
    EXPECT_TRUE(found.available()) << element << "." << attribute << ": " << found.detail;
    return found.number().value_or(-1);
  };
  EXPECT_EQ(number("registers", "register_file"), 256 << 10);
  EXPECT_EQ(number("registers", "register_unit"), 256);
  EXPECT_EQ(number("registers", "shared_unit"), 128);
  EXPECT_EQ(number("registers", "resident_warps"), 64);
  EXPECT_EQ(number("registers", "resident_blocks"), 32);
  EXPECT_EQ(number("registers", "schedulers"), 4);
  EXPECT_EQ(number("clocks", "timer_step"), 32);
  EXPECT_NEAR(number("control", "barrier_latency"), 14.3, 0.5);
  EXPECT_NEAR(number("control", "divergence_cost"), 51.7, 1);
  // GPCs: as many SMs as TPCs of two.
  const auto& groups = std::get<UnitGroups>(topology.find_attribute("clocks", "clock_groups")->value).groups;
  EXPECT_EQ(groups.size(), 8u);
  for (const std::vector<std::uint32_t>& group : groups) EXPECT_THAT(group.size(), testing::AnyOf(12, 14, 16, 18));
  const auto throughput = [&](const char* operation) {
    return find(topology.find_instruction(operation)->attributes, AttributeId::kThroughput)->number().value_or(0);
  };
  // Lanes of 2048 fused multiply-adds of an SM each, of dense matrices; of f32 a lane of each core.
  EXPECT_NEAR(throughput("wgmma.m64n256k16.f32.f16"), 1, 0.01);
  EXPECT_NEAR(throughput("fma.f32"), 127, 1);
  EXPECT_NEAR(number("peaks", "matrix_f16") / number("peaks", "matrix_tf32"), 2, 0.04);
  EXPECT_NEAR(number("peaks", "f32") / number("peaks", "f64"), 2, 0.1);
  // Two operations of a fused multiply-add, on 128 lanes of 132 SMs.
  EXPECT_NEAR(number("peaks", "f32"), 2 * 128 * 132 * 1.98e9, 0.02 * 2 * 128 * 132 * 1.98e9);
}

}  // namespace
}  // namespace gputopo
