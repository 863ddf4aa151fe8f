// On-chip memory that programs address: shared memory, the local data share.
#include "discover/findings/reported_values.h"
#include "discover/measure/step.h"
#include "probe/bandwidth/bandwidth.h"
#include "probe/bandwidth/streams.h"
#include "probe/latency/latency.h"
#include "probe/survey/site.h"
#include "probe/warps/atomics.h"
#include "probe/warps/banks.h"
#include "probe/warps/loaded_latency.h"

namespace gputopo {
namespace {

Attribute shared_size(Context& context, const ElementInfo& element) {
  return reported_size(context.info(), element.id);
}

Attribute shared_latency(Context& context, const ElementInfo& element) {
  probe::ProbeRunner runner = context.runner();
  return probe::measure_shared_latency(runner, context.surveys.site(*element.space));
}

template <StreamOp kOp>
Attribute shared_bandwidth(Context& context, const ElementInfo&) {
  probe::ProbeRunner runner = context.runner();
  return probe::measure_bandwidth(runner, probe::scratchpad_streams(kOp), "best_stream");
}

Attribute banks(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  return probe::banks(context.bank_curve(), context.bank_fit());
}

Attribute bank_width(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  return probe::bank_width(context.bank_curve(), context.bank_fit());
}

Attribute conflict_cost(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  return probe::conflict_cost(context.runner(), context.bank_curve(), context.bank_fit());
}

Attribute bank_interleave(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_bank_interleave(runner, context.bank_curve(), context.bank_fit());
}

Attribute lanes_per_request(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_request_lanes(runner, context.bank_fit());
}

Attribute store_latency(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_store_latency(runner);
}

Attribute shared_atomic_latency(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_atomic_latency(runner, *element.space);
}

Attribute shared_atomic_throughput(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_atomic_throughput(runner, *element.space);
}

Attribute shared_loaded_latency(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_loaded_latency(runner, probe::LoadedLevel::kShared);
}

constexpr Step kScratchpadSteps[] = {
    {ElementKind::kScratchpad, AttributeId::kSize, shared_size},
    {ElementKind::kScratchpad, AttributeId::kLatency, shared_latency},
    {ElementKind::kScratchpad, AttributeId::kReadBandwidth, shared_bandwidth<StreamOp::kRead>},
    {ElementKind::kScratchpad, AttributeId::kWriteBandwidth, shared_bandwidth<StreamOp::kWrite>},
    {ElementKind::kScratchpad, AttributeId::kBanks, banks},
    {ElementKind::kScratchpad, AttributeId::kBankWidth, bank_width},
    {ElementKind::kScratchpad, AttributeId::kBankInterleave, bank_interleave},
    {ElementKind::kScratchpad, AttributeId::kLanesPerRequest, lanes_per_request},
    {ElementKind::kScratchpad, AttributeId::kConflictCost, conflict_cost},
    {ElementKind::kScratchpad, AttributeId::kStoreLatency, store_latency},
    {ElementKind::kScratchpad, AttributeId::kAtomicLatency, shared_atomic_latency},
    {ElementKind::kScratchpad, AttributeId::kAtomicThroughput, shared_atomic_throughput},
    {ElementKind::kScratchpad, AttributeId::kLoadedLatency, shared_loaded_latency, one_kernel_of<AccessProgram>},
};

}  // namespace

std::span<const Step> scratchpad_steps() { return kScratchpadSteps; }

}  // namespace gputopo
