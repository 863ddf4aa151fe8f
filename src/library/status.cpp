#include "library/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "file/sanitize.h"
#include "file/unexpected.h"
#include "gputopo/error.h"

namespace gputopo::library {
namespace {

// An array, so that reporting an error allocates nothing, and a thread that ends has nothing to free.
constexpr std::size_t kMostBytes = 2048;
thread_local std::array<char, kMostBytes> t_text = {};

constexpr const char* kNames[] = {"ok",   "unavailable", "argument", "handle", "name",
                                  "type", "format",      "file",     "device", "device_lost",
                                  "busy", "cancelled",   "forked",   "memory", "internal"};

// The bytes of `text` that fit, without cutting a UTF-8 character.
std::size_t bytes_that_fit(std::string_view text) {
  if (text.size() < kMostBytes) return text.size();
  constexpr unsigned kFollowsMask = 0xc0;
  constexpr unsigned kFollows = 0x80;
  std::size_t bytes = kMostBytes - 1;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & kFollowsMask) == kFollows) --bytes;
  return bytes;
}

// Texts contain names of files and devices, which must not add lines.
int fail_visibly(gputopo_status status, const char* text) noexcept {
  try {
    return fail(status, sanitized_line(text));
  } catch (...) {
    return fail(GPUTOPO_ERROR_MEMORY, "out of memory on the host");
  }
}

}  // namespace

int fail(gputopo_status status, std::string_view text) noexcept {
  const std::size_t bytes = bytes_that_fit(text);
  std::copy_n(text.data(), bytes, t_text.data());
  t_text[bytes] = '\0';
  return status;
}

int fail_with_null(const char* function, const char* argument) noexcept {
  try {
    return fail(GPUTOPO_ERROR_ARGUMENT, fmt::format("{}: {} is NULL", function, argument));
  } catch (...) {
    return fail(GPUTOPO_ERROR_ARGUMENT, "an argument is NULL");
  }
}

int fail_with_current_exception() noexcept {
  try {
    throw;
  } catch (const UsageError& error) {
    return fail_visibly(GPUTOPO_ERROR_NAME, error.what());
  } catch (const FormatError& error) {
    return fail_visibly(GPUTOPO_ERROR_FORMAT, error.what());
  } catch (const FileError& error) {
    return fail_visibly(GPUTOPO_ERROR_FILE, error.what());
  } catch (const DeviceLostError& error) {
    return fail_visibly(GPUTOPO_ERROR_DEVICE_LOST, error.what());
  } catch (const DeviceError& error) {
    return fail_visibly(GPUTOPO_ERROR_DEVICE, error.what());
  } catch (const EndedError& error) {
    return fail_visibly(GPUTOPO_ERROR_CANCELLED, error.what());
  } catch (const std::bad_alloc&) {
    return fail(GPUTOPO_ERROR_MEMORY, "out of memory on the host");
  } catch (const std::exception& error) {
    return fail_visibly(GPUTOPO_ERROR_INTERNAL, explain_unexpected(error).c_str());
  } catch (...) {
    return fail(GPUTOPO_ERROR_INTERNAL, "an exception of unknown type was thrown");
  }
}

}  // namespace gputopo::library

using namespace gputopo::library;

extern "C" {

const char* gputopo_status_name(int status) {
  return status >= 0 && status < static_cast<int>(std::size(kNames)) ? kNames[status] : "unknown";
}

const char* gputopo_last_error(void) { return t_text.data(); }

const char* gputopo_version(void) { return GPUTOPO_VERSION; }

uint32_t gputopo_api_version(void) { return GPUTOPO_API_VERSION; }
}
