#include "file/unexpected.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "gputopo/error.h"

namespace gputopo {

std::string explain_unexpected(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error) != nullptr) return error.what();
  const bool is_too_large = dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (is_too_large || dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return "out of memory on the host; close other programs, raise the limit (ulimit -v) or request less";
  }
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error)) {
    return fmt::format(
        "the system refused a resource that gputopo needs ({}); check the resource limits (ulimit -a) and try again",
        refused->code().message());
  }
  return fmt::format("internal error in gputopo ({}); please report it with the command line", error.what());
}

}  // namespace gputopo
