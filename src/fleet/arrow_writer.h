// Writes files in the format of arrow_table.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/arrow_table.h"

namespace gputopo::fleet::arrow {

class Writer {
 public:
  // `schema` must outlive the writer.
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

}  // namespace gputopo::fleet::arrow
