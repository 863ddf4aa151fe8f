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
  text.offsets("ChaseTask",
               "steps result shared_image shared_bytes shared_offset latency_offset step_count wanted_sm never "
               "dry_passes patience_cycles slot turn longest_wait_cycles");
  text.offsets(
      "StepTask",
      "start base stride_bytes skew_bytes stagger_bytes stagger_mask table result code thread loads cap slot elements");
  text.offsets("StepRecord", "cycles");
  text.offsets(
      "FillTask",
      "address link_base stride_bytes skew_bytes stagger_bytes stagger_mask tables reversed visited count form");
  text.size_of("ChaseTask");
  text.size_of("StepTask");
  text.size_of("FillTask");
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
