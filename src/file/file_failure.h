// What is said of a file that cannot be read or written: what went wrong, and what to do.
#pragma once

#include <string>
#include <string_view>

namespace gputopo {

// `action`, `error`: as below.
[[nodiscard]] std::string file_failure(std::string_view action, const std::string& path, int error);
// Throws FileError. `action`: "read", "write" or the like; `error`: errno.
[[noreturn]] void fail_on_file(std::string_view action, const std::string& path, int error);

}  // namespace gputopo
