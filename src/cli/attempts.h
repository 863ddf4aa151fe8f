// Produces several outputs, so that the failure of one does not affect the others.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>

#include "gputopo/error.h"

namespace gputopo::cli {

// Runs every action, and then throws the first failure.
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
  // Throws DeviceLostError whatever else failed, because it decides how the process ends.
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
