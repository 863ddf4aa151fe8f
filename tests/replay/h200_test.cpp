// The analysis of a recorded H200. The recording holds the GPU's answers, so a difference here is a change of the
// analysis. docs/results/h200.md shows the same values.
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

// The recording was made without this method and has no answers to its chases. The report says so, and the other
// values do not change.
TEST_F(RecordedH200, HoldsNothingOfAnotherMethod) {
  const auto device = open_device("replay:" GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo", 1);
  const Topology asked = discover(*device, {.methods = {"change-point"}});
  const Attribute& theirs = *asked.find_attribute("l1", "change_point_size");
  EXPECT_EQ(theirs.reason, Reason::kDeviceError);
  EXPECT_THAT(theirs.detail, testing::HasSubstr("the recording does not contain a program that this"));
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
  // The 64 KiB of constants fit this cache, so the probe adds code. Code alone shows the same cache as icache_l2.
  const Attribute& constants = of("constant_l15", "size");
  EXPECT_LE(*constants.low, number("icache_l2", "size"));
  EXPECT_GE(*constants.high, number("icache_l2", "size"));
  ASSERT_TRUE(of("l1", "size").available());
  // With a larger carve-out for shared memory, L1 gets smaller.
  const auto& sizes = std::get<std::vector<double>>(*of("l1", "size").find_detail("size_by_carve_out_bytes"));
  ASSERT_EQ(sizes.size(), 9u);
  for (std::size_t i = 1; i < sizes.size(); ++i) EXPECT_LT(sizes[i], sizes[i - 1]);
}

TEST_F(RecordedH200, TlbAndInstructionCaches) {
  EXPECT_EQ(number("tlb_l1", "entries"), 16);
  EXPECT_EQ(number("tlb_l1", "entry_bytes"), 16 << 20);
  EXPECT_EQ(number("tlb_l1", "ways"), 16);
  EXPECT_NEAR(number("tlb_l1", "miss_penalty"), 10, 1.5);
  // Exact to a page or two, because some sets hold another page.
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
  // 32 and 128 KiB, less the code that a pass runs besides and the code that is prefetched beyond its end.
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

// Values that only --full measures.
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
  // L1 protects two lines of a set of four from new lines, except in one access of 25. LRU mispredicts one in five.
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
  EXPECT_EQ(of("tlb_l2", "scope").value, Value(std::string("6 SMs")));  // on this H200; on others 2 or 4
  // The recording leaves out the programs for slices: they give no reliable result and would be half of its size.
  EXPECT_FALSE(of("l2", "slices").available());
  const auto groups = [&](const char* element, const char* attribute) {
    std::vector<std::set<std::uint32_t>> result;
    for (const auto& group : std::get<UnitGroups>(of(element, attribute).value).groups) {
      result.emplace_back(group.begin(), group.end());
    }
    return result;
  };
  // Two independent methods agree: each GPC lies within one partition, and each TPC within one GPC.
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
  // Clusters agree as well; the driver places them within a GPC.
  const auto clusters = groups("cluster", "cluster_sms");
  EXPECT_GE(clusters.size(), gpcs.size());
  for (const auto& cluster : clusters) EXPECT_TRUE(within(cluster, gpcs));
}

// Conditions come from the programs behind the value, not from the last program that ran before.
TEST_F(RecordedH200, ConditionsAreThoseOfTheProgramsBehindAValue) {
  const auto condition = [](const char* element, const char* attribute, const char* name) -> Value {
    for (const auto& [key, value] : of(element, attribute).conditions) {
      if (key == name) return value;
    }
    return {};
  };
  // Programs run with the smallest carve-out that holds their shared memory. The sweep over carve-outs up to 228 KiB
  // came later.
  constexpr double kLargest = 16384;
  for (const char* element : {"l1", "texture", "readonly"}) {
    for (const char* attribute : {"latency", "fetch_granularity", "line_size", "size", "miss_penalty", "amount"}) {
      const Value found = condition(element, attribute, "carve_out_bytes");
      const auto* one = std::get_if<std::int64_t>(&found);
      const auto* several = std::get_if<std::vector<double>>(&found);
      ASSERT_TRUE(one != nullptr || several != nullptr) << element << "." << attribute;
      EXPECT_LE(one != nullptr ? static_cast<double>(*one) : several->back(), kLargest) << element << "." << attribute;
    }
    // This value comes from a single launch.
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
      // The clock is that of the same launches, so nanoseconds and cycles agree.
      EXPECT_NEAR(std::get<double>(*ns), *attribute.number() / std::get<double>(clock) * 1000, 0.02)
          << element.id << "." << name;
    }
  }
  EXPECT_GE(measured, 50);
  EXPECT_GE(in_both_units, 10);
}

TEST_F(RecordedH200, LatenciesAreInOrder) {
  // The latency of the load alone on any path; a chain adds its own address computation, which makes 32 cycles.
  EXPECT_NEAR(number("l1", "latency"), 31.2, 0.5);
  EXPECT_NEAR(number("readonly", "latency"), number("l1", "latency"), 0.2);
  EXPECT_NEAR(number("l2", "latency"), 279, 6);
  EXPECT_NEAR(number("device", "latency"), 680, 10);  // on this H200; others take 650 to 690
  EXPECT_LT(std::get<double>(*of("device", "latency").find_detail("near_cycles")), number("device", "latency") - 50);
  EXPECT_GT(std::get<double>(*of("device", "latency").find_detail("far_cycles")), number("device", "latency") + 50);
  EXPECT_GT(std::get<double>(*of("device", "latency").find_detail("tlb_cold_cycles")),
            number("device", "latency") + 50);
}

// The operations of every run. All others, and all throughputs, need --full.
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

// Compute units and their peaks.
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
  EXPECT_EQ(number("registers", "register_allocation_unit"), 256);
  EXPECT_EQ(number("registers", "shared_allocation_unit"), 128);
  EXPECT_EQ(number("registers", "resident_warps"), 64);
  EXPECT_EQ(number("registers", "resident_blocks"), 32);
  EXPECT_EQ(number("registers", "schedulers"), 4);
  EXPECT_EQ(number("clocks", "timer_resolution"), 32);
  EXPECT_NEAR(number("control", "barrier_latency"), 14.3, 0.5);
  EXPECT_NEAR(number("control", "divergence_cost"), 51.7, 1);
  // GPCs, each with an even number of SMs: two per TPC.
  const auto& groups = std::get<UnitGroups>(topology.find_attribute("clocks", "clock_groups")->value).groups;
  EXPECT_EQ(groups.size(), 8u);
  for (const std::vector<std::uint32_t>& group : groups) EXPECT_THAT(group.size(), testing::AnyOf(12, 14, 16, 18));
  const auto throughput = [&](const char* operation) {
    return find(topology.find_instruction(operation)->attributes, AttributeId::kThroughput)->number().value_or(0);
  };
  // Dense matrices: a lane's share is 2048 fused multiply-adds, one clock of an SM. f32: one lane per core.
  EXPECT_NEAR(throughput("wgmma.m64n256k16.f32.f16"), 1, 0.01);
  EXPECT_NEAR(throughput("fma.f32"), 127, 1);
  EXPECT_NEAR(number("peaks", "matrix_f16") / number("peaks", "matrix_tf32"), 2, 0.04);
  EXPECT_NEAR(number("peaks", "f32") / number("peaks", "f64"), 2, 0.1);
  // A fused multiply-add counts as two operations, on 128 lanes of 132 SMs.
  EXPECT_NEAR(number("peaks", "f32"), 2 * 128 * 132 * 1.98e9, 0.02 * 2 * 128 * 132 * 1.98e9);
}

}  // namespace
}  // namespace gputopo
