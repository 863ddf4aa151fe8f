// Texts for a value and everything known about it, shared by all formats.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// Describes how a value was obtained. Empty if the vendor's interface reports it, even if it was also measured.
[[nodiscard]] std::string method_text(const Attribute& attribute);

// "timed out: the budget of 60 s ran out".
[[nodiscard]] std::string why_absent(const Attribute& attribute);

// "(238 to 244 KiB)": the 95% interval. "(exact)" if it is one value; empty if there is none.
[[nodiscard]] std::string interval_text(const Attribute& attribute);

// A value with its unit: "236 GB/s", "38.62 cycles", "1 per SM", "texture, readonly", "none".
[[nodiscard]] std::string value_text(const Attribute& attribute);
// Short form: a map of SMs becomes "66 groups of 2".
[[nodiscard]] std::string brief_value_text(const Attribute& attribute);

// If the latency is that of a cache's near part, returns that of the far part. Nothing if the value covers both.
[[nodiscard]] std::optional<double> far_latency(const Attribute& latency);
// "281.2 cycles near, 452.7 far", or the latency alone.
[[nodiscard]] std::string latency_text(const Attribute& latency);
// True if the samples only show a lower bound: the interval begins at the value.
[[nodiscard]] bool is_lower_bound(const Attribute& attribute);

// Chip bandwidth per clock and SM: the report's detail, or derived from clock and SM count. None if these are unknown.
[[nodiscard]] std::optional<double> bytes_per_clock_and_unit(const Topology& topology, const Attribute& bandwidth);
// The same as text: "127.8 B/clk/SM".
[[nodiscard]] std::string rate_of_unit_text(const Topology& topology, const Attribute& bandwidth);
// Says what a value covers if it differs from the heading: ", whole chip" for bandwidths, which all SMs reach together.
[[nodiscard]] std::string extent_text(std::string_view attribute);

// A detail or condition as readers see it: "first miss", "218.9 KiB".
struct NamedText {
  std::string label;
  std::string text;
};
[[nodiscard]] std::vector<NamedText> named_texts(const NamedValues& named, const Attribute& attribute);
// A caveat for the details beside the value: they may come from other loads. Usually empty.
[[nodiscard]] std::string details_note(const Attribute& attribute);
// All details and conditions on one line: "first miss 218.9 KiB, ..., at sm clock 1980 MHz, ...".
[[nodiscard]] std::string details_text(const Attribute& attribute);
// A value with its unit and nothing left out: groups of SMs as "0-3, 8; 4-7".
[[nodiscard]] std::string whole_value_text(const Attribute& attribute);

// A heading and its attributes: "gpu", "compute", an operation or a memory element.
struct ValueGroup {
  std::string id;
  std::string path;  // prefix of value names in CSV and for `get`: "l2", "device", "memory.device"
  std::string title;
  const AttributeMap* attributes;
};
[[nodiscard]] std::vector<ValueGroup> value_groups(const Topology& topology);

// A value's path in the JSON: "memory.l2.latency", "device.sm_clock". `group` is a ValueGroup::id.
[[nodiscard]] std::string json_path(std::string_view group, std::string_view attribute);

// An operation's id in rows and comparisons: "instructions.fma.f32".
[[nodiscard]] std::string instruction_group(const Instruction& instruction);

}  // namespace gputopo::report
