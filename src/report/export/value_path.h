// Finds a report's value by its path, for scripts: "l2.size", "compute.sm_count", "instructions.fma.f32.latency",
// "device.name". A memory element named like the device is "memory.device", or "device" if the device has no such
// value. A suffix selects another JSON field: "l2.size.high", "l2.size.details.measured_bytes". jq's syntax works, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// None if the report has nothing under that name, not even a reason.
[[nodiscard]] std::optional<Attribute> value_at(const Topology& topology, std::string_view path);

// Returns the path without the field: "l2.size" for "l2.size.high".
[[nodiscard]] std::string attribute_path(std::string_view path);

// Returns every path of the catalogue: all vendors, including values that no report has yet.
[[nodiscard]] std::vector<std::string> known_paths();

// Throws a one-line UsageError with the nearest names if neither the catalogue nor `topology` (may be null) has the
// path. For an unknown detail of an existing value, the error lists the value's details.
void require_known_path(std::string_view path, const Topology* topology);

// Returns what must be measured for a path (DiscoverOptions::elements). Driver values are in every report.
[[nodiscard]] std::string element_to_measure(std::string_view whole);

}  // namespace gputopo::report
