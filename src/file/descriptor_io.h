// Reading and writing open files whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gputopo {

// All that is still to be read. `path` is for messages. Throws FileError, also where it is more than `max_bytes`.
[[nodiscard]] std::string read_all(int fd, const std::string& path, std::uint64_t max_bytes);

// False with errno set if not all of the text could be written.
[[nodiscard]] bool write_all(int fd, std::string_view text);

// Throws FileError: the file is larger than `max_bytes`.
[[noreturn]] void refuse_size(const std::string& path, std::uint64_t max_bytes);

}  // namespace gputopo
