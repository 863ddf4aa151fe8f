// Groups from pairs, and the map of shared scalar caches on machines with known truth.
#include "probe/bench/sharing_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "gputopo/program.h"

namespace gputopo {
namespace {

using probe::sharing_groups;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(SharingGroups, AreWhatPairsConnect) {
  const auto found = sharing_groups(6, {{0, 3}, {3, 4}, {0, 4}, {1, 2}});
  EXPECT_THAT(found.groups, ElementsAre(ElementsAre(0, 3, 4), ElementsAre(1, 2), ElementsAre(5)));
  EXPECT_THAT(found.missing_pairs, IsEmpty());
}

TEST(SharingGroups, NamePairsThatBreakTransitivity) {
  EXPECT_THAT(sharing_groups(4, {{0, 1}, {1, 2}}).missing_pairs, ElementsAre(Pair(0, 2)));
}

TEST(SharingGroups, OfNothing) {
  EXPECT_THAT(sharing_groups(0, {}).groups, IsEmpty());
  EXPECT_THAT(sharing_groups(2, {}).groups, ElementsAre(ElementsAre(0), ElementsAre(1)));
}

Topology discover_scalar(const std::string& machine) {
  const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine(machine)), 3);
  DiscoverOptions options;
  options.elements = {"sl1d"};
  options.attributes = {"shared_between"};
  options.budget_seconds = 600;
  return discover(*device, options);
}

// In physical ids, which have gaps. CUs that share with no other form groups of one.
TEST(SharedBetween, IsTheMachineFilesMap) {
  for (const char* name : {"mi100", "mi210"}) {
    const sim::MachineSpec spec = sim::parse_machine(*sim::builtin_machine(name));
    UnitGroups truth;
    for (const auto& group : spec.sm_groups) {
      std::vector<std::uint32_t>& ids = truth.groups.emplace_back();
      for (const std::uint32_t sm : group) ids.push_back(spec.info.physical_sm_ids->at(sm));
    }
    const Topology topology = discover_scalar(name);
    const Attribute& found = *topology.find_attribute("sl1d", "shared_between");
    ASSERT_TRUE(found.available()) << found.detail;
    EXPECT_EQ(std::get<UnitGroups>(found.value), truth);
    EXPECT_THAT(found.flags, IsEmpty());
  }
}

TEST(SharedBetween, CountsThePapersCaches) {
  const Topology mi210 = discover_scalar("mi210");
  const Attribute& found = *mi210.find_attribute("sl1d", "shared_between");
  EXPECT_EQ(*found.find_detail("instances"), Value(std::int64_t{56}));
  EXPECT_EQ(*found.find_detail("instances_of_1_sms"), Value(std::int64_t{8}));
  EXPECT_EQ(*found.find_detail("instances_of_2_sms"), Value(std::int64_t{48}));
}

// ---- programs whose actors name SMs ----

ChaseProgram two_sms() {
  return {.arrays = {{.space = Space::kScalar, .bytes = 1024, .stride_bytes = 64}},
          .actors = {{.sm = 3}, {.warp = 2, .lane = 1, .sm = 7}},
          .steps = {{.loads = 16}, {.actor = 1, .loads = 16}},
          .exclusive = true};
}

TEST(ActorsOnSms, HaveATextForm) {
  const Program program = two_sms();
  EXPECT_THAT(to_text(program), ::testing::HasSubstr(" actor=0:0:3 actor=2:1:7"));
  EXPECT_EQ(parse_program(to_text(program)), program);
}

TEST(ActorsOnSms, AreCheckedByValidate) {
  EXPECT_NO_THROW(validate(two_sms()));
  ChaseProgram half = two_sms();
  half.actors[1].sm.reset();
  EXPECT_THROW(validate(half), UsageError);
  ChaseProgram sociable = two_sms();
  sociable.exclusive = false;
  EXPECT_THROW(validate(sociable), UsageError);
  ChaseProgram twice = two_sms();
  twice.sm = 3;
  EXPECT_THROW(validate(twice), UsageError);
}

TEST(ActorsOnSms, MustBeThere) {
  const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("mi210")), 3);
  ChaseProgram program = two_sms();
  program.actors[1].sm = 104;
  const Program one = program;
  EXPECT_THROW(static_cast<void>(device->run({&one, 1})), NotSupportedError);
}

}  // namespace
}  // namespace gputopo
