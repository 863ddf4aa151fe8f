// Values and fields for programs that read text: a field of a CSV file (RFC 4180), a value for a script.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gputopo/model.h"

namespace gputopo::report {

// In quotes where it needs them. What a spreadsheet would take for a formula (it begins with = + - @ or a tab, and is
// no number) has an apostrophe before it. What a terminal would obey is shown (visible_text): `--csv -` writes to one.
[[nodiscard]] std::string csv_field(std::string_view field);
// Of a row, without its end.
[[nodiscard]] std::string csv_row(std::initializer_list<std::string_view> fields);

// The line of a value, without its end: element, attribute, value, low, high, unit, source.
inline constexpr const char* kValueColumns = "element,attribute,value,low,high,unit,source";
[[nodiscard]] std::string csv_line(std::string_view element, std::string_view id, const Attribute& attribute);

// A value without prefixes of units, lists joined by blanks. Not escaped.
[[nodiscard]] std::string plain_value(const Value& value);

}  // namespace gputopo::report
