// Reads the files of arrow_table.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/arrow_table.h"

namespace gputopo::fleet::arrow {

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
