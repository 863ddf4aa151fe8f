// Numbers with units, as people read them.
#pragma once

#include <string>
#include <string_view>

#include "gputopo/model.h"

namespace gputopo::report {

// At most `digits` significant digits, no exponent, no trailing zeros after the point: 4.8, 193, 0.05.
[[nodiscard]] std::string significant(double value, int digits);

// "192 KiB", "2112 B" (what is under 4 KiB and not whole KiB stays in bytes), "139.8 GiB".
[[nodiscard]] std::string human_bytes(double bytes);

// "4.61 TB/s", "930 GB/s": decimal, as vendors and papers give bandwidths.
[[nodiscard]] std::string human_bandwidth(double bytes_per_second);

// A value in its unit: bytes and bandwidths as above, lists joined by commas, numbers with four digits.
[[nodiscard]] std::string human_value(const Value& value, std::string_view unit);

}  // namespace gputopo::report
