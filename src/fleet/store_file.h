// The store as a table of Arrow: a row for each reading, which says of which run it is.
#pragma once

#include <string>
#include <string_view>

#include "fleet/store.h"

namespace gputopo::fleet {

[[nodiscard]] std::string write_store(const Store& store);
// Throws FormatError.
[[nodiscard]] Store read_store(std::string_view bytes);

}  // namespace gputopo::fleet
