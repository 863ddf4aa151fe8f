// Compute in HTML reports: peaks, the pipes that operations share, curves over warps, the table of operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gputopo/catalogue.h"
#include "gputopo/report.h"
#include "report/drawing/compute_figures.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Attribute measured(Value value, const char* unit) {
  Attribute attribute;
  attribute.value = std::move(value);
  attribute.unit = unit;
  attribute.source = Source::kMeasured;
  return attribute;
}

// Two pipes of two operations each, and an operation that was tried and fills none.
Attribute pipes() {
  Attribute attribute = measured(std::vector<std::string>{"alu: and.b32 or.b32", "mul.f32 fma.f32"}, "");
  attribute.add_detail("operations", std::vector<std::string>{"fma.f32", "and.b32", "mul.f32", "or.b32", "vote"});
  SampleTable pairs{.name = "pipes.pairs", .plot = Plot::kMap};
  pairs.columns = {{"first_operation", ColumnRole::kAxis, "first operation", ""},
                   {"second_operation", ColumnRole::kAxis, "second operation", ""},
                   {"shared_fraction", ColumnRole::kValue, "shared fraction", ""}};
  pairs.data = {{0, 2, 1, 3, 0, 9}, {2, 0, 3, 1, 1, 0}, {1, 1, 0.98, 1.2, 0, 1}};
  attribute.samples.push_back(pairs);
  return attribute;
}

Topology with_units() {
  Topology topology = test::sample_topology();
  get_or_add(topology.compute, AttributeId::kPipes) = pipes();
  MemoryElement peaks{"peaks", "Peak arithmetic throughput", {}};
  get_or_add(peaks.attributes, AttributeId::kPeakF32) = measured(66.9e12, "FLOP/s");
  get_or_add(peaks.attributes, AttributeId::kPeakMatrixF16) = measured(1.07e15, "FLOP/s");
  get_or_add(peaks.attributes, AttributeId::kPeakF64) = unavailable(Reason::kNotSupported, "none");
  topology.memory.push_back(peaks);
  Instruction fma{"fma.f32", "Fused multiply-add", {}};
  Attribute& rate = get_or_add(fma.attributes, AttributeId::kThroughput) = measured(128.0, "ops/clk");
  rate.add_detail("warps_tried", std::vector<double>{1, 2, 4});
  rate.add_detail("throughput_by_warps", std::vector<double>{8, 16, 128});
  Instruction mul{"mul.f32", "Multiplication", {}};
  get_or_add(mul.attributes, AttributeId::kThroughput) = rate;
  Instruction gone{"and.b32", "And", {}};
  get_or_add(gone.attributes, AttributeId::kThroughput) = unavailable(Reason::kNotSupported, "the compiler refuses it");
  topology.instructions = {fma, mul, gone};
  return topology;
}

TEST(ComputeSection, HasPeaksAsBarsWithTheHighestFirst) {
  const std::string svg = report::peaks_svg(with_units()).text();
  EXPECT_THAT(svg, HasSubstr(">1.07 PFLOP/s<"));
  EXPECT_THAT(svg, HasSubstr(">66.9 TFLOP/s<"));
  EXPECT_LT(svg.find("matrix f16"), svg.find(">f32<"));
  EXPECT_THAT(svg, Not(HasSubstr("f64")));
  EXPECT_THAT(report::peaks_svg(test::sample_topology()).text(), IsEmpty());
}

TEST(ComputeSection, DrawsTheOperationsOfAUnitTogether) {
  const std::string svg = report::pipes_svg(with_units()).text();
  EXPECT_LT(svg.find(">and.b32<"), svg.find(">or.b32<"));
  EXPECT_LT(svg.find(">or.b32<"), svg.find(">mul.f32<"));
  EXPECT_LT(svg.find(">fma.f32<"), svg.find(">vote<")) << "what fills no unit stands last";
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"1\""));
  EXPECT_THAT(svg, HasSubstr("class=\"cell unknown\"")) << "pairs that were not measured";
}

TEST(ComputeSection, DrawsPairsThatWereNotToldApartAsUnknown) {
  Topology topology = with_units();
  get_or_add(topology.compute, AttributeId::kPipes)
      .add_detail("undecided_pairs", std::vector<std::string>{"fma.f32 mul.f32", "and.b32 or.b32"});
  const std::string svg = report::pipes_svg(topology).text();
  EXPECT_THAT(svg, Not(HasSubstr("fill-opacity=\"1\""))) << "the only pairs that share a unit";
}

TEST(ComputeSection, DrawsNoPairsThatAreNotThere) {
  Topology topology = with_units();
  get_or_add(topology.compute, AttributeId::kPipes).samples.clear();
  EXPECT_THAT(report::pipes_svg(topology).text(), IsEmpty());
}

TEST(ComputeSection, HasACurveForAnOperationOfEachUnit) {
  const std::vector<report::Chart> curves = report::detail_curves(with_units());
  ASSERT_THAT(curves, SizeIs(1));
  ASSERT_THAT(curves[0].series, SizeIs(1)) << "the other unit's operation has no throughput";
  EXPECT_EQ(curves[0].series[0].label, "mul.f32");
  EXPECT_TRUE(curves[0].y.logarithmic);
  EXPECT_EQ(curves[0].samples.row_count(), 3u);
}

TEST(ComputeSection, LeavesOutListsThatDoNotFit) {
  Topology topology = with_units();
  Attribute& rate = get_or_add(topology.instructions[1].attributes, AttributeId::kThroughput);
  rate.details.clear();
  rate.add_detail("warps_tried", std::vector<double>{1, 2});
  rate.add_detail("throughput_by_warps", std::vector<double>{8});
  EXPECT_THAT(report::detail_curves(topology), IsEmpty());
}

TEST(ComputeSection, ListsOperationsThatHaveAValue) {
  const std::string page = to_html(with_units());
  EXPECT_THAT(page, HasSubstr("<h2 id=\"h-compute\">Compute</h2>"));
  EXPECT_THAT(page, HasSubstr("<code>fma.f32</code></th><td>Fused multiply-add</td><td>arithmetic</td><td>f32</td>"));
  EXPECT_THAT(page, HasSubstr("Operations without a value: 1."));
  EXPECT_THAT(to_html(test::sample_topology()), Not(HasSubstr("h-compute")));
}

}  // namespace
}  // namespace gputopo
