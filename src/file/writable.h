// Whether files and folders can be written, asked before the work that fills them.
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
// Creates a folder, and those above it, if it is not there yet. Throws FileError, also if nothing can be written in it.
void make_folder(const std::string& path);
// Throws FileError if make_folder(path) would, or if files are there: what an earlier run left would mix with what
// comes. Leaves no folder behind that was not there.
void check_empty_folder(const std::string& path);

}  // namespace gputopo
