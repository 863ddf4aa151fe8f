// Report values for the formats of other tools: plain numbers that fit, or an error that says what to measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// For a memory element. None if the report has no such value, or if it is infinite, not a number, or negative.
[[nodiscard]] std::optional<double> number_of(const Topology& topology, ElementId element, AttributeId attribute);
// For the compute units or the whole device.
[[nodiscard]] std::optional<double> number_of(const Topology& topology, AttributeId attribute);
// Returns a detail of an attribute; `attribute` may be null.
[[nodiscard]] std::optional<double> detail_of(const Attribute* attribute, std::string_view name);

// Rounded to whole numbers. None above 2^53, which no format represents exactly.
[[nodiscard]] std::optional<std::int64_t> count_of(const Topology& topology, ElementId element, AttributeId attribute);
[[nodiscard]] std::optional<std::int64_t> count_of(const Topology& topology, AttributeId attribute);
[[nodiscard]] std::optional<std::int64_t> whole(std::optional<double> number);

// Values that a format requires; throws a FormatError if one is missing. `format` is its name: "MT4G's JSON".
[[nodiscard]] std::int64_t needed(const Topology& topology, std::string_view format, ElementId element,
                                  AttributeId attribute);
[[nodiscard]] std::int64_t needed(const Topology& topology, std::string_view format, AttributeId attribute);

// The vendor's element: "l1" or "vl1", "shared" or "lds".
[[nodiscard]] ElementId first_level(const Topology& topology);
[[nodiscard]] ElementId scratchpad(const Topology& topology);

// Major and minor of the compute capability, or of AMD's gfx number (gfx942 is 9.4); none if the report has neither.
[[nodiscard]] std::optional<std::pair<int, int>> capability_of(const Topology& topology);

// Returns a list of names or numbers; empty if there is no such list.
[[nodiscard]] std::vector<std::string> texts_of(const Attribute* attribute);
[[nodiscard]] std::vector<double> numbers_of(const Attribute* attribute, std::string_view detail);

// Notices that every format shows about a whole report: SIMULATED, INCOMPLETE, and the warnings.
// Control characters are escaped, so each is one line.
[[nodiscard]] std::vector<std::string> notices(const Topology& topology);

// "gputopo 0.1.0, measured 2026-01-02T03:04:05Z": the report's generator and time, with control characters escaped.
[[nodiscard]] std::string origin(const Topology& topology);

}  // namespace gputopo::report
