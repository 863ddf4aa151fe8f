// Files: read whole, and written whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo {

// Writes text to a file beside it, then renames. Throws FileError with what to do.
void write_file(const std::string& path, std::string_view text);
// A regular file, a pipe that the shell made (<(command)), or "-": standard input; 256 MiB at most unless another limit
// is given. Throws FileError, for devices and named pipes, too: they may never end.
[[nodiscard]] std::string read_file(const std::string& path);
[[nodiscard]] std::string read_file(const std::string& path, std::uint64_t max_bytes);

}  // namespace gputopo
