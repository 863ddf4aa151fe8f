// Values of a report as the formats of other tools need them: plain numbers that fit, or what is to be measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// Of a memory element; none where the report has no such value, or none that is a finite number of 0 or more.
[[nodiscard]] std::optional<double> number_of(const Topology& topology, ElementId element, AttributeId attribute);
// Of the compute units or the device as a whole.
[[nodiscard]] std::optional<double> number_of(const Topology& topology, AttributeId attribute);
// A detail of an attribute that may be null.
[[nodiscard]] std::optional<double> detail_of(const Attribute* attribute, std::string_view name);

// The same as whole numbers, rounded; none beyond 2^53, which no format holds exactly.
[[nodiscard]] std::optional<std::int64_t> count_of(const Topology& topology, ElementId element, AttributeId attribute);
[[nodiscard]] std::optional<std::int64_t> count_of(const Topology& topology, AttributeId attribute);
[[nodiscard]] std::optional<std::int64_t> whole(std::optional<double> number);

// What a format cannot do without: throws FormatError where the report lacks it. `format` is what asks: "MT4G's JSON".
[[nodiscard]] std::int64_t needed(const Topology& topology, std::string_view format, ElementId element,
                                  AttributeId attribute);
[[nodiscard]] std::int64_t needed(const Topology& topology, std::string_view format, AttributeId attribute);

// The vendor's names of one element: "l1" or "vl1", "shared" or "lds".
[[nodiscard]] ElementId first_level(const Topology& topology);
[[nodiscard]] ElementId scratchpad(const Topology& topology);

// Major and minor, of NVIDIA's compute capability or the gfx number of AMD's architecture (gfx942 is 9.4); none where
// the report tells neither.
[[nodiscard]] std::optional<std::pair<int, int>> capability_of(const Topology& topology);

// The names of texts, of numbers; empty where there is no such list.
[[nodiscard]] std::vector<std::string> texts_of(const Attribute* attribute);
[[nodiscard]] std::vector<double> numbers_of(const Attribute* attribute, std::string_view detail);

// What every format says of a report as a whole where it can: SIMULATED, INCOMPLETE, the warnings, visible lines.
[[nodiscard]] std::vector<std::string> notices(const Topology& topology);

// "gputopo 0.1.0, 2026-01-02T03:04:05Z": what made the report, and when. A visible line.
[[nodiscard]] std::string origin(const Topology& topology);

}  // namespace gputopo::report
