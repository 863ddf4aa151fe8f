// Write policies of random machines of both vendors (support/random_machine.h): a value is right, and there is one
// wherever the machine lets it be seen.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/sim/machine.h"
#include "gputopo/discover.h"
#include "support/random_machine.h"
#include "support/seeds.h"

namespace gputopo {
namespace {

constexpr std::uint64_t kLeastStreamBytes = 512 << 10;  // streams over less do not stay in an L2

struct Outcome {
  std::map<std::string, int> right;
  std::map<std::string, int> asked;
  std::string misses;
};

void judge_machine(std::uint64_t seed, const sim::MachineSpec& machine, Outcome& outcome) {
  const std::unique_ptr<Device> device = sim::make_sim_device(machine, seed, 1);
  const std::string first = machine.spaces.at(Space::kGlobal).path.front().cache;
  if (first == "l2") return;  // no L1 caches global loads
  DiscoverOptions options;
  options.elements = {first, "l2"};
  options.attributes = {"write_policy", "write_allocate"};
  options.seed = seed;
  options.budget_seconds = 600;
  options.keep_samples = false;
  const Topology topology = discover(*device, options);
  const auto expect = [&](const std::string& id, const char* what, const std::optional<Value>& truth) {
    const Attribute& attribute = *topology.find_attribute(id, what);
    const bool right = truth ? attribute.value == *truth
                             : attribute.reason == Reason::kInconclusive || attribute.reason == Reason::kNotSupported;
    ++outcome.asked[what];
    outcome.right[what] += right ? 1 : 0;
    if (!right) {
      outcome.misses +=
          fmt::format("{} (seed {}) {}.{}: {}\n", machine.info.name, seed, id, what,
                      attribute.available() ? "a wrong value"
                                            : fmt::format("{}: {}", to_string(attribute.reason), attribute.detail));
    }
    return right && attribute.available();
  };
  const sim::CacheSpec& l1 = truth::cache_of(machine, first);
  const sim::CacheSpec& l2 = truth::cache_of(machine, "l2");
  for (const sim::CacheSpec* cache : {&l1, &l2}) {
    if (!expect(cache->id, "write_allocate", Value(allocates_on_store(*cache)))) continue;
    const Value* hit = topology.find_attribute(cache->id, "write_allocate")->find_detail("store_hit");
    const bool evicts = cache->store_hit == sim::StoreHit::kInvalidate;
    const bool right = hit != nullptr && *hit == Value(std::string(evicts ? "evicted" : "kept"));
    ++outcome.asked["store_hit"];
    outcome.right["store_hit"] += right ? 1 : 0;
    if (!right) outcome.misses += fmt::format("{} {}: store_hit\n", machine.info.name, cache->id);
  }
  // Where L2 does not keep what is stored, nothing shows whether it came by.
  std::optional<Value> policy;
  if (allocates_on_store(l2)) policy = Value(std::string(writes_back(l1) ? "write_back" : "write_through"));
  expect(first, "write_policy", policy);
  if (l2.size_bytes < kLeastStreamBytes) return;
  expect("l2", "write_policy", writes_back(l2) ? std::optional(Value(std::string("write_back"))) : std::nullopt);
}

TEST(WritePolicyTruth, RandomMachines) {
  Outcome outcome;
  const auto judge = [](std::uint64_t seed) {
    Outcome one;
    judge_machine(seed, seed % 3 == 0 ? truth::random_amd_machine(seed) : truth::random_machine(seed), one);
    return one;
  };
  truth::judge_seeds(1, truth::machines_wanted() * 3 / 10 + 1, judge, [&](Outcome one) {
    for (const auto& [what, count] : one.asked) {
      outcome.asked[what] += count;
      outcome.right[what] += one.right[what];
    }
    outcome.misses += one.misses;
  });
  for (const auto& [what, count] : outcome.asked) {
    fmt::print("{}: {} of {} right\n", what, outcome.right[what], count);
    EXPECT_EQ(outcome.right[what], count) << what << "\n" << outcome.misses;
  }
}

}  // namespace
}  // namespace gputopo
