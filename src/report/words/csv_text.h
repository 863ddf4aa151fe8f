// Text for programs: fields of CSV files (RFC 4180) and plain values for scripts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gputopo/model.h"

namespace gputopo::report {

// Quotes a field if needed. A formula for a spreadsheet (it starts with = + - @ or a tab and is not a number) gets an
// apostrophe. Control characters become visible (sanitized_text): `--csv -` may write to a terminal.
[[nodiscard]] std::string csv_field(std::string_view field);
// Returns a row without its line end.
[[nodiscard]] std::string csv_row(std::initializer_list<std::string_view> fields);

// Columns of csv_line(), which returns a value's row without its line end.
inline constexpr const char* kValueColumns = "element,attribute,value,low,high,unit,source";
[[nodiscard]] std::string csv_line(std::string_view element, std::string_view id, const Attribute& attribute);

// Returns a value without unit prefixes; list entries are joined by spaces. Not escaped.
[[nodiscard]] std::string plain_value(const Value& value);

}  // namespace gputopo::report
