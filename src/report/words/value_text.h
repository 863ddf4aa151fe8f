// A value in words, with all that is known of it: the same in every format.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// How a value came about, as words; empty where the vendor's interface says it, whatever was measured beside it.
[[nodiscard]] std::string method_text(const Attribute& attribute);

// "timed out: the budget of 60 s ran out".
[[nodiscard]] std::string why_absent(const Attribute& attribute);

// "(238 to 244 KiB)": the 95% interval, "(exact)" where it is one value; empty where there is none.
[[nodiscard]] std::string interval_text(const Attribute& attribute);

// A value with its unit: "236 GB/s", "38.62 cycles", "1 per SM", "texture, readonly", "none".
[[nodiscard]] std::string value_text(const Attribute& attribute);
// The same in a few words where the value is a map of SMs: "66 groups of 2".
[[nodiscard]] std::string brief_value_text(const Attribute& attribute);

// What is behind a latency of the near part of a cache: that of the far one. Nothing where the value is of both.
[[nodiscard]] std::optional<double> far_latency(const Attribute& latency);
// "281.2 cycles near, 452.7 far", or the latency alone.
[[nodiscard]] std::string latency_text(const Attribute& latency);
// A number of which the samples show only that it is not less: its interval begins with it.
[[nodiscard]] bool is_lower_bound(const Attribute& attribute);

// A bandwidth of the whole chip for each clock and SM, as the report tells or as follows from the clock and the number
// of SMs; nothing where these are unknown.
[[nodiscard]] std::optional<double> bytes_per_clock_and_unit(const Topology& topology, const Attribute& bandwidth);
// The same in words: "127.8 B/clk/SM".
[[nodiscard]] std::string rate_of_unit_text(const Topology& topology, const Attribute& bandwidth);
// What a value is of, where that is not what stands above it: ", whole chip" of bandwidths, as all SMs move together.
[[nodiscard]] std::string extent_text(std::string_view attribute);

// The details of an attribute or its conditions, as a reader takes them: "first miss", "218.9 KiB".
struct NamedText {
  std::string label;
  std::string text;
};
[[nodiscard]] std::vector<NamedText> named_texts(const NamedValues& named, const Attribute& attribute);
// What a reader must know to read the details beside the value: that they are of other loads. Empty for most.
[[nodiscard]] std::string details_note(const Attribute& attribute);
// All of them on one line: "first miss 218.9 KiB, ..., at sm clock 1980 MHz, ...".
[[nodiscard]] std::string details_text(const Attribute& attribute);
// A value with its unit where nothing may be left out: groups of SMs as "0-3, 8; 4-7".
[[nodiscard]] std::string whole_value_text(const Attribute& attribute);

// "gpu", "compute", an operation or a memory element: its heading and what is known of it.
struct ValueGroup {
  std::string id;
  std::string path;  // what stands before the name of each value in CSV and for `get`: "l2", "device", "memory.device"
  std::string title;
  const AttributeMap* attributes;
};
[[nodiscard]] std::vector<ValueGroup> value_groups(const Topology& topology);

// Where the JSON has a value: "memory.l2.latency", "device.sm_clock". `group` is the id of a ValueGroup.
[[nodiscard]] std::string json_path(std::string_view group, std::string_view attribute);

// What rows and comparisons call an operation: "instructions.fma.f32".
[[nodiscard]] std::string instruction_group(const Instruction& instruction);

}  // namespace gputopo::report
