#include "device/hip/chase_source.h"

#include <cstddef>

#include "device/hip/chase_kernels_source.h"
#include "device/hip/chase_steps_source.h"
#include "device/hip/gfx_target.h"
#include "device/hip/source_text.h"
#include "device/launch/kernel_layout.h"
#include "gputopo/program/chase.h"

namespace gputopo::hip {

using namespace launch;

namespace {

void add_constants(SourceText& text) {
  text.constant("kUnroll", kUnroll);
  text.constant("kHistogramBins", kHistogramBins);
  text.constant("kHistogramBinCycles", kHistogramBinCycles);
  text.constant("kStepCodes", kStepCodes);
  text.constant("kTouch", static_cast<std::uint32_t>(StepCode::kTouch));
  text.constant("kTimed", static_cast<std::uint32_t>(StepCode::kTimed));
  text.constant("kPaired", static_cast<std::uint32_t>(StepCode::kPaired));
  text.constant("kPairedZeroCycles", kPairedZeroCycles);
  text.constant("kStore", static_cast<std::uint32_t>(StepCode::kStore));
  text.constant("kGlobalSpace", static_cast<std::uint32_t>(Space::kGlobal));
  text.constant("kPointerForm", static_cast<std::uint32_t>(LinkForm::kPointer));
  text.constant("kNoLink", kNoLink);
  text.constant("kNoTurn", kNoTurn);
}

void add_layout(SourceText& text) {
#define GPUTOPO_OFFSET(type, field) text.constant("k" #type "_" #field, offsetof(type, field));
  GPUTOPO_OFFSET(ChaseTask, steps)
  GPUTOPO_OFFSET(ChaseTask, result)
  GPUTOPO_OFFSET(ChaseTask, shared_image)
  GPUTOPO_OFFSET(ChaseTask, shared_bytes)
  GPUTOPO_OFFSET(ChaseTask, shared_offset)
  GPUTOPO_OFFSET(ChaseTask, latency_offset)
  GPUTOPO_OFFSET(ChaseTask, step_count)
  GPUTOPO_OFFSET(ChaseTask, wanted_sm)
  GPUTOPO_OFFSET(ChaseTask, never)
  GPUTOPO_OFFSET(ChaseTask, dry_passes)
  GPUTOPO_OFFSET(ChaseTask, patience_cycles)
  GPUTOPO_OFFSET(ChaseTask, slot)
  GPUTOPO_OFFSET(ChaseTask, turn)
  GPUTOPO_OFFSET(ChaseTask, longest_wait_cycles)
  GPUTOPO_OFFSET(StepTask, start)
  GPUTOPO_OFFSET(StepTask, base)
  GPUTOPO_OFFSET(StepTask, stride_bytes)
  GPUTOPO_OFFSET(StepTask, skew_bytes)
  GPUTOPO_OFFSET(StepTask, stagger_bytes)
  GPUTOPO_OFFSET(StepTask, stagger_mask)
  GPUTOPO_OFFSET(StepTask, table)
  GPUTOPO_OFFSET(StepTask, result)
  GPUTOPO_OFFSET(StepTask, code)
  GPUTOPO_OFFSET(StepTask, thread)
  GPUTOPO_OFFSET(StepTask, loads)
  GPUTOPO_OFFSET(StepTask, cap)
  GPUTOPO_OFFSET(StepTask, slot)
  GPUTOPO_OFFSET(StepTask, elements)
  GPUTOPO_OFFSET(StepRecord, cycles)
  GPUTOPO_OFFSET(FillTask, address)
  GPUTOPO_OFFSET(FillTask, link_base)
  GPUTOPO_OFFSET(FillTask, stride_bytes)
  GPUTOPO_OFFSET(FillTask, skew_bytes)
  GPUTOPO_OFFSET(FillTask, stagger_bytes)
  GPUTOPO_OFFSET(FillTask, stagger_mask)
  GPUTOPO_OFFSET(FillTask, tables)
  GPUTOPO_OFFSET(FillTask, reversed)
  GPUTOPO_OFFSET(FillTask, visited)
  GPUTOPO_OFFSET(FillTask, count)
  GPUTOPO_OFFSET(FillTask, form)
#undef GPUTOPO_OFFSET
  text.constant("kChaseTask_bytes", sizeof(ChaseTask));
  text.constant("kStepTask_bytes", sizeof(StepTask));
  text.constant("kFillTask_bytes", sizeof(FillTask));
  text.constant("kStepRecord_end", sizeof(StepRecord));
}

}  // namespace

std::string generate_chase_source(const GfxTarget& target) {
  SourceText text(target);
  add_constants(text);
  add_layout(text);
  text.raw(kChaseStructs);
  text.raw(step_functions(target));
  text.raw(chase_kernels());
  return text.take();
}

}  // namespace gputopo::hip
