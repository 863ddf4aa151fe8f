// Data caches under load: bandwidths, stores, atomics and loaded latency.
#include <algorithm>

#include "discover/findings/reported_values.h"
#include "discover/measure/cache.h"
#include "discover/measure/general.h"
#include "discover/measure/step.h"
#include "probe/bandwidth/bandwidth.h"
#include "probe/bandwidth/streams.h"
#include "probe/bandwidth/write_policy.h"
#include "probe/warps/atomics.h"
#include "probe/warps/loaded_latency.h"

namespace gputopo {
namespace {

using probe::Cache;
using probe::ProbeRunner;

// For a shared or nearest cache, streams cover the footprint that the survey saw fit. A cache behind another one of
// the SM needs its capacity, because the footprint must clearly exceed the nearer cache.
const Cache& streamed_cache(Context& context, const ElementInfo& element) {
  const Cache& located_cache = context.caches.located_cache(element.id);
  const bool is_seen = located_cache.site().exclusive || located_cache.nearer_bytes == 0;
  return is_seen ? context.caches.fetched(element.id) : context.caches.cache_with_size(element.id);
}

template <StreamOp kOp>
Attribute bandwidth(Context& context, const ElementInfo& element) {
  // Stores do not use an L2 for textures.
  if (kOp == StreamOp::kWrite && element.scope == Scope::kGpu) context.caches.require_l2_of_globals(element.id);
  const Cache& cache = streamed_cache(context, element);
  ProbeRunner runner = context.runner();
  return probe::measure_bandwidth(runner, probe::cache_streams(runner, cache, kOp), "best_stream");
}

Attribute sm_read_bandwidth(Context& context, const ElementInfo& element) {
  const Cache& cache = streamed_cache(context, element);
  ProbeRunner runner = context.runner();
  return probe::measure_bandwidth(runner, probe::one_sm_cache_streams(cache), "best_stream_of_one_sm");
}

bool far_hits_look_like_misses(Context& context, const ElementInfo& element) {
  if (!context.caches.may_have_partitions(element.id)) return false;
  try {
    return context.caches.partitions(element.id).far_is_beyond;
  } catch (const NotSupportedError&) {
    return false;
  } catch (const probe::Inconclusive&) {
    return false;
  }
}

Attribute write_allocate(Context& context, const ElementInfo& element) {
  // A shared cache is evicted first, so its size must be known.
  if (element.scope == Scope::kGpu) context.caches.require_l2_of_globals(element.id);
  const Cache& cache = context.caches.cache_with_size(element.id);
  if (element.scope == Scope::kGpu && far_hits_look_like_misses(context, element)) {
    throw probe::Inconclusive("hits in the far partition of L2 look like loads from memory");
  }
  ProbeRunner runner = context.runner();
  Attribute allocates = probe::measure_write_allocate(runner, cache);
  flag_hidden_memory(context, element, allocates);
  return allocates;
}

// The write policy of a cache that SMs share. In front of an L3, stores stay in L2 if they are faster than what is
// behind L2 can accept, measured or in theory.
Attribute write_policy_of_shared(Context& context, const ElementInfo& element) {
  context.caches.require_l2_of_globals(element.id);
  const double theoretical = theoretical_memory_bytes_per_second(context.info()).value_or(0);
  const ElementId next = next_of(context.vendor(), element.id).value_or(ElementId::kDevice);
  if (next == ElementId::kDevice) {
    const Attribute& size = context.attribute(element.id, AttributeId::kSize);
    if (!size.available()) return unavailable(Reason::kDependency, "the size of L2 is unknown");
    ProbeRunner runner = context.runner();
    return probe::measure_write_policy_beside_reads(runner, context.caches.located_cache(element.id).site().space,
                                                    static_cast<std::uint64_t>(*size.number()),
                                                    probe::memory_stream_bytes(runner), theoretical);
  }
  const Attribute& own = context.attribute(element.id, AttributeId::kWriteBandwidth);
  const Attribute& memory = context.attribute(ElementId::kDevice, AttributeId::kWriteBandwidth);
  if (!own.available() || !memory.available()) {
    return unavailable(Reason::kDependency, "the write bandwidth of L2 or of device memory is unknown");
  }
  const Attribute& behind = context.attribute(next, AttributeId::kWriteBandwidth);
  const double most = std::max({*memory.number(), theoretical, behind.number().value_or(0)});
  Attribute policy = probe::write_policy_by_bandwidth(*own.number(), most);
  policy.conditions = conditions_of({&own, &memory, &behind});
  return policy;
}

Attribute write_policy(Context& context, const ElementInfo& element) {
  if (element.scope == Scope::kGpu) return write_policy_of_shared(context, element);
  const Cache& l1 = context.caches.cache_with_size(element.id);  // throws if there is none
  const Attribute& allocates = context.attribute(ElementId::kL2, AttributeId::kWriteAllocate);
  if (!allocates.available())
    return unavailable(Reason::kDependency, "it is unknown whether L2 allocates lines on stores");
  if (allocates.value != Value(true)) {
    throw probe::Inconclusive("L2 does not allocate lines on stores, so loads cannot show whether stores reach it");
  }
  ProbeRunner runner = context.runner();
  return probe::measure_write_policy(runner, l1, context.caches.cache_with_size(ElementId::kL2));
}

// Throws unless the cache is present and programs can use it.
void require_accessible(Context& context, const ElementInfo& element) {
  if (element.id == ElementId::kL1) context.caches.require_l1_caching();
  if (element.scope == Scope::kGpu) context.caches.require_l2_of_globals(element.id);
  context.require_space(*element.space);
}

Attribute atomic_latency(Context& context, const ElementInfo& element) {
  require_accessible(context, element);
  ProbeRunner runner = context.runner();
  return probe::measure_atomic_latency(runner, *element.space);
}

Attribute atomic_throughput(Context& context, const ElementInfo& element) {
  require_accessible(context, element);
  ProbeRunner runner = context.runner();
  return probe::measure_atomic_throughput(runner, *element.space);
}

Attribute loaded_latency(Context& context, const ElementInfo& element) {
  require_accessible(context, element);
  ProbeRunner runner = context.runner();
  return probe::measure_loaded_latency(
      runner, element.scope == Scope::kGpu ? probe::LoadedLevel::kL2 : probe::LoadedLevel::kL1);
}

constexpr Step kCacheTrafficSteps[] = {
    {ElementKind::kDataCache, AttributeId::kReadBandwidth, bandwidth<StreamOp::kRead>},
    {ElementKind::kDataCache, AttributeId::kWriteBandwidth, bandwidth<StreamOp::kWrite>},
    {ElementKind::kDataCache, AttributeId::kSmReadBandwidth, sm_read_bandwidth},
    {ElementKind::kDataCache, AttributeId::kWriteAllocate, write_allocate},
    {ElementKind::kDataCache, AttributeId::kWritePolicy, write_policy},
    {ElementKind::kDataCache, AttributeId::kAtomicLatency, atomic_latency},
    {ElementKind::kDataCache, AttributeId::kAtomicThroughput, atomic_throughput},
    {ElementKind::kDataCache, AttributeId::kLoadedLatency, loaded_latency, one_kernel_of<AccessProgram>},
};

}  // namespace

std::span<const Step> cache_traffic_steps() { return kCacheTrafficSteps; }

}  // namespace gputopo
