// Links of NVIDIA GPUs on the fake driver, which runs the kernels and moves the bytes.
#include "device/cuda/cuda_links.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "gputopo/error.h"
#include "gputopo/file.h"
#include "support/command.h"
#include "support/fake_cuda.h"
#include "support/message_of.h"
#include "support/transfers.h"

namespace gputopo {
namespace {

using test::FakeCuda;
using test::kFirstGpu;
using test::kHostMemory;
using test::kSecondGpu;
using test::small_program;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::SizeIs;

TEST(CudaLinks, SayWhatTheNodeIsMadeOf) {
  const FakeCuda fake("gpus=3");
  setenv("GPUTOPO_LIBNVML", GPUTOPO_FAKE_NVML_LIBRARY, 1);
  setenv("GPUTOPO_FAKE_NVML", "nvlinks=4", 1);
  const std::unique_ptr<Links> links = cuda::open_cuda_links();
  unsetenv("GPUTOPO_FAKE_NVML");
  const NodeInfo& info = links->info();
  ASSERT_THAT(info.gpus, SizeIs(3));
  EXPECT_EQ(info.gpus[2].spec, "cuda:2");
  EXPECT_NE(info.gpus[0].id, info.gpus[1].id);
  EXPECT_FALSE(info.numa_nodes.empty());
  ASSERT_THAT(info.peers, SizeIs(6));
  const PeerLink* peer = info.peer(2, 0);
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(peer->is_reachable);
  EXPECT_EQ(peer->has_atomics, true);
  EXPECT_EQ(peer->kind, "nvswitch");
  EXPECT_EQ(peer->lanes, 4u);
  EXPECT_EQ(peer->lane_bytes_per_second, 25e9);
}

// On two GH200, the GPU memories are NUMA nodes, too.
TEST(CudaLinks, TakeNoMemoryOfAGpuForTheHosts) {
  const test::TemporaryFolder sysfs;
  for (int id = 0; id < 4; ++id) {
    const std::filesystem::path node = sysfs.file(fmt::format("devices/system/node/node{}", id));
    std::filesystem::create_directories(node);
    write_file((node / "meminfo").string(), fmt::format("Node {} MemTotal:       503316480 kB\n", id));
    write_file((node / "cpulist").string(), id == 0 ? "0-71\n" : id == 1 ? "72-143\n" : "\n");
  }
  const FakeCuda fake("gpus=2");
  setenv("GPUTOPO_SYSFS", sysfs.file("").c_str(), 1);
  setenv("GPUTOPO_FAKE_FIRST_NUMA_ID", "2", 1);
  const NodeInfo info = cuda::open_cuda_links()->info();
  unsetenv("GPUTOPO_FAKE_FIRST_NUMA_ID");
  unsetenv("GPUTOPO_SYSFS");
  ASSERT_THAT(info.numa_nodes, SizeIs(2));
  EXPECT_EQ(info.numa_nodes[1].cpus, "72-143");
  EXPECT_EQ(info.gpus[0].numa_node, 0u);
  EXPECT_EQ(info.gpus[1].numa_node, 1u);
}

// With two GPUs, the fake driver locks at most 96 MiB.
TEST(CudaLinks, WhatCannotBeLockedIsAskedForOnce) {
  const FakeCuda fake("gpus=2");
  const std::unique_ptr<Links> links = cuda::open_cuda_links();
  TransferProgram loads = small_program(TransferOp::kLoad, {{kHostMemory, kFirstGpu}});
  const auto refusal_of = [&](std::uint64_t mebibytes) {
    loads.bytes = mebibytes << 20;
    return test::message_of<DeviceMemoryError>("memory", [&] { (void)links->run(loads); });
  };
  const std::string refusal = refusal_of(256);
  EXPECT_THAT(refusal, HasSubstr("cuMemHostRegister"));
  loads.bytes = 1 << 20;
  EXPECT_THAT(links->run(loads).seconds, SizeIs(4));
  EXPECT_EQ(refusal_of(512), refusal) << "as it was";
  EXPECT_NE(refusal_of(128), refusal) << "less was not asked for yet";
  loads.bytes = 1 << 20;
  EXPECT_THAT(links->run(loads).seconds, SizeIs(4));
}

TEST(CudaLinks, AnswerEveryOperationBetweenEveryTwoPlaces) {
  const FakeCuda fake("gpus=2");
  const std::unique_ptr<Links> links = cuda::open_cuda_links();
  const Transfer down{kHostMemory, kSecondGpu};
  const Transfer up{kFirstGpu, kHostMemory};
  const Transfer across{kFirstGpu, kSecondGpu};
  for (const TransferProgram& program : test::programs_that_move_bytes()) {
    const std::vector<double> seconds = links->run(program).seconds;
    EXPECT_THAT(seconds, SizeIs(program.transfers.size())) << to_string(program.op);
    EXPECT_THAT(seconds, Each(AllOf(Gt(0), Lt(10)))) << to_string(program.op);
  }
  for (const Transfer& transfer : {down, across}) {
    for (const TransferOp op : {TransferOp::kLoad, TransferOp::kAtomic}) {
      // One chain on each of the four SMs of the fake GPU.
      EXPECT_THAT(links->run(small_program(op, {transfer})).seconds, AllOf(SizeIs(4), Each(Gt(0)))) << to_string(op);
    }
  }
  for (const Transfer& transfer : {up, across}) {
    EXPECT_THAT(links->run(small_program(TransferOp::kStore, {transfer})).seconds, AllOf(SizeIs(1), Each(Gt(0))));
  }
}

TEST(CudaLinks, NoticeThatNothingArrived) {
  const FakeCuda fake("bent_link");
  test::expect_loss_is_noticed(*cuda::open_cuda_links());
}

TEST(CudaLinks, AGpuThatIsLostCostsNoOther) {
  const FakeCuda fake("second_is_busy");
  const std::unique_ptr<Links> links = cuda::open_cuda_links();
  EXPECT_NO_THROW(static_cast<void>(links->run(small_program(TransferOp::kCopy, {{kHostMemory, kFirstGpu}}))));
  EXPECT_THAT(test::message_of<DeviceError>(
                  "second_is_busy",
                  [&] {
                    static_cast<void>(links->run(small_program(TransferOp::kCopy, {{kHostMemory, kSecondGpu}})));
                  }),
              HasSubstr("gpu1 could not be opened"));
}

TEST(CudaLinks, RefusePlacesThatAreNotThere) {
  const FakeCuda fake("gpus=2");
  const std::unique_ptr<Links> links = cuda::open_cuda_links();
  const TransferProgram program = small_program(TransferOp::kCopy, {{kHostMemory, {EndpointKind::kGpu, 5}}});
  EXPECT_THAT(test::message_of<UsageError>("gpu5", [&] { static_cast<void>(links->run(program)); }),
              HasSubstr("no gpu5"));
}

}  // namespace
}  // namespace gputopo
