// The HIP device on a fake runtime whose GPU is a simulated machine, and the data that the kernel driver publishes.
#include "device/hip/hip_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "device/driver/sysfs.h"
#include "device/hip/gfx_target.h"
#include "device/hip/kfd_topology.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "support/command.h"
#include "support/fake_hip.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- sysfs ----

TEST(KfdTopology, NamesTheInstructionSet) {
  EXPECT_EQ(hip::gfx_name_of(90006), "gfx906");
  EXPECT_EQ(hip::gfx_name_of(90010), "gfx90a");
  EXPECT_EQ(hip::gfx_name_of(90402), "gfx942");
  EXPECT_EQ(hip::gfx_name_of(110000), "gfx1100");
}

TEST(KfdTopology, ReadsTheGpuAtAnAddress) {
  const auto node = hip::read_kfd_node(test::FakeHip::sysfs_fixture("mi300x"), "0000:c1:00.0");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->gfx_name, "gfx942");
  EXPECT_EQ(node->simds_per_cu, 4u);
  EXPECT_EQ(node->xcc_count, 8u);
  EXPECT_EQ(node->cus_physical, 320u);
  EXPECT_EQ(node->cache_bytes(2), 4u << 20);
  EXPECT_EQ(node->cache_bytes(3), 256u << 20);
  EXPECT_EQ(node->clock_max_mhz, 2100u);
  EXPECT_EQ(node->memory_clock_max_mhz, 1300u);
  EXPECT_EQ(node->memory_bus_bits, 8192u);
  EXPECT_FALSE(hip::read_kfd_node(test::FakeHip::sysfs_fixture("mi210"), "0000:c1:00.0")->cache_bytes(3));
}

TEST(KfdTopology, TellsWhatJoinsTwoGpus) {
  const test::TemporaryFolder folder;
  const std::filesystem::path nodes = folder.path() / "class/kfd/kfd/topology/nodes";
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((nodes / path).parent_path());
    write_file((nodes / path).string(), text);
  };
  write("0/properties", "gfx_target_version 0\n");  // the host
  write("1/properties", "gfx_target_version 90010\ndomain 0\nlocation_id 49408\n");
  write("2/properties", "gfx_target_version 90010\ndomain 0\nlocation_id 49664\n");
  write("1/io_links/0/properties", "type 2\nnode_from 1\nnode_to 0\n");
  write("3/properties", "gfx_target_version 90010\ndomain 0\nlocation_id 49920\n");
  write("1/io_links/1/properties", "type 11\nnode_from 1\nnode_to 2\nmin_bandwidth 50000\nmax_bandwidth 200000\n");
  for (const auto& [from, to] :
       {std::pair("0000:c1:00.0", "0000:c2:00.0"), std::pair("0000:c2:00.0", "0000:c1:00.0")}) {
    const hip::KfdLink link = hip::read_kfd_link(folder.path(), from, to);
    EXPECT_EQ(link.kind, "xgmi");
    EXPECT_EQ(link.lanes, 4u);
    EXPECT_EQ(link.lane_bytes_per_second, 50e9);
  }
  const hip::KfdLink none = hip::read_kfd_link(folder.path(), "0000:c1:00.0", "0000:c3:00.0");
  EXPECT_EQ(none.kind, "pcie");
  EXPECT_EQ(none.lanes, std::nullopt);
  EXPECT_EQ(hip::read_kfd_link(folder.path(), "0000:c1:00.0", "0000:99:00.0").kind, "");
  for (const char* unknown : {"min_bandwidth 0\nmax_bandwidth 0\n", "max_bandwidth 18446744073709551615\n",
                              "min_bandwidth 1\nmax_bandwidth 200000\n"}) {
    write("1/io_links/1/properties", std::string("type 11\nnode_from 1\nnode_to 2\n") + unknown);
    EXPECT_EQ(hip::read_kfd_link(folder.path(), "0000:c1:00.0", "0000:c2:00.0").lanes, std::nullopt) << unknown;
  }
}

TEST(KfdTopology, KnowsNothingOfOtherAddresses) {
  const std::string root = test::FakeHip::sysfs_fixture("mi210");
  EXPECT_FALSE(hip::read_kfd_node(root, "0000:c2:00.0"));
  EXPECT_FALSE(hip::read_kfd_node(root, ""));
  EXPECT_FALSE(hip::read_kfd_node("/nonexistent", "0000:c1:00.0"));
}

TEST(KfdTopology, ReadsThePartitionModes) {
  const std::string root = test::FakeHip::sysfs_fixture("mi300x");
  EXPECT_EQ(read_pci_attribute(root, "0000:c1:00.0", "current_compute_partition"), "SPX");
  EXPECT_FALSE(read_pci_attribute(test::FakeHip::sysfs_fixture("mi210"), "0000:c1:00.0", "current_compute_partition"));
}

// PCI does not know the functions of the other partitions.
TEST(KfdTopology, ReadsTheModesOfAPartitionFromTheDeviceItIsOf) {
  const std::string root = test::FakeHip::sysfs_fixture("mi300x-cpx");
  for (int function = 0; function < 8; ++function) {
    const std::string address = "0000:c1:00." + std::to_string(function);
    EXPECT_EQ(read_pci_attribute(root, address, "current_compute_partition"), "CPX") << address;
    EXPECT_EQ(read_pci_attribute(root, address, "current_memory_partition"), "NPS4") << address;
    EXPECT_EQ(hip::read_kfd_node(root, address)->simd_count, 38u * 4) << address;
  }
  EXPECT_FALSE(read_pci_attribute(root, "0000:c2:00.1", "current_compute_partition"));
  EXPECT_FALSE(read_pci_attribute(root, "", "current_compute_partition"));
}

// ---- the device ----

class HipDeviceTest : public ::testing::Test {
 protected:
  void open(const std::string& machine, const std::string& behaviour = {},
            const std::string& library = GPUTOPO_FAKE_HIP_LIBRARY) {
    device_.reset();
    fake_.reset();
    fake_ = std::make_unique<test::FakeHip>(behaviour, machine, std::string(), library);
    spec_ = sim::parse_machine(*sim::builtin_machine(machine));
    device_ = open_hip_device(0);
  }
  ChaseResult run(const ChaseProgram& program) {
    const Program one = program;
    return std::get<ChaseResult>(device_->run({&one, 1}).front().data);
  }

  static ChaseProgram program_on(std::uint32_t sm) {
    return {.arrays = {{.bytes = 1024, .stride_bytes = 64}},
            .actors = {{}},
            .steps = {{.loads = 16}},
            .exclusive = true,
            .sm = sm};
  }
  InstructionResult run_code_on(std::uint32_t first, std::uint32_t second) {
    const Program code = InstructionProgram{.actors = {{.sm = first}, {.sm = second}},
                                            .steps = {{.count = 64}, {.actor = 1, .count = 64}}};
    return std::get<InstructionResult>(device_->run({&code, 1}).front().data);
  }

  // Finds which CUs share a scalar cache, and expects that all instances of the machine were checked.
  Attribute sharing_of_scalar_caches() {
    DiscoverOptions options;
    options.elements = {"sl1d"};
    options.attributes = {"shared_between"};
    options.budget_seconds = 600;
    const Topology map = discover(*device_, options);
    const Attribute& shared = *map.find_attribute("sl1d", "shared_between");
    EXPECT_TRUE(shared.available()) << shared.detail;
    if (shared.available()) {
      EXPECT_EQ(*shared.find_detail("instances"), Value(static_cast<std::int64_t>(spec_.sm_groups.size())));
    }
    return shared;
  }

  std::unique_ptr<test::FakeHip> fake_;
  sim::MachineSpec spec_;
  std::unique_ptr<Device> device_;
};

TEST_F(HipDeviceTest, SaysWhatTheRuntimeAndTheKernelDriverSay) {
  open("mi300x");
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.backend, "hip");
  EXPECT_EQ(info.vendor, "AMD");
  EXPECT_EQ(info.architecture, "CDNA3 (gfx942)");
  EXPECT_EQ(info.pci_address, "0000:c1:00.0");
  EXPECT_EQ(info.driver_version, "HIP 6.4 (amdgpu 6.8.5)");
  EXPECT_EQ(info.sm_count, 304u);
  EXPECT_EQ(info.warp_size, 64u);
  EXPECT_EQ(info.cores_per_sm, 64u);
  EXPECT_EQ(info.xcd_count, 8u);
  EXPECT_EQ(info.sms_physical, 320u);
  EXPECT_EQ(info.compute_partition_mode, "SPX");
  EXPECT_EQ(info.memory_partition_mode, "NPS1");
  EXPECT_EQ(info.instance, GpuInstance{});
  EXPECT_EQ(info.l2_bytes, 4u << 20);
  EXPECT_EQ(info.l3_bytes, 256u << 20);
  EXPECT_EQ(info.max_blocks_per_sm, 32u);
  // The runtime says 304 times as much.
  EXPECT_EQ(info.shared_bytes_per_sm, 64u << 10);
  EXPECT_EQ(info.physical_sm_ids, spec_.info.physical_sm_ids);
  EXPECT_EQ(info.memory_clock_max_mhz, 3200);
  EXPECT_EQ(info.pci_link, (PciLink{.generation = 5, .width = 16, .generation_max = 5, .width_max = 16}));
  EXPECT_EQ(info.power_limit_watts, 750);
}

TEST_F(HipDeviceTest, APartitionIsADeviceOfItsOwn) {
  const test::FakeHip fake("partition=5", "mi300x", "mi300x-cpx");
  const DeviceInfo info = open_hip_device(0)->info();
  EXPECT_EQ(info.pci_address, "0000:c1:00.5");
  EXPECT_EQ(info.compute_partition_mode, "CPX");
  EXPECT_EQ(info.memory_partition_mode, "NPS4");
  EXPECT_EQ(info.instance, (GpuInstance{.profile = "CPX/NPS4",
                                        .compute_slices = 1,
                                        .compute_slices_of_gpu = 8,
                                        .memory_slices = 1,
                                        .memory_slices_of_gpu = 4}));
  EXPECT_EQ(info.sm_count, 38u);
  EXPECT_EQ(info.sms_physical, 40u);
  EXPECT_EQ(info.xcd_count, 1u);
  EXPECT_EQ(info.physical_sm_ids->size(), 38u);
}

TEST_F(HipDeviceTest, AsksTheKernelDriverForWhatTheRuntimeDoesNotTell) {
  fake_ = std::make_unique<test::FakeHip>("no_clocks", "mi300x");
  const DeviceInfo info = open_hip_device(0)->info();
  EXPECT_EQ(info.sm_clock_max_mhz, 2100);
  EXPECT_EQ(info.memory_clock_max_mhz, 2600);
  EXPECT_EQ(info.memory_bus_bits, 8192u);
}

// ROCm before 5.5 does not tell the clock rate. The fake's wall clock then follows the host's, at 100 MHz.
TEST_F(HipDeviceTest, MeasuresAWallClockWhoseRateTheRuntimeDoesNotTell) {
  try {
    open("mi210", "no_wall_clock");
  } catch (const Error& error) {
    if (std::string(error.what()).find("the host is too busy") == std::string::npos) throw;
    GTEST_SKIP() << error.what();  // this host is too busy as well, and the device reported it as it should
  }
  EXPECT_THAT(device_->warnings(),
              ElementsAre(::testing::MatchesRegex(
                  "HIP 6.4 does not report the frequency .* the frequency is (100.[0-4]|99.[6-9])[0-9] MHz .*")));
  const Program program = AccessProgram{.bytes = 1024, .warps = 1, .accesses = 16};
  EXPECT_NEAR(device_->run({&program, 1}).front().sm_clock_mhz, 1700, 0.005 * 1700);
}

// Each of the four SIMDs has 512 registers per lane: six wavefronts of 80, and each block has one wavefront per SIMD.
TEST_F(HipDeviceTest, BlocksHaveTheRegistersThatTheyAreGiven) {
  open("mi300x");
  OccupancyProgram program{.threads = 256, .registers = 80, .blocks_per_sm = 33, .stay_cycles = 100'000};
  const auto result_of = [&] {
    const Program one = program;
    return std::get<OccupancyResult>(device_->run({&one, 1}).front().data);
  };
  EXPECT_EQ(result_of().registers, 80u);
  EXPECT_THAT(result_of().resident, Each(6u));
  program.registers = 81;
  EXPECT_THAT(result_of().resident, Each(5u));
  program.registers = 20;
  EXPECT_THAT(test::message_of<NotSupportedError>("few registers", result_of), HasSubstr("at least 48 registers"));
}

// The LDS of CDNA4 holds 160 KiB.
TEST_F(HipDeviceTest, UsesAnLdsOfAnySize) {
  open("mi300x", "lds=163840");
  EXPECT_EQ(device_->info().shared_bytes_per_block, 160u << 10);
  EXPECT_EQ(device_->info().shared_bytes_per_sm, 160u << 10);
  const auto walk = [&](std::uint64_t bytes) {
    return run({.arrays = {{.space = Space::kShared, .bytes = bytes, .stride_bytes = 64}},
                .actors = {{}},
                .steps = {{.loads = bytes / 64}}});
  };
  const double latency = spec_.spaces.at(Space::kShared).memory_latency_cycles;
  EXPECT_EQ(walk(150 << 10).steps[0].total_cycles, static_cast<std::uint64_t>((150 << 4) * latency));
  EXPECT_THROW(walk(160 << 10), NotSupportedError);  // the block's own words also take space
  const Program stream = StreamProgram{.space = Space::kShared, .bytes = 160 << 10, .per_block = true, .repeats = 100};
  EXPECT_EQ(std::get<StreamResult>(device_->run({&stream, 1}).front().data).bytes_moved, (100ull * 160 << 10) * 304);
}

// Each AMD machine, with the data that its kernel driver would publish.
class HipDeviceOfEachMachine : public HipDeviceTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { open(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Machines, HipDeviceOfEachMachine, ::testing::Values("mi100", "mi210", "mi250x", "mi300x"),
                         [](const auto& machine) { return std::string(machine.param); });

TEST_P(HipDeviceOfEachMachine, IsTheMachine) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.name, spec_.info.name);
  EXPECT_EQ(info.sm_count, spec_.info.sm_count);
  EXPECT_EQ(info.xcd_count, spec_.info.xcd_count);
  EXPECT_EQ(info.physical_sm_ids, spec_.info.physical_sm_ids);
  EXPECT_EQ(info.simds_per_sm, 4u);
  EXPECT_EQ(info.max_blocks_per_sm, spec_.info.max_blocks_per_sm);
  EXPECT_EQ(info.l2_bytes, spec_.info.l2_bytes);
  EXPECT_EQ(info.l3_bytes, spec_.info.l3_bytes);
  EXPECT_EQ(info.shared_bytes_per_sm, spec_.info.shared_bytes_per_block);
  EXPECT_THAT(device_->warnings(), ::testing::IsEmpty());
}

TEST_P(HipDeviceOfEachMachine, ChasesInEverySpaceAtTheLatenciesOfTheMachine) {
  for (const Space space : hip::kHipSpaces) {
    ChaseProgram program{
        .arrays = {{.space = space, .bytes = 2048, .stride_bytes = 64, .second_order = Order::kShuffled}},
        .actors = {{.warp = 1, .lane = 3}},
        .steps = {{.kind = StepKind::kTouch},
                  {.loads = 64},
                  {.loads = 320},
                  {.kind = StepKind::kTimed, .loads = 40, .chain = 1, .first = 5},
                  {.kind = StepKind::kCounted, .loads = 70}},
        .timed_cap = 16};
    const ChaseResult result = run(program);
    const sim::SpaceSpec& truth = spec_.spaces.at(space);
    const double latency = truth.path.empty() ? truth.memory_latency_cycles : truth.path.front().latency_cycles;
    EXPECT_EQ(result.steps[2].total_cycles, static_cast<std::uint64_t>(320 * latency)) << to_string(space);
    EXPECT_EQ(result.steps[3].latencies.size(), 16u);
    EXPECT_THAT(result.steps[3].latencies, Each(std::llround(latency + spec_.timer_cycles))) << to_string(space);
    EXPECT_EQ(std::accumulate(result.steps[4].histogram.begin(), result.steps[4].histogram.end(), 0u), 70u);
    EXPECT_TRUE(result.steps[4].latencies.empty());
  }
}

TEST_P(HipDeviceOfEachMachine, RunsOnTheSmThatIsNamed) {
  EXPECT_EQ(run(program_on(77)).sm, 77u);
  EXPECT_THROW(run(program_on(spec_.info.sm_count)), NotSupportedError);
}

// Two CUs evict each other's lines if they share a scalar cache, and not otherwise.
TEST_F(HipDeviceTest, ActorsOnTwoSmsTakeTurns) {
  open("mi210");
  const auto survivors = [&](std::uint32_t first, std::uint32_t second) {
    const ChaseArray victim{.space = Space::kScalar, .bytes = 8192, .stride_bytes = 64};
    const ChaseArray evictor{.space = Space::kScalar, .bytes = 65536, .stride_bytes = 64};
    const ChaseResult result = run(
        {.arrays = {victim, evictor},
         .actors = {{.sm = first}, {.sm = second}},
         .steps = {{.loads = 128}, {.actor = 1, .array = 1, .loads = 1024}, {.kind = StepKind::kCounted, .loads = 128}},
         .exclusive = true});
    const double slowest_hit = spec_.spaces.at(Space::kScalar).path[0].latency_cycles + spec_.timer_cycles + 1;
    const auto bin = static_cast<std::size_t>(slowest_hit) / kHistogramBinCycles + 1;
    return std::accumulate(result.steps[2].histogram.begin(),
                           result.steps[2].histogram.begin() +
                               static_cast<std::ptrdiff_t>(std::min(bin, result.steps[2].histogram.size())),
                           0u);
  };
  std::vector<std::uint32_t> pair;
  for (const auto& group : spec_.sm_groups) {
    if (group.size() == 2) pair = group;
  }
  const std::uint32_t stranger = pair[0] == 0 ? 50 : 0;
  EXPECT_EQ(survivors(pair[0], pair[1]), 0u);
  EXPECT_EQ(survivors(pair[0], stranger), 128u);
}

TEST_F(HipDeviceTest, RefusesWhatItsKernelsDoNotDo) {
  open("mi210");
  for (const Space space : {Space::kTexture, Space::kConstant, Space::kReadOnly}) {
    const ChaseProgram program{
        .arrays = {{.space = space, .bytes = 1024, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 16}}};
    EXPECT_THROW(run(program), NotSupportedError) << to_string(space);
  }
  const ChaseProgram local{.arrays = {{.space = Space::kLocal, .bytes = 1024, .stride_bytes = 128}},
                           .actors = {{}},
                           .steps = {{.loads = 8}}};
  EXPECT_THAT(test::message_of<NotSupportedError>("local", [&] { static_cast<void>(run(local)); }),
              HasSubstr("scratch memory of AMD GPUs cannot be measured yet"));
  const ChaseProgram far_warp{
      .arrays = {{.bytes = 1024, .stride_bytes = 64}}, .actors = {{.warp = 16}}, .steps = {{.loads = 16}}};
  EXPECT_THROW(run(far_warp), NotSupportedError);
  const Program constants =
      InstructionProgram{.actors = {{}}, .steps = {{.kind = CodeStepKind::kConstants, .count = 1024}}};
  EXPECT_THROW(static_cast<void>(device_->run({&constants, 1})), NotSupportedError);
  // A block of 1024 threads has 16 wavefronts.
  const Program crowd = AccessProgram{.bytes = 1024, .warps = 17, .accesses = 16};
  EXPECT_THROW(static_cast<void>(device_->run({&crowd, 1})), NotSupportedError);
}

TEST_P(HipDeviceOfEachMachine, StreamsMoveWhatIsAskedFor) {
  for (const Space space : hip::kHipSpaces) {
    const StreamProgram stream{
        .space = space, .bytes = 8192, .per_block = true, .threads_per_block = 1024, .repeats = 2000};
    const Program program = stream;
    const auto result = std::get<StreamResult>(device_->run({&program, 1}).front().data);
    EXPECT_EQ(result.bytes_moved, 8192ull * 2000 * spec_.info.sm_count) << to_string(space);
    // The fake's memory moves 1 TB/s.
    EXPECT_NEAR(static_cast<double>(result.bytes_moved) / result.seconds, 1e12, 0.02e12) << to_string(space);
  }
}

TEST_F(HipDeviceTest, AClockThatWasHeldDownIsADisturbance) {
  open("mi210");
  const std::vector<Program> programs = {
      ChaseProgram{.arrays = {{.bytes = 8192, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 10'000}}},
      StreamProgram{.bytes = 1ull << 30, .repeats = 2},
      InstructionProgram{.actors = {{}}, .steps = {{.count = 24'000, .passes = 30}}},
      AccessProgram{.bytes = 1024, .lane_stride_bytes = 4, .hop_bytes = 256, .accesses = 16'000}};
  double started = 0;
  for (const ProgramResult& result : device_->run(programs)) {
    EXPECT_GT(result.started_seconds, started) << result.data.index();
    started = result.started_seconds;
    EXPECT_TRUE(result.undisturbed) << result.data.index();
  }
  const test::FakeHip slow("slow");
  for (const ProgramResult& result : device_->run(programs)) {
    EXPECT_NEAR(result.sm_clock_mhz, 850, 1) << result.data.index();
    EXPECT_FALSE(result.undisturbed) << result.data.index();
  }
}

TEST_F(HipDeviceTest, NoClustersBeforeAnythingRuns) {
  open("mi210");
  const std::vector<Program> programs = {program_on(3), ClusterProgram{.bytes = 4096, .accesses = 16}};
  const std::uint32_t blocks = fake_->counts().blocks;
  try {
    static_cast<void>(device_->run(programs));
    FAIL();
  } catch (const NotSupportedError& error) {
    EXPECT_STREQ(error.what(), "AMD GPUs have no clusters");
  }
  EXPECT_EQ(fake_->counts().blocks, blocks);
  EXPECT_EQ(fake_->counts().streams_made, 0u) << "nor was a CU looked for";
  EXPECT_EQ(device_->native_code(programs[1]), "");
}

TEST_F(HipDeviceTest, AccessesTakeWhatTheMachineSays) {
  open("mi300x");
  const auto cycles = [&](const AccessProgram& access) {
    const Program program = access;
    return std::get<AccessResult>(device_->run({&program, 1}).front().data).mean_cycles;
  };
  const double lds = spec_.spaces.at(Space::kShared).memory_latency_cycles;
  AccessProgram loads{.bytes = 16384, .lane_stride_bytes = 4, .hop_bytes = 256, .warm_accesses = 16, .accesses = 64};
  EXPECT_NEAR(cycles(loads), lds, 0.1);
  loads.lane_stride_bytes = 8;  // a bank has two words for each half of the wavefront
  EXPECT_NEAR(cycles(loads), lds + 2 * spec_.banks->conflict_cycles, 0.1);
  loads.space = Space::kGlobalBypassL1;
  EXPECT_NEAR(cycles(loads), spec_.spaces.at(Space::kGlobalBypassL1).path[0].latency_cycles, 0.1);
  loads.every_sm = true;
  loads.warps = 16;
  EXPECT_GT(cycles(loads), 100);
  const AccessProgram atomics{.op = AccessOp::kAtomicAdd, .space = Space::kGlobalBypassL1, .bytes = 4, .accesses = 64};
  EXPECT_NEAR(cycles(atomics), spec_.atomics.at("l2").one_address_latency_cycles, 0.1);
}

TEST_F(HipDeviceTest, CodeRunsWhereTheProgramSays) {
  open("mi210");
  std::vector<std::uint32_t> pair;
  for (const auto& group : spec_.sm_groups) {
    if (group.size() == 2) pair = group;
  }
  const auto last_pass = [&](std::uint32_t evictor) {
    const Program program = InstructionProgram{
        .actors = {{.sm = pair[0]}, {.sm = evictor, .warp = 2}},
        .steps = {{.count = 3200, .passes = 3}, {.actor = 1, .first = 4096, .count = 8192}, {.count = 3200}}};
    const auto result = std::get<InstructionResult>(device_->run({&program, 1}).front().data);
    EXPECT_EQ(result.sms, (std::vector<std::uint32_t>{pair[0], evictor}));
    EXPECT_EQ(result.pass_cycles[0].size(), 3u);
    EXPECT_EQ(result.block_bytes, 256);
    return static_cast<double>(result.pass_cycles[2][0]);
  };
  // Two CUs share an instruction cache if they share a scalar cache.
  const double fits = 3200 * spec_.code->path[0].cycles_per_instruction;
  EXPECT_GT(last_pass(pair[1]), 2 * fits);
  EXPECT_NEAR(last_pass(pair[0] == 0 ? 50 : 0), fits, 0.05 * fits);
}

TEST_F(HipDeviceTest, DiscoveryFindsWhatACuHoldsAndWhatLaunchesTake) {
  open("mi210");
  DiscoverOptions options;
  options.elements = {"registers.resident_warps", "registers.resident_blocks", "registers.shared_allocation_unit",
                      "clocks"};
  options.full = true;
  const Topology found = discover(*device_, options);
  const auto number = [&](const char* element, const char* attribute) {
    return found.find_attribute(element, attribute)->number().value_or(-1);
  };
  EXPECT_EQ(number("registers", "resident_warps"), 32);
  EXPECT_EQ(number("registers", "resident_blocks"), 32);
  EXPECT_EQ(number("registers", "shared_allocation_unit"), 512);
  EXPECT_EQ(number("clocks", "timer_resolution"), 10) << "the wall clock of 100 MHz";
  EXPECT_GT(number("clocks", "launch_latency"), 0);
  EXPECT_GT(number("clocks", "graph_launch_latency"), 0);
}

TEST_F(HipDeviceTest, OldRuntimesHaveNoGraphs) {
  HipDeviceTest::open("mi210", "", GPUTOPO_FAKE_HIP_MINIMAL);
  const Program program = LaunchProgram{.way = LaunchMethod::kGraph};
  EXPECT_THAT(test::message_of<NotSupportedError>("run",
                                                  [&] {
                                                    static_cast<void>(device_->run({&program, 1}));
                                                  }),
              HasSubstr("update it to ROCm"));
}

TEST_P(HipDeviceOfEachMachine, DiscoveryFindsItsCaches) {
  DiscoverOptions options;
  options.elements = {"vl1", "lds"};
  // The fake takes minutes for probes with many launches on a machine with an L3; tests/truth simulates these.
  const bool has_l3 = spec_.info.l3_bytes.has_value();
  if (!has_l3) options.elements.insert(options.elements.end(), {"sl1d", "l2"});
  options.attributes = {"size", "line_size", "latency", "amount", "shared_between"};
  options.budget_seconds = 600;
  const Topology found = discover(*device_, options);
  const auto number = [&](const std::string& element, const char* attribute) {
    const Attribute* value = found.find_attribute(element, attribute);
    EXPECT_TRUE(value != nullptr && value->available()) << element << "." << attribute;
    return value != nullptr ? value->number().value_or(0) : 0;
  };
  const auto expect = [&](const std::string& element, Space space, std::size_t level) {
    const sim::PathStop& stop = spec_.spaces.at(space).path.at(level);
    const auto& cache = *std::find_if(spec_.caches.begin(), spec_.caches.end(),
                                      [&](const sim::CacheSpec& candidate) { return candidate.id == stop.cache; });
    EXPECT_EQ(number(element, "size"), static_cast<double>(cache.size_bytes)) << element;
    EXPECT_EQ(number(element, "line_size"), cache.line_bytes) << element;
    EXPECT_NEAR(number(element, "latency"), stop.latency_cycles, 0.02 * stop.latency_cycles) << element;
  };
  expect("vl1", Space::kGlobal, 0);
  EXPECT_NEAR(number("lds", "latency"), spec_.spaces.at(Space::kShared).memory_latency_cycles, 0.5);
  if (!has_l3) {
    expect("sl1d", Space::kScalar, 0);
    expect("l2", Space::kGlobalBypassL1, 0);
    const Attribute* shared = found.find_attribute("sl1d", "shared_between");
    ASSERT_TRUE(shared != nullptr && shared->available());
    EXPECT_EQ(*shared->find_detail("instances"), Value(static_cast<std::int64_t>(spec_.sm_groups.size())));
  }
}

// ---- placement ----

// A dispatcher that deals blocks to shader engines with unequal numbers of CUs, as on MI250X and MI300X.
class HipDealtBlocks : public HipDeviceTest {
 protected:
  void open(const std::string& machine) { HipDeviceTest::open(machine, "dealt"); }
};

TEST_F(HipDealtBlocks, EveryCuAnswersTheRollCall) {
  for (const char* machine : {"mi250x", "mi300x"}) {
    open(machine);
    EXPECT_EQ(device_->info().physical_sm_ids, spec_.info.physical_sm_ids) << machine;
  }
}

TEST_F(HipDealtBlocks, EveryCuCanBeNamed) {
  for (const char* library : {GPUTOPO_FAKE_HIP_LIBRARY, GPUTOPO_FAKE_HIP_MINIMAL}) {
    HipDeviceTest::open("mi250x", "dealt", library);
    for (std::uint32_t sm = 0; sm < 110; ++sm) {
      EXPECT_EQ(run(program_on(sm)).sm, sm);
      const std::uint32_t other = (sm + 13) % 110;
      EXPECT_THAT(run_code_on(sm, other).sms, ElementsAre(sm, other));
    }
  }
}

TEST_F(HipDealtBlocks, AccessesRunOnEveryCu) {
  for (const char* machine : {"mi250x", "mi300x"}) {
    open(machine);
    const Program program = AccessProgram{.space = Space::kGlobalBypassL1,
                                          .bytes = 1 << 20,
                                          .lane_stride_bytes = 8,
                                          .hop_bytes = 512,
                                          .warps = 16,
                                          .every_sm = true,
                                          .accesses = 16};
    EXPECT_EQ(std::get<AccessResult>(device_->run({&program, 1}).front().data).blocks, spec_.info.sm_count) << machine;
  }
}

TEST_F(HipDealtBlocks, WhatSharesAScalarCacheIsFound) {
  open("mi250x");
  EXPECT_THAT(sharing_of_scalar_caches().flags, ::testing::IsEmpty());
}

// ---- masks of CUs ----

using HipCuMasks = HipDeviceTest;
constexpr std::uint32_t kFewBlocks = 8;

TEST_F(HipCuMasks, ReachNamedCusWithFewBlocks) {
  for (const char* behaviour : {"", "dealt"}) {
    for (const char* machine : {"mi100", "mi210", "mi250x"}) {
      open(machine, behaviour);
      for (std::uint32_t sm = 0; sm < spec_.info.sm_count; sm += 7) {
        EXPECT_EQ(run(program_on(sm)).sm, sm);
        EXPECT_LE(fake_->counts().blocks, kFewBlocks);
        const std::uint32_t other = (sm + 13) % spec_.info.sm_count;
        EXPECT_THAT(run_code_on(sm, other).sms, ElementsAre(sm, other));
        EXPECT_LE(fake_->counts().blocks, kFewBlocks);
      }
      EXPECT_LE(fake_->counts().most_streams, 5u) << "queues that are not used are given back";
    }
  }
}

TEST_F(HipCuMasks, AreLearnedWhenACuIsNamed) {
  open("mi210");
  static_cast<void>(run({.arrays = {{.bytes = 1024, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 16}}}));
  EXPECT_EQ(fake_->counts().streams_made, 0u);
  static_cast<void>(run(program_on(5)));
  // A mask for each binary digit of 104, and one for the CU.
  EXPECT_EQ(fake_->counts().streams_made, 7u + 1u);
  static_cast<void>(run(program_on(5)));
  EXPECT_EQ(fake_->counts().streams_made, 7u + 1u);
}

TEST_F(HipCuMasks, WithoutThemLaunchesReachEveryCu) {
  open("mi210", "", GPUTOPO_FAKE_HIP_MINIMAL);
  EXPECT_EQ(run(program_on(77)).sm, 77u);
  EXPECT_GE(fake_->counts().blocks, 104u);
}

TEST_F(HipCuMasks, RefusedOrIgnoredTheyAreLeft) {
  for (const char* behaviour : {"mask_refused", "mask_ignored"}) {
    open("mi210", behaviour);
    EXPECT_EQ(run(program_on(77)).sm, 77u) << behaviour;
    EXPECT_THAT(run_code_on(3, 99).sms, ElementsAre(3u, 99u)) << behaviour;
    EXPECT_GE(fake_->counts().blocks, 104u) << behaviour;
    EXPECT_LE(fake_->counts().streams_made, 1u) << "what did not work is not tried again";
  }
}

// A block that finds itself outside its mask does not measure, and the program runs again.
TEST_F(HipCuMasks, ThatStopWorkingCostNoResult) {
  open("mi210", "mask_wrong=8");
  EXPECT_EQ(run(program_on(77)).sm, 77u);
  EXPECT_EQ(fake_->counts().streams_made, 8u);
  EXPECT_GE(fake_->counts().blocks, 104u);
  EXPECT_THAT(run_code_on(3, 99).sms, ElementsAre(3u, 99u));
  EXPECT_EQ(fake_->counts().streams_made, 8u);
  // The mask fails while the masks are being learned.
  open("mi210", "mask_wrong=3");
  EXPECT_EQ(run(program_on(77)).sm, 77u);
}

// A queue that leaves one of several dies without a CU may hang.
TEST_F(HipCuMasks, AreNotUsedOnSeveralDies) {
  open("mi300x");
  EXPECT_EQ(run(program_on(77)).sm, 77u);
  EXPECT_EQ(fake_->counts().streams_made, 0u);
  device_.reset();
  fake_.reset();
  fake_ = std::make_unique<test::FakeHip>("partition=5", "mi300x", "mi300x-cpx");
  device_ = open_hip_device(0);
  EXPECT_EQ(run(program_on(33)).sm, 33u);
  EXPECT_LE(fake_->counts().blocks, kFewBlocks);
}

TEST_F(HipCuMasks, FindTheSameSharingAsWithoutThem) {
  std::vector<Attribute> found;
  for (const char* library : {GPUTOPO_FAKE_HIP_LIBRARY, GPUTOPO_FAKE_HIP_MINIMAL}) {
    open("mi210", "", library);
    found.push_back(sharing_of_scalar_caches());
    // The start time is not part of the result.
    std::erase_if(found.back().conditions, [](const auto& entry) { return entry.first == "started_seconds"; });
    EXPECT_EQ(fake_->counts().masked_launches > 0, library == std::string(GPUTOPO_FAKE_HIP_LIBRARY));
  }
  EXPECT_EQ(found.front(), found.back());
}

// From the API to the report, over the fake GPU's memory: discovery finds the values of the machine file.
TEST_F(HipDeviceTest, DiscoveryFindsTheMachine) {
  open("mi210");
  DiscoverOptions options;
  options.elements = {"vl1", "sl1d", "lds", "l2", "icache_l1"};
  options.attributes = {"size",       "latency",       "line_size",     "fetch_granularity", "amount",        "banks",
                        "bank_width", "conflict_cost", "store_latency", "atomic_latency",    "loaded_latency"};
  options.budget_seconds = 600;
  const Topology found = discover(*device_, options);
  const auto number = [&](const char* element, const char* attribute) {
    const Attribute* value = found.find_attribute(element, attribute);
    EXPECT_TRUE(value->available()) << element << "." << attribute << ": " << value->detail;
    return value->number().value_or(0);
  };
  EXPECT_EQ(number("vl1", "size"), 16384);
  EXPECT_EQ(number("vl1", "line_size"), 64);
  EXPECT_NEAR(number("vl1", "latency"), 125, 0.5);
  EXPECT_EQ(number("vl1", "amount"), 1);
  EXPECT_EQ(number("sl1d", "size"), 16384);
  EXPECT_EQ(number("sl1d", "fetch_granularity"), 64);
  EXPECT_NEAR(number("sl1d", "latency"), 50, 0.5);
  EXPECT_EQ(number("l2", "line_size"), 128);
  EXPECT_NEAR(number("l2", "latency"), 310, 4);
  EXPECT_NEAR(number("lds", "latency"), 50, 0.5);
  EXPECT_EQ(number("lds", "banks"), 32);
  EXPECT_EQ(number("lds", "bank_width"), 4);
  EXPECT_NEAR(number("lds", "conflict_cost"), 1, 0.1);
  EXPECT_NEAR(number("lds", "store_latency"), 54, 0.5);
  EXPECT_NEAR(number("l2", "atomic_latency"), 310, 1);
  EXPECT_GT(number("lds", "loaded_latency"), 49);
  EXPECT_EQ(number("icache_l1", "size"), 32768);
  const Attribute shared = sharing_of_scalar_caches();
  ASSERT_TRUE(shared.available());
  EXPECT_EQ(*shared.find_detail("instances"), Value(std::int64_t{56}));
  EXPECT_THAT(shared.flags, ::testing::IsEmpty());
}

}  // namespace
}  // namespace gputopo
