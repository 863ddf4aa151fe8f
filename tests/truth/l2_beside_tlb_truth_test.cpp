// An L2 larger than the reach of a TLB: TLB misses must not be taken for partitions or change the size of the L2.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "support/draw.h"
#include "support/random_machine.h"
#include "support/seeds.h"
#include "support/trial.h"

namespace gputopo {
namespace {

sim::MachineSpec machine_of_small_tlb(std::uint64_t seed) {
  truth::Draw draw(seed + 9'000'000);
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("h200"));
  truth::take_groups(machine, 8);
  machine.info.memory_bytes = 16ull << 30;
  machine.info.l2_persisting_max_bytes.reset();
  machine.slices.reset();
  const bool parts = draw.chance(0.5);
  if (!parts) truth::take_partitions(machine);
  std::uint64_t l2_bytes = 0;
  for (sim::CacheSpec& cache : machine.caches) {
    if (cache.id != "l2") continue;
    cache.ways = 16;
    cache.copies_far_lines = false;  // one SM sees the whole L2
    cache.index = draw.pick({sim::IndexHash::kModulo, sim::IndexHash::kMixed});
    constexpr std::uint64_t kGranule = 2 * 16 * 128;
    cache.size_bytes = static_cast<std::uint64_t>(draw.log_uniform(4 << 20, 48 << 20)) / kGranule * kGranule;
    cache.line_bytes = 128;
    cache.sector_bytes = 32;
    l2_bytes = cache.size_bytes;
  }
  machine.info.l2_bytes = l2_bytes;
  sim::TlbSpec tlb;
  tlb.page_bytes = draw.pick<std::uint64_t>({64 << 10, 512 << 10, 2 << 20});
  tlb.entries = std::max(8u, static_cast<std::uint32_t>(draw.uniform(0.2, 1.5) * static_cast<double>(l2_bytes) /
                                                        static_cast<double>(tlb.page_bytes)));
  tlb.miss_cycles = draw.log_uniform(10, 150);
  tlb.scope = sim::Scope::kSm;
  machine.tlbs = {tlb};
  machine.noise.jitter_cycles = draw.uniform(0, 3);
  return machine;
}

TEST(L2BesideTlbTruth, MissesOfTheTlbAreNoPartOfIt) {
  int values = 0;
  int silent = 0;
  int wrong = 0;
  std::string misses;
  const auto judge = [](std::uint64_t seed) {
    DiscoverOptions options;
    options.elements = {"l2"};
    options.attributes = {"size", "partitions"};
    options.full = true;
    return truth::discover_machine(machine_of_small_tlb(seed), seed, std::move(options));
  };
  const auto add = [&](const truth::Discovered& found) {
    const sim::MachineSpec& machine = found.machine;
    const sim::CacheSpec& l2 = truth::cache_of(machine, "l2");
    const auto add_value = [&](const char* what, std::optional<double> value, double low, double high, double truth) {
      ++values;
      silent += value ? 0 : 1;
      if (!value || (truth >= low && truth <= high)) return;
      ++wrong;
      misses += fmt::format("seed {} l2.{}: {} [{}, {}], truth {}; TLB {} x {} B, {:.0f} cycles\n", found.seed, what,
                            *value, low, high, truth, machine.tlbs[0].entries, machine.tlbs[0].page_bytes,
                            machine.tlbs[0].miss_cycles);
    };
    const Attribute& partitions = *found.topology.find_attribute("l2", "partitions");
    add_value("partitions", partitions.flags.empty() ? partitions.number() : std::nullopt, partitions.low.value_or(0),
              partitions.high.value_or(0), l2.partitions);
    const Attribute& size = *found.topology.find_attribute("l2", "size");
    std::optional<double> measured;
    if (const Value* detail = size.find_detail("measured_bytes")) {
      const auto* whole = std::get_if<std::int64_t>(detail);
      measured = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(*detail);
    }
    const double truth = static_cast<double>(l2.size_bytes);
    add_value("measured size", measured, measured.value_or(0) * 0.95, measured.value_or(0) * 1.05, truth);
  };
  const std::uint64_t machines = (truth::machines_wanted() + 3) / 4;
  truth::judge_seeds(truth::first_seed(), machines, judge, add);
  fmt::print("{} values, {} silent, {} wrong\n{}", values, silent, wrong, misses);
  constexpr int kValuesOfMachine = 2;
  EXPECT_EQ(values, kValuesOfMachine * static_cast<int>(machines));
  EXPECT_LE(wrong, values / 100);
  EXPECT_LE(silent, values / 10) << "a report that says nothing is never wrong";
}

// A TLB miss takes as long as the way from L2 to memory, so single loads cannot tell it from an L2 miss.
TEST(L2BesideTlbTruth, MissesThatTakeAsLongAsMemoryHideNoEnd) {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("h200"));
  truth::take_groups(machine, 8);
  truth::take_partitions(machine);
  machine.info.memory_bytes = 16ull << 30;
  machine.info.l2_persisting_max_bytes.reset();
  machine.info.l2_bytes.reset();
  machine.slices.reset();
  constexpr double kL2Bytes = 12 << 20;
  for (sim::CacheSpec& cache : machine.caches) {
    if (cache.id != "l2") continue;
    cache.size_bytes = static_cast<std::uint64_t>(kL2Bytes);
    cache.ways = 16;
    cache.index = sim::IndexHash::kMixed;
  }
  sim::TlbSpec tlb;
  tlb.page_bytes = 64 << 10;
  tlb.entries = 64;
  tlb.miss_cycles = 400;
  tlb.scope = sim::Scope::kSm;
  machine.tlbs = {tlb};
  DiscoverOptions options;
  options.elements = {"l2"};
  options.attributes = {"size", "line_size", "fetch_granularity"};
  const Topology topology = truth::discover_machine(machine, 1, std::move(options)).topology;
  const auto number = [&](const char* what) { return topology.find_attribute("l2", what)->number().value_or(0); };
  EXPECT_NEAR(number("size"), kL2Bytes, 0.01 * kL2Bytes);
  EXPECT_EQ(number("line_size"), static_cast<double>(truth::cache_of(machine, "l2").line_bytes));
  EXPECT_EQ(number("fetch_granularity"), static_cast<double>(truth::cache_of(machine, "l2").sector_bytes));
}

}  // namespace
}  // namespace gputopo
