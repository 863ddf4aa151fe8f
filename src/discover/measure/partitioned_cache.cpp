// The cache that all SMs share: partitions, slices, latency from each SM, and fetches under the driver's limit.
#include <fmt/format.h>

#include "discover/measure/step.h"
#include "probe/capacity/fetch_limit.h"
#include "probe/latency/placement.h"
#include "probe/partitions/near_sms.h"
#include "probe/partitions/partitions.h"
#include "probe/partitions/slices.h"

namespace gputopo {
namespace {

using probe::Cache;
using probe::ProbeRunner;

Attribute partitions(Context& context, const ElementInfo& element) {
  context.caches.require_l2_of_globals(element.id);
  return to_attribute(context.caches.partitions(element.id));
}

Attribute near_sms(Context& context, const ElementInfo& element) {
  const Attribute& partitions = context.attribute(element.id, AttributeId::kPartitions);
  if (partitions.reason == Reason::kNotPresent) throw probe::NotPresent(partitions.detail);
  if (!partitions.available()) return unavailable(Reason::kDependency, "the number of partitions is unknown");
  const double count = *partitions.number();
  if (count < 2) throw probe::NotPresent("there is only one partition, and all SMs are near it");
  const probe::SmsByPartition& sides = context.caches.sides(element.id);
  if (static_cast<double>(sides.sms.size()) != count) {
    throw probe::Inconclusive(fmt::format(
        "the cache has {:.0f} partitions, but latencies divide the SMs into {} groups", count, sides.sms.size()));
  }
  ProbeRunner runner = context.runner();
  return probe::measure_near_sms(runner, context.caches.cache_with_size(element.id), sides);
}

Attribute slices(Context& context, const ElementInfo& element) {
  context.caches.require_l2_of_globals(element.id);
  const Cache& cache = context.caches.cache_with_size(element.id);
  ProbeRunner runner = context.runner();
  return probe::measure_slices(runner, cache);
}

Attribute min_fetch_granularity(Context& context, const ElementInfo& element) {
  ProbeRunner runner = context.runner();
  probe::require_fetch_limits(runner, context.surveys.site(*element.space));
  context.caches.require_l2_of_globals(element.id);
  return probe::measure_least_fetch(runner, context.caches.located_cache(element.id));
}

Attribute sm_latencies(Context& context, const ElementInfo& element) {
  const Cache& cache = context.caches.cache_with_size(element.id);
  ProbeRunner runner = context.runner();
  return probe::measure_sm_latencies(runner, cache);
}

constexpr Step kPartitionedCacheSteps[] = {
    {ElementKind::kDataCache, AttributeId::kSmLatencies, sm_latencies},
    {ElementKind::kDataCache, AttributeId::kPartitions, partitions},
    {ElementKind::kDataCache, AttributeId::kNearSms, near_sms},
    {ElementKind::kDataCache, AttributeId::kSlices, slices},
    {ElementKind::kDataCache, AttributeId::kMinFetchGranularity, min_fetch_granularity},
};

}  // namespace

std::span<const Step> partitioned_cache_steps() { return kPartitionedCacheSteps; }

}  // namespace gputopo
