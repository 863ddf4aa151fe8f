// What is in a folder.
#pragma once

#include <filesystem>
#include <vector>

namespace gputopo {

// Sorted by name; empty where there is no such folder, and less than all where it cannot be read to its end. A range
// over std::filesystem::directory_iterator throws there, even if the iterator was made with an error code.
[[nodiscard]] std::vector<std::filesystem::path> folder_entries(const std::filesystem::path& folder);

}  // namespace gputopo
