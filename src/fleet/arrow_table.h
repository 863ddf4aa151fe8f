// A table in the file format of Apache Arrow (Feather version 2), which pandas, polars, DuckDB and Arrow read as it is,
// in memory that is mapped: columns of numbers, times, flags and of texts from a dictionary. There is no library of it
// for C++ in Debian; its messages are FlatBuffers, for which there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

// Writes a file batch by batch.
class Writer {
 public:
  // The schema outlives the writer.
  explicit Writer(const Schema& schema);
  void add(const Batch& batch);
  [[nodiscard]] std::string finish() &&;

 private:
  struct Place {
    std::int64_t offset;
    std::int32_t metadata_length;
    std::int64_t body_length;
  };
  [[nodiscard]] Place append(std::string_view metadata, std::string_view body);

  const Schema& schema_;
  std::string bytes_;
  std::vector<Place> dictionaries_;
  std::vector<Place> batches_;
};

// Counts the bytes that are decoded from a file. Blocks, buffers, texts and dictionaries are named by offsets, and many
// offsets may lead to the same bytes, so the size of the file alone bounds nothing.
class DecodingBudget {
 public:
  explicit DecodingBudget(std::size_t file_bytes);
  // Call it before the memory is allocated. Throws FormatError once it is too much.
  void take(std::size_t bytes);

 private:
  std::uint64_t left_;
};

// Reads a file of a stranger: what is not as it should be is a FormatError that names the place, and no length is
// believed that the file does not hold.
class Reader {
 public:
  // The bytes outlive the reader.
  explicit Reader(std::string_view bytes);
  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] std::size_t batch_count() const { return batches_.size(); }
  // Codes are places in the column's dictionary, or null.
  [[nodiscard]] Batch batch(std::size_t index);

 private:
  struct Message {
    std::vector<std::uint64_t> metadata;  // aligned
    std::size_t metadata_bytes = 0;
    std::string_view body;
    std::string place;
  };
  struct Place {
    std::int64_t offset = 0;
    std::int32_t metadata_length = 0;
    std::int64_t body_length = 0;
  };
  void read_footer();
  void read_dictionary(const Place& place, std::size_t index, std::vector<bool>& is_read);
  [[nodiscard]] Message message(const Place& place, std::string name);

  std::string_view bytes_;
  DecodingBudget budget_;
  Schema schema_;
  std::vector<int> index_bits_;               // of each column of texts
  std::vector<std::int64_t> dictionary_ids_;  // of each column of texts
  std::vector<Place> batches_;
};

}  // namespace gputopo::fleet::arrow
