// Messages about files that cannot be read or written: what failed, and what to do.
#pragma once

#include <string>
#include <string_view>

namespace gputopo {

// The message of fail_on_file().
[[nodiscard]] std::string file_failure(std::string_view action, const std::string& path, int error);
// Throws FileError. `action`: "read", "write" or similar; `error`: errno.
[[noreturn]] void fail_on_file(std::string_view action, const std::string& path, int error);

}  // namespace gputopo
