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

Attribute resident_warps(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_resident_warps(lab);
}
Attribute resident_blocks(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_resident_blocks(lab);
}
Attribute register_file(Context& context, const ElementInfo&) { return context.registers().file; }
Attribute register_unit(Context& context, const ElementInfo&) { return context.registers().unit; }
Attribute shared_unit(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_shared_unit(lab);
}
Attribute schedulers(Context& context, const ElementInfo&) { return context.schedulers(); }

Attribute clock_step(Context& context, const ElementInfo&) { return context.clocks().step; }
Attribute timer_step(Context& context, const ElementInfo&) { return context.clocks().timer_step; }
Attribute clock_groups(Context& context, const ElementInfo&) { return context.clocks().groups; }

Attribute launch_latency(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_launch_latency(lab);
}
template <LaunchWay kWay>
Attribute launch_interval(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_launch_interval(lab, kWay);
}
Attribute graph_launch_latency(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_graph_launch_latency(lab);
}

Attribute barrier_latency(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_barrier(lab);
}
Attribute cluster_barrier(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_cluster_barrier(lab);
}
Attribute grid_barrier(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_grid_barrier(lab);
}
template <OperationId kOperation>
Attribute jump(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_jump(lab, kOperation);
}
Attribute divergence_cost(Context& context, const ElementInfo&) { return context.sides().cost; }
Attribute sides_interleave(Context& context, const ElementInfo&) { return context.sides().interleave; }

// The operations that a GPU may do arithmetic of a type by; the one that does most counts.
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

// `kAttribute`: the peak of the same arithmetic.
template <AttributeId kAttribute>
Attribute sustained(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  Attribute attribute = probe::measure_sustained(lab, best_of(context, kAttribute));
  if (attribute.available()) attribute.unit = info_of(kAttribute).unit;
  return attribute;
}

std::vector<Program> expected_of_peaks(const DeviceInfo& info) {
  return probe::expected_of_peaks(info, peak_operations(info));
}

constexpr Step kUnitsSteps[] = {
    {ElementKind::kRegisters, AttributeId::kSchedulers, schedulers},
    {ElementKind::kRegisters, AttributeId::kResidentWarps, resident_warps},
    {ElementKind::kRegisters, AttributeId::kResidentBlocks, resident_blocks},
    {ElementKind::kRegisters, AttributeId::kRegisterFile, register_file},
    {ElementKind::kRegisters, AttributeId::kRegisterUnit, register_unit},
    {ElementKind::kRegisters, AttributeId::kSharedUnit, shared_unit},
    {ElementKind::kClocks, AttributeId::kClockStep, clock_step},
    {ElementKind::kClocks, AttributeId::kTimerStep, timer_step},
    {ElementKind::kClocks, AttributeId::kClockGroups, clock_groups},
    {ElementKind::kClocks, AttributeId::kLaunchLatency, launch_latency},
    {ElementKind::kClocks, AttributeId::kLaunchInterval, launch_interval<LaunchWay::kCalls>},
    {ElementKind::kClocks, AttributeId::kGraphLaunchLatency, graph_launch_latency},
    {ElementKind::kClocks, AttributeId::kGraphLaunchInterval, launch_interval<LaunchWay::kGraph>},
    {ElementKind::kControl, AttributeId::kBarrierLatency, barrier_latency},
    {ElementKind::kControl, AttributeId::kClusterBarrier, cluster_barrier},
    {ElementKind::kControl, AttributeId::kGridBarrier, grid_barrier},
    {ElementKind::kControl, AttributeId::kBranchCost, jump<OperationId::kBra>},
    {ElementKind::kControl, AttributeId::kCallCost, jump<OperationId::kCall>},
    {ElementKind::kControl, AttributeId::kDivergenceCost, divergence_cost},
    {ElementKind::kControl, AttributeId::kSidesInterleave, sides_interleave},
    {ElementKind::kPeaks, AttributeId::kPeakF16, peak<AttributeId::kPeakF16>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakBf16, peak<AttributeId::kPeakBf16>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakF32, peak<AttributeId::kPeakF32>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakF64, peak<AttributeId::kPeakF64>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakS32, peak<AttributeId::kPeakS32>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakU8, peak<AttributeId::kPeakU8>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakMatrixF16, peak<AttributeId::kPeakMatrixF16>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kSustainedMatrixF16, sustained<AttributeId::kPeakMatrixF16>, expected_of_peaks,
     true},
    {ElementKind::kPeaks, AttributeId::kPeakMatrixBf16, peak<AttributeId::kPeakMatrixBf16>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakMatrixTf32, peak<AttributeId::kPeakMatrixTf32>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakMatrixF32, peak<AttributeId::kPeakMatrixF32>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakMatrixFp8, peak<AttributeId::kPeakMatrixFp8>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakMatrixS8, peak<AttributeId::kPeakMatrixS8>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakMatrixF64, peak<AttributeId::kPeakMatrixF64>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kPeakSparseF16, peak<AttributeId::kPeakSparseF16>, expected_of_peaks},
    {ElementKind::kPeaks, AttributeId::kSustainedF16, sustained<AttributeId::kPeakF16>, expected_of_peaks, true},
    {ElementKind::kPeaks, AttributeId::kSustainedBf16, sustained<AttributeId::kPeakBf16>, expected_of_peaks, true},
    {ElementKind::kPeaks, AttributeId::kSustainedF32, sustained<AttributeId::kPeakF32>, expected_of_peaks, true},
    {ElementKind::kPeaks, AttributeId::kSustainedF64, sustained<AttributeId::kPeakF64>, expected_of_peaks, true},
    {ElementKind::kPeaks, AttributeId::kSustainedS32, sustained<AttributeId::kPeakS32>, expected_of_peaks, true},
    {ElementKind::kPeaks, AttributeId::kSustainedU8, sustained<AttributeId::kPeakU8>, expected_of_peaks, true},
    {ElementKind::kPeaks, AttributeId::kSustainedMatrixBf16, sustained<AttributeId::kPeakMatrixBf16>, expected_of_peaks,
     true},
    {ElementKind::kPeaks, AttributeId::kSustainedMatrixTf32, sustained<AttributeId::kPeakMatrixTf32>, expected_of_peaks,
     true},
    {ElementKind::kPeaks, AttributeId::kSustainedMatrixF32, sustained<AttributeId::kPeakMatrixF32>, expected_of_peaks,
     true},
    {ElementKind::kPeaks, AttributeId::kSustainedMatrixFp8, sustained<AttributeId::kPeakMatrixFp8>, expected_of_peaks,
     true},
    {ElementKind::kPeaks, AttributeId::kSustainedMatrixS8, sustained<AttributeId::kPeakMatrixS8>, expected_of_peaks,
     true},
    {ElementKind::kPeaks, AttributeId::kSustainedMatrixF64, sustained<AttributeId::kPeakMatrixF64>, expected_of_peaks,
     true},
    {ElementKind::kPeaks, AttributeId::kSustainedSparseF16, sustained<AttributeId::kPeakSparseF16>, expected_of_peaks,
     true},
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
  // What Volta's unit does is a sequence on all later ones.
  const bool has_later = refusal_by_capability(info.compute_capability_major, info.compute_capability_minor,
                                               info_of(OperationId::kMmaSmallF32F16))
                             .empty();
  if (has_later) std::erase(operations, OperationId::kMmaFourF32F16);
  return operations;
}

std::span<const Step> unit_steps() { return kUnitsSteps; }

}  // namespace gputopo
