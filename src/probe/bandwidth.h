// Bandwidth: the best of a few shapes of stream, then that shape again for its spread. What fools it: a launch that is
// so short that its start and end count, and a footprint that another cache serves.
#pragma once

#include "probe/site.h"

namespace gputopo::probe {

// Bytes per second that a stream moves, the median of three runs; 0 where it ends within the timer's resolution.
[[nodiscard]] double median_bandwidth(Lab& lab, const StreamProgram& program);
[[nodiscard]] Attribute measure_bandwidth(Lab& lab, const std::vector<StreamProgram>& candidates, std::string method);
// The rates of streams over ever larger footprints (footprint_streams()), as samples `by_footprint`: footprint_bytes,
// sms, bytes_per_second.
[[nodiscard]] SampleTable measure_by_footprint(Lab& lab, const std::vector<StreamProgram>& streams);

}  // namespace gputopo::probe
