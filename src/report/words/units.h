// Names and numbers with units, as people read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

// "miss_penalty" as "miss penalty", "near_sms" as "near SMs".
[[nodiscard]] std::string readable(std::string_view name);

// At most `digits` significant digits, no exponent, no trailing zeros after the point: 4.8, 193, 0.05.
[[nodiscard]] std::string significant(double value, int digits);

// "192 KiB", "2112 B" (what is under 4 KiB and not whole KiB stays in bytes), "139.8 GiB".
[[nodiscard]] std::string human_bytes(double bytes);

// "4.61 TB/s", "930 GB/s": decimal, as vendors and papers give bandwidths.
[[nodiscard]] std::string human_bandwidth(double bytes_per_second);

// A value in its unit: bytes and bandwidths as above, lists joined by commas, groups of units as "0+1, 2+3", numbers
// with four digits.
[[nodiscard]] std::string human_value(const Value& value, std::string_view unit);

// "0+1+16" for each group.
[[nodiscard]] std::vector<std::string> group_texts(const UnitGroups& groups);

// The naming rule of details, conditions and columns: what a name ends in is its unit, the rest says in words what it
// is. "first_miss_bytes" is "first miss" in "B".
struct DetailName {
  std::string label;
  std::string unit;  // "" for counts and names
};
[[nodiscard]] DetailName detail_name(std::string_view name);

}  // namespace gputopo::report
