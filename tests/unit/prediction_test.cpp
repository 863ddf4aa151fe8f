// Combines a report and a kernel: which figures count, and which bound applies.
#include "kernel_model/prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gputopo/error.h"
#include "kernel_model/prediction_json.h"
#include "kernel_model/prediction_svg.h"
#include "kernel_model/prediction_text.h"
#include "support/message_of.h"
#include "support/model_report.h"
#include "support/saved_report.h"

namespace gputopo::kernel_model {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Kernel kernel_of(std::uint64_t blocks, std::uint32_t threads) {
  Kernel kernel;
  kernel.grid_blocks = blocks;
  kernel.block_threads = threads;
  return kernel;
}

Attribute& attribute_of(Topology& topology, const std::string& element, const std::string& attribute) {
  for (MemoryElement& memory : topology.memory) {
    if (memory.id == element) return get_or_add(memory.attributes, attribute);
  }
  throw FormatError("no such element");
}

// 132 SMs at 1979.9 MHz: the copied bytes over the read and write bandwidths of the H200.
TEST(Prediction, OfACopyIsTheBandwidthOfDeviceMemory) {
  Kernel kernel = kernel_of(132 * 8, 256);
  kernel.memory = {{ElementId::kDevice, false, 1000, 16, 4, {}}, {ElementId::kDevice, true, 1000, 16, 4, {}}};
  const Prediction result = predict(test::model_report(), kernel);
  const double bytes = 132.0 * 8 * 256 * 1000 * 16;
  EXPECT_NEAR(result.seconds, bytes / 4696635230298.0 + bytes / 4402338973958.0, 0.001 * result.seconds);
  EXPECT_EQ(result.bounds.front().name, "bandwidth of device");
  EXPECT_EQ(result.model.which, Case::kMemory);
  EXPECT_EQ(result.occupancy.warps(), 64u);
}

// One thread with dependent loads takes the measured latency of each.
TEST(Prediction, OfAPointerChaseIsTheLatency) {
  for (const auto& [level, cycles] : {std::pair(ElementId::kL2, 281.19), std::pair(ElementId::kDevice, 683.71),
                                      std::pair(ElementId::kShared, 22.6), std::pair(ElementId::kVl1, 31.2)}) {
    Kernel kernel = kernel_of(1, 1);
    kernel.memory = {{level, false, 1000, 8, 1, {}}};
    const Prediction result = predict(test::model_report(), kernel);
    // Issuing the loads takes time, too.
    EXPECT_NEAR(result.model.cycles, 1000 * (cycles + 0.25), 1) << to_string(level);
    EXPECT_EQ(result.bounds.front().name, "memory latency (too few warps)") << to_string(level);
    EXPECT_EQ(result.active_sms, 1);
  }
}

// Warps that load 512 B each: the slowest fetch counts, which is what one warp waits for under load.
TEST(Prediction, OfFewWarpsIsTheSlowestFetch) {
  Kernel kernel = kernel_of(132, 64);
  kernel.memory = {{ElementId::kDevice, false, 1000, 16, 1, {}}};
  EXPECT_NEAR(predict(test::model_report(), kernel).model.mem_l, 793.7, 0.1);
  Topology without = test::model_report();
  attribute_of(without, "device", "loaded_latency").details.clear();
  EXPECT_NEAR(predict(without, kernel).model.mem_l, 683.71, 0.1);
}

// A chain of fused multiply-adds of 4 cycles each, with 4, 16 and 64 warps on an SM.
TEST(Prediction, OfChainsOfOperationsIsLatencyAndThenIssue) {
  const auto seconds = [](std::uint32_t threads, std::uint64_t blocks) {
    Kernel kernel = kernel_of(132 * blocks, threads);
    kernel.operations = {{OperationId::kFmaF32, 100000}};
    return predict(test::model_report(), kernel);
  };
  const double clock = 1979.9e6;
  EXPECT_NEAR(seconds(128, 1).seconds, 400000 / clock, 1e-7);
  EXPECT_THAT(seconds(128, 1).bounds.front().name, StartsWith("instruction latency"));
  EXPECT_NEAR(seconds(512, 1).seconds, 400000 / clock, 1e-7);
  EXPECT_NEAR(seconds(1024, 2).seconds, 1600000 / clock, 1e-6);
  // The measured peak is slightly below the throughput.
  EXPECT_THAT(seconds(1024, 2).bounds.front().name, testing::AnyOf("instruction issue", "peak of f32"));
}

// A warp makes 32 fetches of 32 bytes. The rate is that of loaded loads, 16.2 bytes per clock of an SM.
TEST(Prediction, TakesScatteredLoadsFromLatencyUnderLoad) {
  Kernel kernel = kernel_of(132 * 2, 1024);
  kernel.memory = {{ElementId::kDevice, false, 100, 4, 1, 32}};
  const Prediction result = predict(test::model_report(), kernel);
  EXPECT_NEAR(result.model.departure_delay, 1024 / 16.2, 0.1);
  EXPECT_NEAR(result.model.mem_l, 683.71 + 31 * 32 / 16.2, 0.1);
  EXPECT_EQ(result.bounds.front().name, "departure delay of device");
}

// Bank conflicts of 8 lanes: 8 turns of 128 bytes.
TEST(Prediction, CountsBankConflictsAsTurns) {
  Kernel kernel = kernel_of(132 * 2, 1024);
  kernel.memory = {{ElementId::kShared, false, 100, 4, 1, 8}};
  const Prediction result = predict(test::model_report(), kernel);
  EXPECT_NEAR(result.model.departure_delay, 8 * 128 / 126.21, 0.01);
  ASSERT_EQ(result.ceilings.size(), 1u);
  EXPECT_EQ(result.ceilings[0].work, 132.0 * 64 * 100 * 8 * 128);
}

// Data from device memory has passed the caches; stores do not wait in the first cache.
TEST(Prediction, HasACeilingForEachLevelOnTheWay) {
  Kernel kernel = kernel_of(132 * 8, 256);
  kernel.memory = {{ElementId::kDevice, false, 10, 4, 1, {}},
                   {ElementId::kL1, false, 30, 4, 1, {}},
                   {ElementId::kDevice, true, 5, 4, 1, {}}};
  kernel.operations = {{OperationId::kFmaF32, 20}};
  const Prediction result = predict(test::model_report(), kernel);
  const double threads = 132 * 8 * 256;
  std::map<std::string, double> work;
  for (const Ceiling& ceiling : result.ceilings) work[ceiling.name] = ceiling.work;
  EXPECT_EQ(
      work,
      (std::map<std::string, double>{
          {"l1", threads * 4 * 40}, {"l2", threads * 4 * 15}, {"device", threads * 4 * 15}, {"f32", threads * 40}}));
}

TEST(Prediction, CountsRegistersAndSharedMemory) {
  Kernel kernel = kernel_of(10000, 256);
  kernel.other_instructions = 1;
  kernel.registers_per_thread = 64;
  EXPECT_EQ(predict(test::model_report(), kernel).occupancy.blocks, 4u);
  kernel.shared_bytes_per_block = 100000;
  EXPECT_EQ(predict(test::model_report(), kernel).occupancy.blocks, 2u);
  kernel.shared_bytes_per_block = 300000;
  EXPECT_THAT(
      test::message_of<FormatError>("predict", [&] { static_cast<void>(predict(test::model_report(), kernel)); }),
      HasSubstr("does not fit on an SM of this GPU: it exceeds the limit on shared memory"));
}

// A report without the slower measurements: one line names everything that is missing.
TEST(Prediction, NamesAllThatAReportLacksAndWhatMeasuresIt) {
  const Topology plain = test::saved_report("h200");
  Kernel kernel = kernel_of(100, 256);
  kernel.registers_per_thread = 32;
  kernel.operations = {{OperationId::kFmaF32, 1}};
  const std::string message =
      test::message_of<FormatError>("predict", [&] { static_cast<void>(predict(plain, kernel)); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("registers.register_allocation_unit (not in the report)"),
                    HasSubstr("instructions.fma.f32.throughput (not in the report)"),
                    HasSubstr("measure it: gputopo --only registers.register_allocation_unit,registers.schedulers,"
                              "instructions.fma.f32,peaks.f32"),
                    Not(HasSubstr("\n"))));
}

TEST(Prediction, SaysWhyAValueIsMissing) {
  Topology topology = test::model_report();
  attribute_of(topology, "l2", "latency") = unavailable(Reason::kTimedOut, "the budget of 60 s ran out");
  Kernel kernel = kernel_of(1, 1);
  kernel.memory = {{ElementId::kL2, false, 1, 8, 1, {}}};
  EXPECT_THAT(test::message_of<FormatError>("predict", [&] { static_cast<void>(predict(topology, kernel)); }),
              AllOf(HasSubstr("l2.latency (timed out"), HasSubstr("gputopo --only l2.latency")));
  attribute_of(topology, "l2", "latency") = unavailable(Reason::kNotPresent, "no L2");
  EXPECT_THAT(test::message_of<FormatError>("predict", [&] { static_cast<void>(predict(topology, kernel)); }),
              HasSubstr("does not provide every needed value"));
}

TEST(Prediction, OfAnAmdGpuUsesItsNames) {
  const Topology topology = test::saved_report("mi300x");
  Kernel kernel = kernel_of(1, 1);
  kernel.memory = {{ElementId::kL1, false, 1000, 8, 1, {}}, {ElementId::kL3, false, 10, 8, 1, {}}};
  const Prediction result = predict(topology, kernel);
  EXPECT_NEAR(result.model.mem_cycles, 1000 * 116.01 + 10 * 457.99, 1);
  EXPECT_THAT(result.notes, Contains(HasSubstr("SIMULATED")));
  kernel.registers_per_thread = 32;
  EXPECT_THAT(test::message_of<FormatError>("predict", [&] { static_cast<void>(predict(topology, kernel)); }),
              AllOf(HasSubstr("registers.register_allocation_unit (not in the report)"),
                    HasSubstr("measure it: gputopo --only registers.register_allocation_unit")));
  kernel = kernel_of(1, 1);
  kernel.memory = {{ElementId::kTexture, false, 1, 8, 1, {}}};
  EXPECT_THAT(test::message_of<FormatError>("predict", [&] { static_cast<void>(predict(topology, kernel)); }),
              HasSubstr("'texture' does not exist on GPUs of this vendor"));
}

TEST(Prediction, PassesOnWhatTheReportDoubts) {
  Topology topology = test::model_report();
  attribute_of(topology, "device", "read_bandwidth").flags = {"above_theory"};
  Kernel kernel = kernel_of(1000, 256);
  kernel.memory = {{ElementId::kDevice, false, 1, 8, 1, {}}};
  EXPECT_THAT(predict(topology, kernel).notes, Contains("the report flags device.read_bandwidth: above_theory"));
}

TEST(Prediction, RefusesAKernelThatDoesNothing) {
  EXPECT_THAT(test::message_of<FormatError>("predict",
                                            [] { static_cast<void>(predict(test::model_report(), kernel_of(1, 1))); }),
              HasSubstr("no instructions, loads or stores"));
}

TEST(Prediction, AsJsonIsJsonWithoutWhatIsInfinite) {
  Kernel kernel = kernel_of(1, 1);
  kernel.name = "\xff\n";
  kernel.memory = {{ElementId::kL2, false, 1, 8, 1, {}}};
  const Prediction result = predict(test::model_report(), kernel);
  const auto json = nlohmann::json::parse(prediction_to_json(result));
  EXPECT_EQ(json.at("predicted_seconds"), result.seconds);
  EXPECT_EQ(json.at("hong_kim").at("case"), "few_warps");
  EXPECT_THAT(prediction_to_text(result), Not(HasSubstr("\xff")));
}

TEST(PredictionSvg, HasThePointOfTheKernelOnEachLevel) {
  Kernel kernel = kernel_of(132 * 8, 256);
  kernel.name = "a <kernel>";
  kernel.memory = {{ElementId::kDevice, false, 1000, 16, 4, {}}};
  EXPECT_THAT(
      prediction_to_svg(predict(test::model_report(), kernel)),
      AllOf(HasSubstr("no point in the roofline"), HasSubstr("a &lt;kernel&gt; on "), Not(HasSubstr("<circle"))));
  Prediction result;
  result.seconds = 1e-3;
  result.bounds = {{"bandwidth of device", 1e-3}};
  result.ceilings = {
      {"device", "B", 4e9, 4e12}, {"l2", "B", 8e9, 1e13}, {"f32", "FLOP", 1e9, 6e13}, {"s32", "OP", 1, 1}};
  const std::string svg = prediction_to_svg(result);
  EXPECT_THAT(svg, AllOf(HasSubstr(">device 4 TB/s, 0.25 FLOP/B<"), HasSubstr(">l2 10 TB/s, 0.125 FLOP/B<"),
                         HasSubstr(">f32 60 TFLOP/s<"), HasSubstr("predicted: 1 ms, 1 TFLOP/s, bound by"),
                         Not(HasSubstr("s32")), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

TEST(PredictionSvg, OfArithmeticAloneHasItsCeiling) {
  Prediction result;
  result.seconds = 1e-3;
  result.bounds = {{"f32", 1e-3}};
  result.ceilings = {{"f32", "FLOP", 1e9, 1e12}};
  EXPECT_THAT(prediction_to_svg(result), AllOf(HasSubstr(">f32 1 TFLOP/s<"), Not(HasSubstr("nan"))));
}

}  // namespace
}  // namespace gputopo::kernel_model
