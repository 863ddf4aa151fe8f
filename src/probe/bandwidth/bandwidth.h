// Bandwidth: the best of a few shapes of stream, then that shape again for its spread. What fools it: a launch that is
// so short that its start and end count, and a footprint that another cache serves.
#pragma once

#include "probe/survey/site.h"

namespace gputopo::probe {

// Bytes per second that a stream moves, the median of three runs; 0 where it ends within the timer's resolution.
[[nodiscard]] double median_bandwidth(Lab& lab, const StreamProgram& program);
[[nodiscard]] Attribute measure_bandwidth(Lab& lab, const std::vector<StreamProgram>& candidates, std::string method);
// The rates of streams over ever larger footprints, as samples `by_footprint` of footprint_streams() and
// `by_cold_footprint` of cold_footprint_streams(): footprint_bytes or cold_footprint_bytes, sms, bytes_per_second.
[[nodiscard]] SampleTable measure_by_footprint(Lab& lab);
[[nodiscard]] SampleTable measure_by_cold_footprint(Lab& lab);

}  // namespace gputopo::probe
