// Finds columns of a sample table by their role.
#pragma once

#include <cstddef>
#include <vector>

#include "gputopo/model.h"

namespace gputopo::report {

[[nodiscard]] inline std::vector<std::size_t> columns_with(const SampleTable& table, ColumnRole role) {
  std::vector<std::size_t> places;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].role == role) places.push_back(c);
  }
  return places;
}

}  // namespace gputopo::report
