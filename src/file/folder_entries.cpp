#include "file/folder_entries.h"

#include <algorithm>
#include <system_error>

namespace gputopo {

namespace fs = std::filesystem;

std::vector<fs::path> folder_entries(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    entries.push_back(entry->path());
  }
  std::ranges::sort(entries);
  return entries;
}

}  // namespace gputopo
