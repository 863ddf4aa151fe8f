// What hardware allows in theory, beside what was measured.
#pragma once

#include "gputopo/model.h"

namespace gputopo {

// Of a bandwidth of device memory and the lower one that its clock and bus allow, one is wrong. If the stream was much
// larger than the last cache, the theoretical one is withdrawn: some drivers report a wrong clock or width. Otherwise
// caches served part of the stream, and the measured one is.
void settle_theoretical_bandwidth(Topology& topology);

// Adds `theoretical_bytes_per_second` to bandwidths with a known bound: device memory by its bus, shared memory by its
// banks, and reads of a cache that lies in the same banks.
void add_theoretical_bandwidths(Topology& topology);

// Adds `sms_alone_bytes_per_second` to read bandwidths of levels that all SMs share: the sum of what each SM reads
// alone. Warns if it explains why device memory reaches far less than its clock and bus allow.
void add_bounds_of_sms(Topology& topology);

// Whether the SMs cannot request more, by that detail.
[[nodiscard]] bool is_bound_by_sms(const Attribute& bandwidth);

}  // namespace gputopo
