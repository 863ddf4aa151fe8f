#include "file/file_failure.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "gputopo/error.h"

namespace gputopo {
namespace {

std::string_view advice(std::string_view action, int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another path";
    case EFBIG:
      return "raise the file size limit (ulimit -f) or choose another path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a path that you may access";
    case ENOENT:
    case ENOTDIR:
      return action == "read" ? "check the path" : "check the path, or create its folder first";
    case EISDIR:
      return "name a file, not a folder";
    default:
      return "check the path or choose another one";
  }
}

}  // namespace

std::string file_failure(std::string_view action, const std::string& path, int error) {
  return fmt::format("cannot {} '{}': {}; {}", action, path, std::strerror(error), advice(action, error));
}

void fail_on_file(std::string_view action, const std::string& path, int error) {
  throw FileError(file_failure(action, path, error));
}

}  // namespace gputopo
