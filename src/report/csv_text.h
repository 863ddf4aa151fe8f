// A field of a CSV file (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace gputopo::report {

// In quotes where it needs them.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace gputopo::report
