// A table in the file format of Apache Arrow (Feather version 2), which pandas, polars, DuckDB and Arrow read directly,
// also from mapped memory. Columns hold numbers, times, flags, or dictionary-encoded texts. Debian has no Arrow library
// for C++, but its messages are FlatBuffers, for which Debian has one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gputopo::fleet::arrow {

enum class Kind : std::uint8_t {
  kText,    // index into the column's dictionary; null: -1
  kDouble,  // null: NaN
  kSingle,
  kTime,  // seconds since 1970, UTC; null: kNoTime
  kFlag,  // 0 or 1
};
inline constexpr std::int64_t kNoTime = INT64_MIN;

struct ColumnInfo {
  std::string name;
  Kind kind = Kind::kText;
  std::vector<std::string> dictionary = {};  // for kText
  friend bool operator==(const ColumnInfo&, const ColumnInfo&) = default;
};

// Rows of one column. `numbers` holds kDouble and kSingle, `codes` all other kinds.
struct ColumnData {
  std::vector<double> numbers = {};
  std::vector<std::int64_t> codes = {};
  friend bool operator==(const ColumnData&, const ColumnData&) = default;
};
using Batch = std::vector<ColumnData>;  // one entry per column, all of one length

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Schema {
  std::vector<ColumnInfo> columns;
  Metadata metadata;
  friend bool operator==(const Schema&, const Schema&) = default;
};

}  // namespace gputopo::fleet::arrow
