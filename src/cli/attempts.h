// Several outputs, of which one that fails costs no other.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>

#include "gputopo/error.h"

namespace gputopo::cli {

// Tries everything that it is given, and then throws the first failure.
class Attempts {
 public:
  template <typename Action>
  void operator()(const Action& action) {
    try {
      action();
    } catch (const Error&) {
      if (!first_failure_) first_failure_ = std::current_exception();
    }
  }
  void finish() const {
    if (first_failure_) std::rethrow_exception(first_failure_);
  }
  // That a device was lost is thrown whatever else failed: it decides how the process ends.
  void finish_without_device(const std::string& error) const {
    try {
      finish();
    } catch (const Error& also) {
      throw DeviceLostError(fmt::format("{}; {}", error, also.what()));
    }
    throw DeviceLostError(error);
  }

 private:
  std::exception_ptr first_failure_;
};

}  // namespace gputopo::cli
