// One value of a report by its path, for scripts: "l2.size", "compute.sm_count", "instructions.fma.f32.latency",
// "device.name". A memory element that is called like the device is "memory.device", or "device" where the device as a
// whole has no such value. Behind the path may stand what else the JSON has of the value: "l2.size.high",
// "l2.size.details.measured_bytes". Paths may be written as jq takes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// None where the report has nothing of that name, not even why there is no value.
[[nodiscard]] std::optional<Attribute> value_at(const Topology& topology, std::string_view path);

// The path of the value, without what is asked of it: "l2.size" of "l2.size.high".
[[nodiscard]] std::string attribute_path(std::string_view path);

// Every path that a report may have, of the catalogue: of all vendors, and of what no report has yet.
[[nodiscard]] std::vector<std::string> known_paths();

// Throws UsageError, in one line with the nearest names, for a path that is neither of the catalogue nor of `topology`,
// which may be null; of a detail that a value of `topology` does not have, with those that it has.
void require_known_path(std::string_view path, const Topology* topology);

// What is to be measured for it, as DiscoverOptions::elements takes it: what is read from the driver is in every
// report.
[[nodiscard]] std::string element_to_measure(std::string_view whole);

}  // namespace gputopo::report
