// Reads and writes open files whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo {

// The rest of the file. `path` is for messages. Throws FileError, also if the rest exceeds `max_bytes`.
[[nodiscard]] std::string read_all(int fd, const std::string& path, std::uint64_t max_bytes);

// False with errno set if not all of the text could be written.
[[nodiscard]] bool write_all(int fd, std::string_view text);

// Throws the FileError for a file larger than `max_bytes`.
[[noreturn]] void refuse_size(const std::string& path, std::uint64_t max_bytes);

}  // namespace gputopo
