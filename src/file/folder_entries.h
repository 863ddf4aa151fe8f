// The entries of a folder.
#pragma once

#include <filesystem>
#include <vector>

namespace gputopo {

// Sorted by name. Empty if there is no such folder; incomplete if it cannot be read to its end. A range-based loop
// over std::filesystem::directory_iterator would throw then, even if the iterator was made with an error code.
[[nodiscard]] std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder);

}  // namespace gputopo
