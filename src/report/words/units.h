// Names and numbers with units, formatted for people.
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

// "192 KiB", "139.8 GiB". Values under 4 KiB that are not whole KiB stay in bytes: "2112 B".
[[nodiscard]] std::string human_bytes(double bytes);

// "4.61 TB/s", "930 GB/s": decimal, as in vendors' documents and papers.
[[nodiscard]] std::string human_bandwidth(double bytes_per_second);

// Bytes and bandwidths as above, lists joined by commas, unit groups as "0+1, 2+3", other numbers with four digits.
[[nodiscard]] std::string human_value(const Value& value, std::string_view unit);

// "0+1+16" for each group.
[[nodiscard]] std::vector<std::string> group_texts(const UnitGroups& groups);

// The name of a detail, condition or column ends in its unit: "first_miss_bytes" is "first miss" in "B".
struct DetailName {
  std::string label;
  std::string unit;  // "" for counts and names
};
[[nodiscard]] DetailName detail_name(std::string_view name);

}  // namespace gputopo::report
