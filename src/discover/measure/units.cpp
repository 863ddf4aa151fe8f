#include "discover/measure/units.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "discover/measure/step.h"
#include "operation/capability.h"
#include "probe/compute/control.h"
#include "probe/compute/launch_time.h"
#include "probe/compute/operation_peaks.h"
#include "probe/compute/operation_trials.h"
#include "probe/compute/sustained.h"

namespace gputopo {
namespace {

Attribute register_file(Context& context, const ElementInfo&) { return context.registers().file; }
Attribute register_unit(Context& context, const ElementInfo&) { return context.registers().unit; }
Attribute schedulers(Context& context, const ElementInfo&) { return context.schedulers(); }

Attribute clock_resolution(Context& context, const ElementInfo&) { return context.clocks().step; }
Attribute timer_resolution(Context& context, const ElementInfo&) { return context.clocks().timer_resolution; }
Attribute clock_groups(Context& context, const ElementInfo&) { return context.clocks().groups; }

template <LaunchMethod kWay>
Attribute launch_interval(Context& context, const ElementInfo&) {
  probe::ProbeRunner runner = context.runner();
  return probe::measure_launch_interval(runner, kWay);
}

template <OperationId kOperation>
Attribute jump(Context& context, const ElementInfo&) {
  probe::ProbeRunner runner = context.runner();
  return probe::measure_jump(runner, kOperation);
}
Attribute divergence_cost(Context& context, const ElementInfo&) { return context.sides().cost; }
Attribute divergent_paths_interleave(Context& context, const ElementInfo&) { return context.sides().interleave; }

// Operations that may reach the peak of a type; the fastest one counts.
struct PeakRow {
  AttributeId attribute;
  std::vector<OperationId> operations;
};
const std::vector<PeakRow>& peak_rows() {
  using enum OperationId;
  static const std::vector<PeakRow> kRows = {
      {AttributeId::kPeakF16, {kFmaF16x2}},
      {AttributeId::kPeakBf16, {kFmaBf16x2}},
      {AttributeId::kPeakF32, {kFmaF32, kFmaF32x2}},
      {AttributeId::kPeakF64, {kFmaF64}},
      {AttributeId::kPeakS32, {kMadS32}},
      {AttributeId::kPeakU8, {kDp4aU32}},
      {AttributeId::kPeakMatrixF16,
       {kMmaF32F16, kMmaSmallF32F16, kMmaFourF32F16, kWgmmaF32F16, kTcgen05F32F16, kMfmaF32F16}},
      {AttributeId::kPeakMatrixBf16, {kMmaF32Bf16, kWgmmaF32Bf16, kTcgen05F32Bf16, kMfmaF32Bf16, kMfmaSmallF32Bf16}},
      {AttributeId::kPeakMatrixTf32, {kMmaF32Tf32, kWgmmaF32Tf32, kTcgen05F32Tf32}},
      {AttributeId::kPeakMatrixF32, {kMfmaF32F32}},
      {AttributeId::kPeakMatrixFp8, {kMmaF32E4m3, kWgmmaF32E4m3, kTcgen05F32E4m3, kMfmaF32E4m3}},
      {AttributeId::kPeakMatrixS8, {kMmaS32S8, kWgmmaS32S8, kMfmaS32S8, kMfmaWideS32S8}},
      {AttributeId::kPeakMatrixF64, {kMmaF64, kMmaLargeF64, kMfmaF64}},
      {AttributeId::kPeakSparseF16, {kMmaSparseF32F16, kWgmmaSparseF32F16}},
  };
  return kRows;
}

const probe::PeakFinding& best_of(Context& context, AttributeId attribute) {
  const auto row = std::ranges::find(peak_rows(), attribute, &PeakRow::attribute);
  const probe::PeakFinding* best = nullptr;
  for (const probe::PeakFinding& finding : context.peaks()) {
    if (std::ranges::find(row->operations, finding.operation) == row->operations.end()) continue;
    if (best == nullptr || finding.arithmetic_per_clk > best->arithmetic_per_clk) best = &finding;
  }
  return *best;
}

template <AttributeId kAttribute>
Attribute peak(Context& context, const ElementInfo&) {
  Attribute attribute = best_of(context, kAttribute).peak;
  if (attribute.available()) attribute.unit = info_of(kAttribute).unit;
  return attribute;
}

// `kAttribute` is the peak of the same arithmetic.
template <AttributeId kAttribute>
Attribute sustained(Context& context, const ElementInfo&) {
  probe::ProbeRunner runner = context.runner();
  Attribute attribute = probe::measure_sustained(runner, best_of(context, kAttribute));
  if (attribute.available()) attribute.unit = info_of(kAttribute).unit;
  return attribute;
}

std::vector<Program> expected_of_peaks(const DeviceInfo& info) {
  return probe::expected_of_peaks(info, peak_operations(info));
}

template <AttributeId kPeak>
constexpr Step kPeakStep{ElementKind::kPeaks, kPeak, peak<kPeak>, expected_of_peaks};
template <AttributeId kSustained, AttributeId kPeak>
constexpr Step kSustainedStep{ElementKind::kPeaks, kSustained, sustained<kPeak>, expected_of_peaks, true};

constexpr Step kUnitsSteps[] = {
    {ElementKind::kRegisters, AttributeId::kSchedulers, schedulers},
    {ElementKind::kRegisters, AttributeId::kResidentWarps, measured_by<probe::measure_resident_warps>},
    {ElementKind::kRegisters, AttributeId::kResidentBlocks, measured_by<probe::measure_resident_blocks>},
    {ElementKind::kRegisters, AttributeId::kRegisterFile, register_file},
    {ElementKind::kRegisters, AttributeId::kRegisterAllocationUnit, register_unit},
    {ElementKind::kRegisters, AttributeId::kSharedAllocationUnit, measured_by<probe::measure_shared_unit>},
    {ElementKind::kClocks, AttributeId::kClockResolution, clock_resolution},
    {ElementKind::kClocks, AttributeId::kTimerResolution, timer_resolution},
    {ElementKind::kClocks, AttributeId::kClockGroups, clock_groups},
    {ElementKind::kClocks, AttributeId::kLaunchLatency, measured_by<probe::measure_launch_latency>},
    {ElementKind::kClocks, AttributeId::kLaunchInterval, launch_interval<LaunchMethod::kCalls>},
    {ElementKind::kClocks, AttributeId::kGraphLaunchLatency, measured_by<probe::measure_graph_launch_latency>},
    {ElementKind::kClocks, AttributeId::kGraphLaunchInterval, launch_interval<LaunchMethod::kGraph>},
    {ElementKind::kControl, AttributeId::kBarrierLatency, measured_by<probe::measure_barrier>},
    {ElementKind::kControl, AttributeId::kClusterBarrier, measured_by<probe::measure_cluster_barrier>},
    {ElementKind::kControl, AttributeId::kGridBarrier, measured_by<probe::measure_grid_barrier>},
    {ElementKind::kControl, AttributeId::kBranchCost, jump<OperationId::kBra>},
    {ElementKind::kControl, AttributeId::kCallCost, jump<OperationId::kCall>},
    {ElementKind::kControl, AttributeId::kDivergenceCost, divergence_cost},
    {ElementKind::kControl, AttributeId::kDivergentPathsInterleave, divergent_paths_interleave},
    kPeakStep<AttributeId::kPeakF16>,
    kPeakStep<AttributeId::kPeakBf16>,
    kPeakStep<AttributeId::kPeakF32>,
    kPeakStep<AttributeId::kPeakF64>,
    kPeakStep<AttributeId::kPeakS32>,
    kPeakStep<AttributeId::kPeakU8>,
    kPeakStep<AttributeId::kPeakMatrixF16>,
    kSustainedStep<AttributeId::kSustainedMatrixF16, AttributeId::kPeakMatrixF16>,
    kPeakStep<AttributeId::kPeakMatrixBf16>,
    kPeakStep<AttributeId::kPeakMatrixTf32>,
    kPeakStep<AttributeId::kPeakMatrixF32>,
    kPeakStep<AttributeId::kPeakMatrixFp8>,
    kPeakStep<AttributeId::kPeakMatrixS8>,
    kPeakStep<AttributeId::kPeakMatrixF64>,
    kPeakStep<AttributeId::kPeakSparseF16>,
    kSustainedStep<AttributeId::kSustainedF16, AttributeId::kPeakF16>,
    kSustainedStep<AttributeId::kSustainedBf16, AttributeId::kPeakBf16>,
    kSustainedStep<AttributeId::kSustainedF32, AttributeId::kPeakF32>,
    kSustainedStep<AttributeId::kSustainedF64, AttributeId::kPeakF64>,
    kSustainedStep<AttributeId::kSustainedS32, AttributeId::kPeakS32>,
    kSustainedStep<AttributeId::kSustainedU8, AttributeId::kPeakU8>,
    kSustainedStep<AttributeId::kSustainedMatrixBf16, AttributeId::kPeakMatrixBf16>,
    kSustainedStep<AttributeId::kSustainedMatrixTf32, AttributeId::kPeakMatrixTf32>,
    kSustainedStep<AttributeId::kSustainedMatrixF32, AttributeId::kPeakMatrixF32>,
    kSustainedStep<AttributeId::kSustainedMatrixFp8, AttributeId::kPeakMatrixFp8>,
    kSustainedStep<AttributeId::kSustainedMatrixS8, AttributeId::kPeakMatrixS8>,
    kSustainedStep<AttributeId::kSustainedMatrixF64, AttributeId::kPeakMatrixF64>,
    kSustainedStep<AttributeId::kSustainedSparseF16, AttributeId::kPeakSparseF16>,
};

}  // namespace

std::vector<OperationId> peak_operations(const DeviceInfo& info) {
  const Vendor vendor = vendor_of(info.vendor);
  const auto has_text = [&](OperationId id) {
    return !(vendor == Vendor::kAmd ? info_of(id).cdna : info_of(id).ptx).empty();
  };
  std::vector<OperationId> operations;
  for (const PeakRow& row : peak_rows()) {
    if (coverage_of(vendor, ElementId::kPeaks, row.attribute) == Coverage::kNotApplicable) continue;
    const std::size_t before = operations.size();
    std::ranges::copy_if(row.operations, std::back_inserter(operations), has_text);
    if (operations.size() == before) operations.push_back(row.operations.front());
  }
  // Volta's matrix operation is a sequence of instructions on all later GPUs.
  const bool has_later = refusal_by_capability(info.compute_capability_major, info.compute_capability_minor,
                                               info_of(OperationId::kMmaSmallF32F16))
                             .empty();
  if (has_later) std::erase(operations, OperationId::kMmaFourF32F16);
  return operations;
}

std::span<const Step> unit_steps() { return kUnitsSteps; }

}  // namespace gputopo
