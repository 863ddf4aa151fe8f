// The tables of papers that analyzed GPUs by hand, reproduced on the models of those GPUs. Tolerances are the papers'
// own precision: whole cycles, and whole lines for sizes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "support/seeds.h"

namespace gputopo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

class Published : public ::testing::Test {
 protected:
  void discover_machine(const std::string& name, const std::vector<std::string>& elements) {
    discover_machine(sim::parse_machine(*sim::builtin_machine(name)), elements);
  }
  void discover_machine(const sim::MachineSpec& machine, const std::vector<std::string>& elements) {
    const auto device = sim::make_sim_device(machine, 1);
    DiscoverOptions options;
    options.elements = elements;
    options.full = true;
    options.budget_seconds = 600;
    options.keep_samples = true;
    truth::log_if_asked(1, options);
    found_ = discover(*device, options);
  }

  const Attribute& attribute(const char* element, const char* id) {
    const Attribute* found = found_.find_attribute(element, id);
    if (found == nullptr || !found->available()) {
      throw std::runtime_error(std::string(element) + "." + id + ": " + (found == nullptr ? "missing" : found->detail));
    }
    return *found;
  }
  double number(const char* element, const char* id) { return attribute(element, id).number().value(); }
  std::string text(const char* element, const char* id) { return std::get<std::string>(attribute(element, id).value); }
  std::vector<std::string> list(const char* element, const char* id) {
    return std::get<std::vector<std::string>>(attribute(element, id).value);
  }
  template <typename T>
  T detail(const char* element, const char* id, const char* name) {
    const Value* found = attribute(element, id).find_detail(name);
    if (found == nullptr) throw std::runtime_error(std::string(element) + "." + id + " has no " + name);
    return std::get<T>(*found);
  }

  // The value of a column at a stride of `words` words.
  double strided(const char* element, const char* id, const std::string& column, double words) {
    for (const SampleTable& table : attribute(element, id).samples) {
      const auto cycles = std::ranges::find(table.columns, column, &Column::name);
      const auto place = std::ranges::find(table.data.front(), 4 * words);
      if (cycles == table.columns.end() || place == table.data.front().end()) continue;
      return table.data[static_cast<std::size_t>(cycles - table.columns.begin())]
                       [static_cast<std::size_t>(place - table.data.front().begin())];
    }
    throw std::runtime_error(std::string(element) + "." + id + " has no " + column);
  }

  double surface(double footprint_bytes, double stride_bytes) {
    const SampleTable& table = attribute("device", "latency_patterns").samples.at(0);
    for (std::size_t row = 0; row < table.data[0].size(); ++row) {
      if (table.data[0][row] == footprint_bytes && table.data[1][row] == stride_bytes) return table.data[2][row];
    }
    throw std::runtime_error("no such point of the surface");
  }

  struct Pattern {
    const char* name;
    double cycles;
    double tolerance;
  };
  void expect_patterns(const std::vector<Pattern>& patterns) {
    for (const auto& [name, cycles, tolerance] : patterns) {
      EXPECT_NEAR(detail<double>("device", "latency_patterns", name), cycles, tolerance) << name;
    }
  }

  Topology found_;
};

// Wong et al., Demystifying GPU Microarchitecture through Microbenchmarking, ISPASS 2010, Table V.
TEST_F(Published, WongTableFive) {
  discover_machine(
      "gt200", {"texture", "l2", "constant_l1", "constant_l15", "constant_l3", "shared", "device", "tlb_l1", "tlb_l2"});
  EXPECT_EQ(number("constant_l1", "size"), 2 << 10);
  EXPECT_EQ(number("constant_l1", "line_size"), 64);
  EXPECT_EQ(number("constant_l1", "ways"), 4);
  EXPECT_NEAR(number("constant_l1", "latency"), 8, 0.5);
  EXPECT_NEAR(number("constant_l15", "size"), 8 << 10, 256);
  EXPECT_EQ(number("constant_l15", "line_size"), 256);
  EXPECT_EQ(number("constant_l15", "ways"), 4);
  EXPECT_NEAR(number("constant_l15", "latency"), 81, 1);
  EXPECT_NEAR(number("constant_l15", "latency") + number("constant_l15", "miss_penalty"), 220, 2);
  EXPECT_EQ(text("constant_l15", "scope"), "3 SMs");
  EXPECT_NEAR(number("constant_l3", "size"), 32 << 10, 256);
  EXPECT_EQ(number("constant_l3", "line_size"), 256);
  EXPECT_EQ(number("constant_l3", "ways"), 8);
  EXPECT_EQ(number("constant_l3", "sets"), 16);
  EXPECT_EQ(text("constant_l3", "scope"), "GPU");
  EXPECT_NEAR(number("constant_l3", "latency"), 220, 2);
  EXPECT_NEAR(number("constant_l3", "latency") + number("constant_l3", "miss_penalty"), 476, 4);
  // Figure 19, in bytes per clock: for the whole GPU and for one SM.
  EXPECT_NEAR(number("constant_l3", "read_bandwidth") / 1350e6, 9.75, 0.1);
  EXPECT_NEAR(number("constant_l3", "sm_read_bandwidth") / 1350e6, 1.2, 0.02);

  EXPECT_NEAR(number("device", "latency"), 440, 4);
  EXPECT_EQ(number("tlb_l1", "entries"), 16);
  EXPECT_EQ(number("tlb_l1", "entry_bytes"), 128 * 4096);
  EXPECT_EQ(number("tlb_l1", "ways"), 16);
  EXPECT_EQ(number("tlb_l2", "entries"), 8192);
  EXPECT_EQ(number("tlb_l2", "entry_bytes"), 4096);
  EXPECT_EQ(number("tlb_l2", "reach"), 8192 * 4096);
  // Figures 11 and 12.
  expect_patterns({{"memory_tlb_hit", 440, 4}, {"memory_tlb_l1_miss", 487, 5}, {"memory_tlb_l2_miss", 698, 7}});

  EXPECT_EQ(number("texture", "size"), 5 << 10);
  EXPECT_EQ(number("texture", "line_size"), 32);
  EXPECT_EQ(number("texture", "ways"), 20);
  EXPECT_NEAR(number("texture", "latency"), 261, 2);
  EXPECT_NEAR(number("texture", "latency") + number("texture", "miss_penalty"), 371, 3);
  // The second texture level; no other loads reach it.
  EXPECT_EQ(number("l2", "size"), 256 << 10);
  EXPECT_EQ(number("l2", "line_size"), 256);
  EXPECT_EQ(number("l2", "ways"), 8);
  EXPECT_NEAR(number("l2", "latency"), 371, 2);
  EXPECT_NEAR(number("l2", "latency") + number("l2", "miss_penalty"), 499, 3);
  EXPECT_EQ(found_.find_attribute("l2", "write_allocate")->reason, Reason::kNotPresent);
  EXPECT_EQ(found_.find_attribute("l2", "write_bandwidth")->reason, Reason::kNotPresent);

  EXPECT_EQ(number("shared", "size"), 16 << 10);
  EXPECT_NEAR(number("shared", "latency"), 38, 1);
}

// Figures 22 to 24: straight-line code does not show the nearest 4 KB, so the levels count from the next cache on.
TEST_F(Published, WongInstructionCaches) {
  discover_machine("gt200", {"icache_l0", "icache_l1", "icache_l2", "icache_l3", "constant_l15", "constant_l3"});
  EXPECT_EQ(number("icache_l0", "size"), 4 << 10);
  EXPECT_EQ(number("icache_l0", "fetch_size"), 64);
  EXPECT_EQ(number("icache_l1", "size"), 8 << 10);
  EXPECT_EQ(number("icache_l1", "line_size"), 256);
  EXPECT_EQ(number("icache_l1", "ways"), 4);
  EXPECT_EQ(text("icache_l1", "scope"), "3 SMs");
  EXPECT_THAT(list("icache_l1", "shared_with"), ElementsAre("constants"));
  EXPECT_EQ(number("icache_l2", "size"), 32 << 10);
  EXPECT_EQ(number("icache_l2", "line_size"), 256);
  EXPECT_EQ(number("icache_l2", "ways"), 8);
  EXPECT_EQ(text("icache_l2", "scope"), "GPU");
  EXPECT_THAT(list("icache_l2", "shared_with"), ElementsAre("constants"));
}

// Figure 23: if the other SMs of the TPC keep the second level busy, the first level shows like any other.
TEST_F(Published, WongInstructionCachesUnderContention) {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("gt200"));
  machine.code->path[1].cycles_per_instruction = 6;
  discover_machine(machine, {"icache_l1", "icache_l2", "icache_l3", "constant_l15", "constant_l3"});
  EXPECT_EQ(number("icache_l1", "size"), 4 << 10);
  EXPECT_EQ(number("icache_l1", "line_size"), 256);
  EXPECT_EQ(number("icache_l1", "ways"), 4);
  EXPECT_EQ(text("icache_l1", "scope"), "SM");
  EXPECT_THAT(list("icache_l1", "shared_with"), IsEmpty());
  EXPECT_EQ(number("icache_l2", "size"), 8 << 10);
  EXPECT_EQ(number("icache_l3", "size"), 32 << 10);
}

// Mei et al., NPC 2014, section 4.2, on L1: the replaced way is random, and one of the four ways is three times as
// likely as the others. One discovery sees some hundred replacements; five together give shares to within 0.015.
TEST_F(Published, MeiFermiReplacement) {
  constexpr std::uint64_t kDiscoveries = 5;
  const std::vector<double> truth = {1.0 / 6, 1.0 / 2, 1.0 / 6, 1.0 / 6};
  std::vector<double> shares(truth.size());
  for (std::uint64_t seed = 1; seed <= kDiscoveries; ++seed) {
    const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("gtx560ti")), seed);
    DiscoverOptions options;
    options.elements = {"l1.replacement"};
    found_ = discover(*device, options);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      shares[i] += detail<double>("l1", "replacement", fmt::format("victim_share_{}", i + 1).c_str()) / kDiscoveries;
    }
  }
  for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_NEAR(shares[i], truth[i], 0.045) << "way " << i + 1;
}

// Mei et al., Benchmarking the Memory Hierarchy of Modern GPUs, NPC 2014: Tables 1 and 3 to 5, and Figures 8, 10 and
// 12. Leaves out the 6 to 17 cycles by which misses in Fermi's L1 change Table 3.
TEST_F(Published, MeiFermi) {
  discover_machine("gtx560ti", {"l1", "texture", "l2", "shared", "device", "tlb_l1", "tlb_l2"});
  EXPECT_EQ(number("shared", "banks"), 32);
  EXPECT_EQ(number("shared", "bank_width"), 4);

  // Figure 5: 50 cycles when all lanes load one word, 88 with two ways, 1210 with 32.
  EXPECT_NEAR(detail<double>("shared", "conflict_cost", "broadcast_cycles"), 50.1, 1);
  EXPECT_NEAR(strided("shared", "conflict_cost", "load_cycles", 2), 88, 2);
  EXPECT_NEAR(strided("shared", "conflict_cost", "load_cycles", 32), 1210, 12);

  EXPECT_NEAR(number("l1", "latency"), 116, 1);
  EXPECT_NEAR(number("l2", "latency"), 371, 3);
  EXPECT_NEAR(number("device", "latency"), 639, 5);

  EXPECT_EQ(number("l1", "size"), 16 << 10);
  EXPECT_EQ(number("l1", "line_size"), 128);
  EXPECT_EQ(number("l1", "sets"), 32);
  EXPECT_EQ(number("l1", "ways"), 4);
  EXPECT_EQ(text("l1", "replacement"), "other");

  EXPECT_EQ(number("tlb_l1", "reach"), 32 << 20);
  EXPECT_EQ(number("tlb_l1", "entry_bytes"), 2 << 20);
  EXPECT_EQ(number("tlb_l1", "ways"), 16);
  EXPECT_NEAR(number("tlb_l1", "miss_penalty"), 27, 1);
  EXPECT_EQ(number("tlb_l2", "reach"), 130 << 20);
  EXPECT_EQ(number("tlb_l2", "entries"), 65);
  expect_patterns({{"l1_hit", 116, 1},
                   {"l2_hit_tlb_hit", 371, 3},
                   {"l2_hit_tlb_l1_miss", 398, 4},
                   {"l2_hit_tlb_l2_miss", 482, 5},
                   {"memory_tlb_hit", 639, 6},
                   {"memory_tlb_l2_miss", 1245, 12},
                   {"through_l1_l2_hit_tlb_l1_miss", 404, 4},
                   {"through_l1_l2_hit_tlb_l2_miss", 488, 5},
                   {"through_l1_memory_tlb_hit", 655, 6},
                   {"through_l1_memory_tlb_l2_miss", 1259, 12}});

  EXPECT_EQ(number("texture", "size"), 12 << 10);
  EXPECT_EQ(number("texture", "line_size"), 32);
  EXPECT_EQ(number("texture", "sets"), 4);
  EXPECT_EQ(number("texture", "ways"), 96);
  EXPECT_EQ(text("texture", "index"), "bits 7 to 8");
  EXPECT_EQ(text("texture", "replacement"), "lru");
  EXPECT_NEAR(number("texture", "latency"), 240, 2);
  EXPECT_NEAR(number("texture", "latency") + number("texture", "miss_penalty"), 470, 4);
}

TEST_F(Published, MeiKepler) {
  discover_machine("gtx780", {"texture", "l2", "shared", "device", "tlb"});
  EXPECT_EQ(number("shared", "banks"), 32);
  EXPECT_EQ(number("shared", "bank_width"), 8);
  // Figures 6 and 7: the cost of strides of 2, 4 and 6 words in both modes.
  const auto ways = [&](const char* mode, int words) {
    const double free = strided("shared", "bank_interleave", mode, 1);
    return 1 + (strided("shared", "bank_interleave", mode, words) - free) / number("shared", "conflict_cost");
  };
  EXPECT_EQ(number("shared", "bank_interleave"), 4);
  EXPECT_NEAR(ways("mode_4_cycles", 2), 1, 0.1);
  EXPECT_NEAR(ways("mode_8_cycles", 2), 1, 0.1);
  EXPECT_NEAR(ways("mode_4_cycles", 4), 2, 0.1);
  EXPECT_NEAR(ways("mode_8_cycles", 4), 2, 0.1);
  EXPECT_NEAR(ways("mode_4_cycles", 6), 2, 0.1);
  EXPECT_NEAR(ways("mode_8_cycles", 6), 1, 0.1);
  EXPECT_NEAR(number("l2", "latency"), 230, 2);
  EXPECT_NEAR(number("device", "latency"), 371, 3);

  EXPECT_EQ(number("tlb_l1", "entries"), 16);
  EXPECT_EQ(number("tlb_l1", "ways"), 16);
  EXPECT_EQ(number("tlb_l2", "reach"), 130 << 20);
  EXPECT_EQ(number("tlb_l2", "entries"), 65);
  EXPECT_EQ(number("tlb_l2", "entry_bytes"), 2 << 20);
  const auto sets = detail<std::vector<double>>("tlb_l2", "ways", "ways_of_each_set");
  EXPECT_THAT(sets, UnorderedElementsAreArray({17, 8, 8, 8, 8, 8, 8}));
  expect_patterns({{"l2_hit_tlb_hit", 230, 2},
                   {"l2_hit_tlb_l1_miss", 236, 2},
                   {"l2_hit_tlb_l2_miss", 289, 3},
                   {"memory_tlb_hit", 371, 3},
                   {"memory_tlb_l2_miss", 734, 7},
                   {"memory_page_window_miss", 1000, 10}});
  EXPECT_EQ(detail<std::int64_t>("device", "latency_patterns", "page_window_bytes"), 512 << 20);
  EXPECT_EQ(found_.find_attribute("tlb_l3", "miss_penalty")->reason, Reason::kNotPresent);

  EXPECT_EQ(number("texture", "size"), 12 << 10);
  EXPECT_EQ(text("texture", "index"), "bits 7 to 8");
  EXPECT_EQ(number("texture", "ways"), 96);
  EXPECT_NEAR(number("texture", "latency"), 110, 1);
  EXPECT_NEAR(number("texture", "latency") + number("texture", "miss_penalty"), 220, 2);
}

// Meltzer, Zeng, Cecka, Micro-benchmarking the C2070, poster, GTC 2013.
TEST_F(Published, MeltzerC2070) {
  discover_machine("c2070", {"l1", "l2", "device", "tlb_l1"});
  EXPECT_NEAR(number("l1", "size"), 48 << 10, 128);
  EXPECT_EQ(number("l1", "line_size"), 128);
  EXPECT_EQ(number("l1", "ways"), 6);
  EXPECT_NEAR(number("l1", "latency"), 80, 1);
  EXPECT_EQ(number("l2", "size"), 768 << 10);
  EXPECT_NEAR(detail<double>("l2", "size", "measured_bytes"), 768 << 10, 0.01 * (768 << 10));
  EXPECT_NEAR(number("l2", "latency"), 350, 3);
  // The surface: 80 cycles in L1 at any stride. In L2 350 cycles at strides of a line or more, and one miss per line
  // at shorter strides. Memory beyond both.
  EXPECT_NEAR(surface(16 << 10, 16), 80, 2);
  EXPECT_NEAR(surface(16 << 10, 256), 80, 2);
  EXPECT_NEAR(surface(256 << 10, 256), 350, 6);
  EXPECT_NEAR(surface(256 << 10, 16), (350 + 7 * 80) / 8.0, 6);
  EXPECT_GT(surface(2 << 20, 256), 560);
  // 13.7 ways on average, in 1792 sets.
  EXPECT_EQ(number("l2", "sets"), 1792);
  EXPECT_EQ(attribute("l2", "ways").low, 13);
  EXPECT_EQ(attribute("l2", "ways").high, 14);
  EXPECT_NEAR(detail<double>("l2", "ways", "mean_ways"), 13.71, 0.02);
  EXPECT_EQ(text("l2", "index"), "modulo");
  EXPECT_NEAR(number("device", "latency"), 580, 5);
  EXPECT_EQ(number("tlb_l1", "entry_bytes"), 2 << 20);
}

}  // namespace
}  // namespace gputopo
