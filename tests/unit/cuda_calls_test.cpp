// How many driver calls a batch takes on the CUDA device, over the fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "device/cuda/cuda_device.h"
#include "device/driver/driver_call.h"
#include "support/fake_cuda.h"

namespace gputopo {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using Counts = std::map<std::string, std::uint64_t>;

Counts counts_of(const Device& device) {
  Counts counts;
  for (const NamedCallTimes& call : device.call_times()) counts[call.name] = call.times.calls;
  return counts;
}

// The fewest driver calls of a run once everything is prepared: on a slow host the device sometimes wakes the GPU. A
// launch takes milliseconds of the fake GPU's time, so each is followed by an empty launch that looks for others.
Counts calls_of(Device& device, const Program& program, int runs = 5) {
  static_cast<void>(device.run({&program, 1}));
  Counts least;
  for (int i = 0; i < runs; ++i) {
    const Counts before = counts_of(device);
    static_cast<void>(device.run({&program, 1}));
    for (const auto& [name, count] : counts_of(device)) {
      const auto found = before.find(name);
      const std::uint64_t calls = count - (found == before.end() ? 0 : found->second);
      least[name] = i == 0 ? calls : std::min(least[name], calls);
    }
  }
  std::erase_if(least, [](const auto& call) { return call.second == 0 || call.first.starts_with("cuEvent"); });
  return least;
}

class CudaCalls : public ::testing::Test {
 protected:
  CudaCalls() { time_driver_calls(); }
  static ChaseProgram chase_of(std::uint64_t bytes, std::uint64_t stride_bytes, std::uint64_t loads = 8) {
    return {.arrays = {{.bytes = bytes, .stride_bytes = stride_bytes}},
            .actors = {{}},
            .steps = {{.kind = StepKind::kTimed, .loads = loads}}};
  }
};

TEST_F(CudaCalls, AChaseIsWaitedForOnce) {
  const test::FakeCuda fake;
  const auto device = open_cuda_device(0);
  EXPECT_THAT(calls_of(*device, chase_of(4096, 64)),
              ElementsAre(Pair("cuCtxSynchronize", 1 + 1), Pair("cuLaunchKernel", 2 + 1),
                          Pair("cuMemcpyDtoHAsync_v2", 1 + 1), Pair("cuMemcpyHtoD_v2", 1)));
}

TEST_F(CudaCalls, BlocksThatSharedAnSmRunAgain) {
  const auto uploads_with = [](const char* behaviour) {
    const test::FakeCuda fake(behaviour);
    const auto device = open_cuda_device(0);
    const std::vector<Program> programs(4, chase_of(1024, 64, 10));
    const std::vector<ProgramResult> results = device->run(programs);
    EXPECT_EQ(results.size(), programs.size());
    for (const ProgramResult& result : results) {
      EXPECT_EQ(std::get<ChaseResult>(result.data).steps[0].latencies.size(), 10u);
    }
    return counts_of(*device)["cuMemcpyHtoD_v2"];
  };
  EXPECT_GT(uploads_with("crowded"), uploads_with("")) << "the crowded programs are another batch";
}

TEST_F(CudaCalls, SoIsAWalkOverCode) {
  const test::FakeCuda fake;
  const auto device = open_cuda_device(0);
  EXPECT_THAT(calls_of(*device, InstructionProgram{.actors = {{}}, .steps = {{.count = 64}}}),
              ElementsAre(Pair("cuCtxSynchronize", 1 + 1), Pair("cuLaunchKernel", 1 + 1),
                          Pair("cuMemcpyDtoHAsync_v2", 1 + 1), Pair("cuMemcpyHtoD_v2", 1)));
}

TEST_F(CudaCalls, WhatTakesTimeToFillIsWaitedFor) {
  const test::FakeCuda fake;
  const auto device = open_cuda_device(0);
  EXPECT_GE(calls_of(*device, chase_of(9 << 20, 64, 9 << 14), 1)["cuCtxSynchronize"], 2u + 1);
}

TEST_F(CudaCalls, WithoutPinnedMemoryAnswersAreTheSame) {
  const Program program = chase_of(4096, 64);
  const auto answer_of = [&](const std::string& behaviour) {
    const test::FakeCuda fake(behaviour);
    const auto device = open_cuda_device(0);
    return std::get<ChaseResult>(device->run({&program, 1}).front().data);
  };
  EXPECT_EQ(answer_of("no_pinned_memory").steps.at(0).latencies, answer_of("").steps.at(0).latencies);
}

// Each growth frees the old memory and waits until the driver has cleared the new one.
TEST_F(CudaCalls, MemoryGrowsInFewSteps) {
  const test::FakeCuda fake;
  const auto device = open_cuda_device(0);
  static_cast<void>(calls_of(*device, chase_of(4096, 64)));
  const std::uint64_t before = counts_of(*device)["cuMemAlloc_v2"];
  for (const std::uint64_t mib : {40, 60, 80, 110, 150, 200, 280, 100, 380, 50}) {
    const Program program = chase_of(mib << 20, 1 << 20);
    static_cast<void>(device->run({&program, 1}));
  }
  EXPECT_LE(counts_of(*device)["cuMemAlloc_v2"] - before, 3u);
}

// There is no room for twice the old size here.
TEST_F(CudaCalls, MemoryGrowsAsFarAsThereIsRoom) {
  const test::FakeCuda fake;
  const auto device = open_cuda_device(0);
  for (const std::uint64_t mib : {300, 600, 800}) {
    const Program program = chase_of(mib << 20, 1 << 20);
    EXPECT_NO_THROW(static_cast<void>(device->run({&program, 1}))) << mib;
  }
}

}  // namespace
}  // namespace gputopo
