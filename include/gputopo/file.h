// Files: they are read whole, and written whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo {

// Writes to a temporary file in the same folder and renames it. Throws FileError, which says what to do.
void write_file(const std::string& path, std::string_view text);
// Reads a regular file, a pipe of the shell (<(command)), or standard input ("-"). The limit is 256 MiB unless
// `max_bytes` is given. Throws FileError, also for devices and named pipes, because they may never end.
[[nodiscard]] std::string read_file(const std::string& path);
[[nodiscard]] std::string read_file(const std::string& path, std::uint64_t max_bytes);

}  // namespace gputopo
