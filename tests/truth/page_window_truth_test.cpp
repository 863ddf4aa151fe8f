// Page-table windows behind the TLBs of random machines, as on Kepler. TLBs of few entries are not windows.
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "support/draw.h"
#include "support/number_of.h"
#include "support/seeds.h"

namespace gputopo {
namespace {

sim::MachineSpec machine_with_last_level(std::uint64_t seed, std::uint32_t entries) {
  truth::Draw draw(seed);
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("gtx780"));
  machine.info.memory_bytes = 16ull << 30;
  machine.noise.jitter_cycles = draw.uniform(0, 2);
  sim::TlbSpec& second = machine.tlbs.at(1);
  second.set_ways.clear();
  second.entries = draw.pick<std::uint32_t>({32, 64, 128});
  second.ways = draw.pick<std::uint32_t>({0, 8, 16});
  second.index = sim::IndexHash::kModulo;
  sim::TlbSpec& last = machine.tlbs.at(2);
  last.page_bytes = (1ull << 30) >> draw.below(2);
  last.entries = entries;
  last.miss_cycles = draw.uniform(60, 400);
  last.memory_miss_cycles = last.miss_cycles * draw.uniform(1, 1.5);
  return machine;
}

Topology discover_patterns(const sim::MachineSpec& machine, std::uint64_t seed) {
  const std::unique_ptr<Device> device = sim::make_sim_device(machine, seed, 1);
  DiscoverOptions options;
  options.elements = {"device", "tlb_l3"};
  options.attributes = {"latency_patterns", "miss_penalty", "entries"};
  options.seed = seed;
  options.full = true;
  return discover(*device, options);
}

TEST(PageWindowTruth, WindowsAreToldFromTlbs) {
  std::uint64_t told = 0;
  std::uint64_t sizes = 0;
  const std::uint64_t machines = std::max<std::uint64_t>(4, truth::machines_wanted() / 8);
  for (std::uint64_t seed = 1; seed <= machines; ++seed) {
    SCOPED_TRACE(seed);
    const sim::MachineSpec machine = machine_with_last_level(seed, 1);
    const Topology found = discover_patterns(machine, seed);
    const Attribute* patterns = found.find_attribute("device", "latency_patterns");
    ASSERT_TRUE(patterns != nullptr && patterns->available());
    if (patterns->find_detail("page_window_bytes") == nullptr) {
      EXPECT_FALSE(found.find_attribute("tlb_l3", "entries")->available());
      continue;
    }
    ++told;
    EXPECT_EQ(found.find_attribute("tlb_l3", "miss_penalty")->reason, Reason::kNotPresent);
    const double bytes = truth::number_of(*patterns, "page_window_bytes");
    if (bytes == 0) continue;
    ++sizes;
    EXPECT_EQ(bytes, machine.tlbs[2].page_bytes);
    const double base = truth::number_of(*patterns, "l2_hit_tlb_l2_miss");
    EXPECT_NEAR(truth::number_of(*patterns, "l2_hit_page_window_miss") - base, machine.tlbs[2].miss_cycles,
                6 + 0.1 * machine.tlbs[2].miss_cycles);
  }
  EXPECT_GE(static_cast<double>(told), 0.9 * static_cast<double>(machines));
  EXPECT_GE(static_cast<double>(sizes), 0.8 * static_cast<double>(machines));
}

TEST(PageWindowTruth, TlbsOfTwoAndMoreEntriesAreNone) {
  for (std::uint64_t seed = 1; seed <= std::max<std::uint64_t>(4, truth::machines_wanted() / 8); ++seed) {
    SCOPED_TRACE(seed);
    const Topology found =
        discover_patterns(machine_with_last_level(seed, static_cast<std::uint32_t>(2 + seed % 3)), seed);
    const Attribute* patterns = found.find_attribute("device", "latency_patterns");
    ASSERT_TRUE(patterns != nullptr && patterns->available());
    EXPECT_EQ(patterns->find_detail("page_window_bytes"), nullptr);
    // The entries reach farther than the memory, so their number cannot be measured. The level must not be denied.
    EXPECT_EQ(found.find_attribute("tlb_l3", "entries")->reason, Reason::kInconclusive);
  }
}

}  // namespace
}  // namespace gputopo
