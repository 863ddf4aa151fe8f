// Operations in reports: written and read back, in every format, compared and checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "gputopo/report.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Attribute number(double value, const char* unit) {
  Attribute attribute;
  attribute.value = value;
  attribute.unit = unit;
  attribute.low = value * 0.99;
  attribute.high = value * 1.01;
  attribute.source = Source::kMeasured;
  attribute.method = "chain_of_operations";
  return attribute;
}

Topology with_operations(double fma_per_clock = 127) {
  Topology topology = test::sample_topology();
  Instruction fma{"fma.f32", "Fused multiply-add", {}};
  get_or_add(fma.attributes, AttributeId::kLatency) = number(4.03, "cycles");
  Attribute& rate = get_or_add(fma.attributes, AttributeId::kThroughput) = number(fma_per_clock, "ops/clk");
  rate.add_detail("peak_ops_per_second", 66.4e12);
  Instruction tanh{"tanh.approx.f32", "Hyperbolic tangent", {}};
  for (const AttributeId id : kOperationAttributes) {
    get_or_add(tanh.attributes, id) = unavailable(Reason::kNotSupported, "needs compute capability 7.5");
  }
  topology.instructions = {fma, tanh};
  return topology;
}

TEST(InstructionsInReports, AreWrittenAndReadAgain) {
  const Topology topology = with_operations();
  const std::string json = to_json(topology);
  EXPECT_THAT(json, HasSubstr("\"instructions\": {"));
  EXPECT_EQ(read_json(json).instructions, topology.instructions);
  // A report without operations has no such member.
  EXPECT_THAT(to_json(test::sample_topology()), Not(HasSubstr("instructions\"")));
}

TEST(InstructionsInReports, AreInEveryFormat) {
  Topology topology = with_operations();
  MemoryElement peaks{.id = "peaks", .title = "Peaks"};
  get_or_add(peaks.attributes, AttributeId::kPeakF32) = number(66.5e12, "FLOP/s");
  get_or_add(peaks.attributes, AttributeId::kPeakMatrixF16) = number(800e12, "FLOP/s");
  get_or_add(peaks.attributes, AttributeId::kSustainedMatrixF16) = number(600e12, "FLOP/s");
  topology.memory.push_back(peaks);
  EXPECT_THAT(to_csv(topology), HasSubstr("instructions.fma.f32,throughput,127,"));
  EXPECT_THAT(to_csv(topology), HasSubstr("instructions.tanh.approx.f32,latency,,,,,unavailable:not_supported"));
  EXPECT_THAT(to_markdown(topology), HasSubstr("| fma.f32 | Fused multiply-add | 4.03 cycles | 127 ops/clk |"));
  const std::string table = to_terminal(topology, {.width = 100, .height = 200});
  EXPECT_THAT(table, HasSubstr("fma.f32"));
  EXPECT_THAT(table, HasSubstr("peaks: f32 66.5 TFLOP/s, matrix f16 800 TFLOP/s\n")) << "as peaks.f32";
  EXPECT_THAT(table, HasSubstr("needs compute capability 7.5 (instructions tanh.approx.f32)"));
  EXPECT_THAT(to_html(topology), HasSubstr("fma.f32 (Fused multiply-add)"));
  EXPECT_THAT(check_to_prometheus({}, topology), HasSubstr("operation=\"fma.f32\""));
}

// The report of a default run.
TEST(InstructionsInReports, AreOneParagraphWhereOnlyLatenciesAreKnown) {
  Topology topology = with_operations();
  for (Instruction& instruction : topology.instructions) {
    get_or_add(instruction.attributes, AttributeId::kThroughput) =
        unavailable(Reason::kNotSelected, "skipped to save time; --full measures it");
  }
  const std::string whole = to_terminal(topology, {.width = 100});
  EXPECT_THAT(whole, HasSubstr("latency of operations in cycles: fma.f32 4.03\n"));
  EXPECT_THAT(whole, Not(HasSubstr("of a lane per clock")));  // from the table of all operations
  const std::string screen = to_terminal(topology, {.width = 80, .height = 24});
  EXPECT_LE(std::ranges::count(screen, '\n'), 24);
  EXPECT_THAT(to_markdown(topology), HasSubstr("| fma.f32 | Fused multiply-add | 4.03 cycles | - |"));
}

TEST(InstructionsInReports, AreComparedAndChecked) {
  EXPECT_THAT(check(with_operations(), with_operations(), default_tolerances()).violations, IsEmpty());
  const CheckResult slower = check(with_operations(64), with_operations(), default_tolerances());
  ASSERT_THAT(slower.violations, SizeIs(1));
  EXPECT_EQ(slower.violations[0].element, "instructions.fma.f32");
  // Values that one report did not request are no differences.
  EXPECT_THAT(check(test::sample_topology(), with_operations(), default_tolerances()).violations, IsEmpty());
}

}  // namespace
}  // namespace gputopo
