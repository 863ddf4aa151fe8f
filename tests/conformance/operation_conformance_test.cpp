// Chains of operations, on every device that runs them.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

// The result, or nothing if the device does not support such programs or the operation.
std::optional<OperationResult> operation_of(Device& device, const OperationProgram& program) {
  try {
    OperationResult result = std::get<OperationResult>(run_one(device, program).data);
    if (!result.refusal.empty()) return std::nullopt;
    return result;
  } catch (const NotSupportedError&) {
    return std::nullopt;
  }
}

TEST_P(DeviceConformance, OperationsOfAChainAreTimed) {
  on_device([](Device& device) {
    bool any = false;
    for (const OperationId operation : {OperationId::kAddS32, OperationId::kAddF32, OperationId::kFmaF32}) {
      const auto few = operation_of(device, {.operation = operation, .rounds = 2});
      const auto many = operation_of(device, {.operation = operation, .rounds = 6});
      ASSERT_EQ(few.has_value(), many.has_value());
      if (!few) continue;
      any = true;
      SCOPED_TRACE(std::string(to_string(operation)));
      ASSERT_EQ(few->cycles.size(), 1u);
      ASSERT_EQ(many->cycles.size(), 1u);
      const double cycles = (many->cycles[0] - few->cycles[0]) / 4 / operations_per_round({.operation = operation});
      EXPECT_GT(cycles, 0.5);
      EXPECT_LT(cycles, 200);
    }
    if (!any) GTEST_SKIP() << "the device runs no chains of operations";
  });
}

TEST_P(DeviceConformance, OperationsOnEverySmAtOnce) {
  on_device([](Device& device) {
    const auto result = operation_of(
        device, {.operation = OperationId::kAddS32, .streams = 2, .warps = 2, .every_sm = true, .rounds = 2});
    if (!result) GTEST_SKIP() << "the device runs no chains of operations";
    EXPECT_EQ(result->cycles.size(), device.info().sm_count);
    EXPECT_EQ(std::set(result->sms.begin(), result->sms.end()).size(), device.info().sm_count);
  });
}

// Programs with metered energy run in batches of their own, but results keep the order of the programs.
TEST_P(DeviceConformance, ResultsOfMeteredOperationsAreInOrder) {
  on_device([](Device& device) {
    std::vector<Program> programs;
    for (const std::uint32_t rounds : {2u, 8u, 4u, 16u, 32u}) {
      programs.push_back(OperationProgram{.operation = OperationId::kAddS32, .rounds = rounds, .metered = rounds > 4});
    }
    std::vector<ProgramResult> results;
    try {
      results = device.run(programs);
    } catch (const NotSupportedError&) {
      GTEST_SKIP() << "the device runs no chains of operations";
    }
    ASSERT_EQ(results.size(), programs.size());
    const auto cycles = [&](std::size_t i) { return std::get<OperationResult>(results[i].data).cycles.at(0); };
    if (!std::get<OperationResult>(results[0].data).refusal.empty()) GTEST_SKIP() << "the device has no such operation";
    EXPECT_LT(cycles(0), cycles(2));
    EXPECT_LT(cycles(2), cycles(1));
    EXPECT_LT(cycles(1), cycles(3));
    EXPECT_LT(cycles(3), cycles(4));
  });
}

// Expected programs may include some that the device cannot run or never receives.
TEST_P(DeviceConformance, WhatIsExpectedChangesNoAnswer) {
  on_device([](Device& device) {
    const OperationProgram add{.operation = OperationId::kAddF32};
    const std::vector<Program> expected = {InstructionProgram{},
                                           AccessProgram{},
                                           ClusterProgram{},
                                           StreamProgram{},
                                           add,
                                           add,
                                           OperationProgram{.operation = OperationId::kWgmmaF32F16}};
    device.expect(expected);
    device.expect(expected);
    std::vector<ProgramResult> results;
    try {
      results = device.run(std::vector<Program>{add});
    } catch (const NotSupportedError&) {
      GTEST_SKIP() << "the device runs no chains of operations";
    }
    ASSERT_EQ(results.size(), 1u);
    EXPECT_FALSE(std::get<OperationResult>(results[0].data).cycles.empty());
    EXPECT_TRUE(std::get<OperationResult>(results[0].data).refusal.empty());
    device.expect(expected);
  });
}

TEST_P(DeviceConformance, AnOperationThatIsNotThereCostsNoOther) {
  on_device([](Device& device) {
    std::vector<Program> programs;
    for (const OperationInfo& operation : operation_catalogue()) {
      OperationProgram program{.operation = operation.id};
      program.warps = warps_per_operation(operation.type);
      programs.emplace_back(program);
    }
    try {
      for (const ProgramResult& result : device.run(programs)) {
        const auto& data = std::get<OperationResult>(result.data);
        EXPECT_NE(data.refusal.empty(), data.cycles.empty());
      }
    } catch (const NotSupportedError&) {
      GTEST_SKIP() << "the device runs no chains of operations";
    }
  });
}

}  // namespace
}  // namespace gputopo::conformance
