// Whether files can be written, asked before the work that fills them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gputopo {

// Throws FileError if write_file(path, ...) could not even begin: asked before a long measurement rather than after it.
void check_writable(const std::string& path);
// Two of the paths, of files or folders, that are one, by links or by other ways to write its path; nothing if there
// are none. Devices may be named more than once. Throws FileError as check_writable does.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> one_file_twice(const std::vector<std::string>& paths);
// Whether both paths lead to one file that is there.
[[nodiscard]] bool is_same_file(const std::string& path, const std::string& other);

}  // namespace gputopo
