// How functions of the C interface end: with a status, and a text for the calling thread.
#pragma once

#include <string_view>

#include "gputopo/gputopo.h"

namespace gputopo::library {

// Sets the one-line text of gputopo_last_error() for this thread. Returns `status`.
int fail(gputopo_status status, std::string_view text) noexcept;

// Maps the exception that is being handled to a status and a text.
int fail_with_current_exception() noexcept;

// Runs the body of a function of the interface, so that no exception leaves it.
template <typename Body>
int guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (...) {
    return fail_with_current_exception();
  }
}

// Fails because a required argument is NULL.
int fail_with_null(const char* function, const char* argument) noexcept;

}  // namespace gputopo::library
