// Reads from a store what is needed, in limited memory, however many nights it has and whatever the file claims.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fleet/sqlite.h"
#include "fleet/store.h"

namespace gputopo::fleet {

// Reads the newest run of each GPU, the numbers and verdicts of the seven runs before it (fewer if they are too many),
// and that there were other runs in the forty days before the newest run of the store. Runs after `now` do not count as
// newest. Throws StoreError and FileError.
[[nodiscard]] Store read_store(const std::string& path, std::int64_t now, sqlite::Waiting waiting);

// The newest report of a GPU, by its id or name, that the store still has. Throws StoreError and FileError.
[[nodiscard]] std::string read_newest_report(const std::string& path, std::string_view gpu, sqlite::Waiting waiting);

}  // namespace gputopo::fleet
