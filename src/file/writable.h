// Whether files and folders can be written, asked before the work that fills them.
#pragma once

#include <string>

namespace gputopo {

// Throws FileError if write_file(path, ...) could not even begin: asked before a long measurement rather than after it.
void check_writable(const std::string& path);
// Creates a folder, and those above it, if it is not there yet. Throws FileError, also if nothing can be written in it.
void make_folder(const std::string& path);
// Throws FileError if make_folder(path) would, or if files are there: what an earlier run left would mix with what
// comes. Leaves no folder behind that was not there.
void check_empty_folder(const std::string& path);

}  // namespace gputopo
