// The store as an Arrow table: one row per reading, with the data of its run.
#pragma once

#include <string>
#include <string_view>

#include "fleet/store.h"

namespace gputopo::fleet {

[[nodiscard]] std::string write_store(const Store& store);
// Throws a FormatError.
[[nodiscard]] Store read_store(std::string_view bytes);

}  // namespace gputopo::fleet
