// A table in the file format of Apache Arrow (Feather version 2), which pandas, polars, DuckDB and Arrow read as it is,
// in memory that is mapped: columns of numbers, times, flags and of texts from a dictionary. There is no library of it
// for C++ in Debian; its messages are FlatBuffers, for which there is.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gputopo::fleet::arrow {

enum class Kind : std::uint8_t {
  kText,    // a place in the column's dictionary; null: -1
  kDouble,  // null: not a number
  kSingle,
  kTime,  // seconds since 1970, UTC; null: kNoTime
  kFlag,  // 0 or 1
};
inline constexpr std::int64_t kNoTime = INT64_MIN;

struct ColumnInfo {
  std::string name;
  Kind kind = Kind::kText;
  std::vector<std::string> dictionary = {};  // of kText
  friend bool operator==(const ColumnInfo&, const ColumnInfo&) = default;
};

// Rows of one column: `numbers` of kDouble and kSingle, `codes` of the others.
struct ColumnData {
  std::vector<double> numbers = {};
  std::vector<std::int64_t> codes = {};
  friend bool operator==(const ColumnData&, const ColumnData&) = default;
};
using Batch = std::vector<ColumnData>;  // a column each, of one length

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Schema {
  std::vector<ColumnInfo> columns;
  Metadata metadata;
  friend bool operator==(const Schema&, const Schema&) = default;
};

}  // namespace gputopo::fleet::arrow
