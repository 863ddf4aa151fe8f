// Operation programs on the CUDA and HIP devices, over the fake vendor libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/hip/hip_device.h"
#include "support/fake_cuda.h"
#include "support/fake_hip.h"

namespace gputopo {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// One result for each operation of the catalog.
std::vector<OperationResult> run_all(Device& device) {
  std::vector<Program> programs;
  for (const OperationInfo& operation : operation_catalogue()) {
    OperationProgram program{.operation = operation.id};
    program.warps = warps_per_operation(operation.type);
    programs.emplace_back(program);
  }
  std::vector<OperationResult> results;
  for (ProgramResult& result : device.run(programs))
    results.push_back(std::get<OperationResult>(std::move(result.data)));
  return results;
}

void expect_chains(Device& device) {
  const std::vector<Program> programs = {
      OperationProgram{.operation = OperationId::kAddS32, .rounds = 2},
      OperationProgram{.operation = OperationId::kAddS32, .rounds = 6},
      OperationProgram{.operation = OperationId::kAddS32, .streams = 4, .warps = 2, .every_sm = true, .rounds = 2}};
  std::vector<OperationResult> results;
  for (ProgramResult& result : device.run(programs))
    results.push_back(std::get<OperationResult>(std::move(result.data)));
  for (const OperationResult& result : results) ASSERT_THAT(result.refusal, IsEmpty());
  ASSERT_EQ(results[0].cycles.size(), 1u);
  EXPECT_GT(results[1].cycles[0], 2.5 * results[0].cycles[0]);
  EXPECT_LT(results[1].cycles[0], 3.5 * results[0].cycles[0]);
  EXPECT_EQ(results[2].cycles.size(), device.info().sm_count);
  EXPECT_EQ(std::set(results[2].sms.begin(), results[2].sms.end()).size(), device.info().sm_count);
}

TEST(OperationsOnCuda, AreChained) {
  const test::FakeCuda fake;
  expect_chains(*open_cuda_device(0));
}

// The fake driver knows only some instructions. Each refusal has a reason and affects no other operation.
TEST(OperationsOnCuda, AreRefusedOneByOne) {
  const test::FakeCuda fake;
  const auto device = open_cuda_device(0);
  const std::vector<OperationResult> results = run_all(*device);
  std::size_t refused = 0;
  for (const OperationResult& result : results) refused += result.refusal.empty() ? 0 : 1;
  EXPECT_GT(refused, 10u);
  EXPECT_LT(refused, results.size() - 5);
  const OperationResult& popc = results[static_cast<std::size_t>(OperationId::kPopcB32)];
  EXPECT_THAT(popc.refusal, HasSubstr("the driver's compiler rejects this operation"));
  EXPECT_THAT(results[static_cast<std::size_t>(OperationId::kAddS32)].refusal, IsEmpty());
}

TEST(OperationsOnCuda, NeedWhatTheGpuHas) {
  const test::FakeCuda fake("old_gpu");
  const auto device = open_cuda_device(0);
  const Program program = OperationProgram{.operation = OperationId::kReduxAdd};
  const OperationResult result = std::get<OperationResult>(device->run({&program, 1}).front().data);
  EXPECT_EQ(result.refusal, "needs compute capability 8.0 and a driver that supports it");
}

TEST(OperationsOnHip, AreChained) {
  const test::FakeHip fake;
  expect_chains(*open_hip_device(0));
}

TEST(OperationsOnHip, AreRefusedWhereThereIsNoInstruction) {
  const test::FakeHip fake;
  const auto device = open_hip_device(0);
  const std::vector<OperationResult> results = run_all(*device);
  for (const OperationInfo& operation : operation_catalogue()) {
    EXPECT_EQ(results[static_cast<std::size_t>(operation.id)].refusal.empty(), !operation.cdna.empty())
        << operation.name;
  }
}

}  // namespace
}  // namespace gputopo
