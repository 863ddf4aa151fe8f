// Builds attributes from latencies.
#pragma once

#include "probe/latency/latency.h"
#include "probe/latency/memory_latency.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

[[nodiscard]] Attribute to_attribute(const LevelLatency& latency, bool keep_samples);
// Adds the levels of the survey from which the latency comes.
[[nodiscard]] Attribute to_attribute(const Survey& survey, const CacheLatency& latency, bool keep_samples);
[[nodiscard]] Attribute to_attribute(const MemoryLatency& latency, bool keep_samples);

}  // namespace gputopo::probe
