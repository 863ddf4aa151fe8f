// Bandwidth: tries a few stream shapes, then repeats the best one for its spread. What fools it: a launch so short
// that its start and end count; a footprint that another cache serves.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Bytes per second that a stream moves, the median of three runs; 0 if it ends within the timer's resolution.
[[nodiscard]] double median_bandwidth(ProbeRunner& runner, const StreamProgram& program);
[[nodiscard]] Attribute measure_bandwidth(ProbeRunner& runner, const std::vector<StreamProgram>& candidates,
                                          std::string method);
// Rates of streams over growing footprints: samples `by_footprint` (footprint_streams()) and `by_cold_footprint`
// (cold_footprint_streams()), with footprint_bytes or cold_footprint_bytes, sms, bytes_per_second.
[[nodiscard]] SampleTable measure_by_footprint(ProbeRunner& runner);
[[nodiscard]] SampleTable measure_by_cold_footprint(ProbeRunner& runner);

}  // namespace gputopo::probe
