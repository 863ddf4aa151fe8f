// Reads files in the format of arrow_table.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/arrow_table.h"

namespace gputopo::fleet::arrow {

// Limits the bytes decoded from a file. Blocks, buffers, texts and dictionaries are found by offsets, and many offsets
// may point to the same bytes, so the file's size alone limits nothing.
class DecodingBudget {
 public:
  explicit DecodingBudget(std::size_t file_bytes);
  // Call before allocating. Throws a FormatError when the budget is exhausted.
  void take(std::size_t bytes);

 private:
  std::uint64_t left_;
};

// Reads an untrusted file: a defect throws a FormatError that names its place, and every length is checked.
class Reader {
 public:
  // `bytes` must outlive the reader.
  explicit Reader(std::string_view bytes);
  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] std::size_t batch_count() const { return batches_.size(); }
  // Codes are indices into the column's dictionary, or null.
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
  std::vector<int> index_bits_;               // per text column
  std::vector<std::int64_t> dictionary_ids_;  // per text column
  std::vector<Place> batches_;
};

}  // namespace gputopo::fleet::arrow
