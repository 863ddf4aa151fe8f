// Checks whether files can be written, before the work that fills them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gputopo {

// Throws FileError if write_file(path, ...) could not even begin. Call it before a long measurement, not after it.
void check_writable(const std::string& path);
// The first two paths that name the same file or folder, by links or by different spellings; nothing if there are
// none. Devices may be named repeatedly. Throws FileError as check_writable() does.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> one_file_twice(const std::vector<std::string>& paths);
// Whether both paths lead to the same existing file.
[[nodiscard]] bool is_same_file(const std::string& path, const std::string& other);

}  // namespace gputopo
