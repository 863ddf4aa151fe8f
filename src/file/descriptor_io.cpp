#include "file/descriptor_io.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "file/file_failure.h"
#include "gputopo/error.h"

namespace gputopo {

void refuse_size(const std::string& path, std::uint64_t max_bytes) {
  throw FileError(
      fmt::format("cannot read '{}': it is larger than {} MiB, the most that gputopo reads; name another file", path,
                  max_bytes >> 20));
}

std::string read_all(int fd, const std::string& path, std::uint64_t max_bytes) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_on_file("read", path, errno);
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > max_bytes) refuse_size(path, max_bytes);
  }
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace gputopo
