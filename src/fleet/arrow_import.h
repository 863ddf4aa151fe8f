// Reads a store of the format before SQLite: one Arrow file (https://arrow.apache.org/docs/format/Columnar.html), a row
// for each value of a run, always with the same 18 columns.
#pragma once

#include <functional>
#include <string_view>

#include "fleet/reading.h"

namespace gputopo::fleet {

[[nodiscard]] bool is_arrow(std::string_view bytes);

// A run, with the ids of its content and of its file in hexadecimal digits.
using TakeArrowRun = std::function<void(const Run& run, std::string_view report, std::string_view file)>;

// Throws a FormatError for whatever gputopo did not write. Takes hardly more memory than `bytes`.
void read_arrow_store(std::string_view bytes, const TakeArrowRun& take);

}  // namespace gputopo::fleet
