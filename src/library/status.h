// How functions of the C interface end: a status, and a text for the thread that called.
#pragma once

#include <string_view>

#include "gputopo/gputopo.h"

namespace gputopo::library {

// One line, for gputopo_last_error() on this thread. Returns `status`.
int fail(gputopo_status status, std::string_view text) noexcept;

// What the exception that is being handled is to the caller.
int fail_with_current_exception() noexcept;

// The body of every function of the interface: no exception leaves it.
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    return fail_with_current_exception();
  }
}

// Of an argument that must not be null.
int fail_with_null(const char* function, const char* argument) noexcept;

}  // namespace gputopo::library
