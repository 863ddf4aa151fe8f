// Files that appear whole or not at all.
#pragma once

#include <string>

namespace gputopo::report {

// Throws FileError if write_file(path, ...) could not even begin: asked before a long measurement rather than after it.
void check_writable(const std::string& path);
// Creates a folder, and those above it, if it is not there yet. Throws FileError, also if nothing can be written in it.
void make_folder(const std::string& path);
// The same of a folder that is to be empty: what an earlier run left would mix with what comes.
void make_empty_folder(const std::string& path);

}  // namespace gputopo::report
