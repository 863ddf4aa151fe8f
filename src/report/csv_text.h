// A field of a CSV file (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace gputopo::report {

// In quotes where it needs them. What a spreadsheet would take for a formula (it begins with = + - @, a tab or a line
// end, and is no number) has an apostrophe before it.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace gputopo::report
