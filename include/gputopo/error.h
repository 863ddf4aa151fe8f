// Exceptions of the gputopo library. The library never prints and never aborts; it throws one of these.
#pragma once

#include <stdexcept>
#include <string>

namespace gputopo {

// The base of everything that gputopo throws deliberately. what() is one line that says what failed and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The request is wrong: an unknown name, an option out of range, a malformed machine file. The program exits with 2
// for errors of the command line and with 1 for errors of files.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A file has the wrong content: another format, truncated, another version, or impossible values.
class FormatError : public Error {
 public:
  using Error::Error;
};

// A file could not be read or written (permissions, disk full).
class FileError : public Error {
 public:
  using Error::Error;
};

// A device could not be opened, or it reported an error. `status` is the vendor's name for the error; empty if none.
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& what, std::string status = {}) : Error(what), status_(std::move(status)) {}
  [[nodiscard]] const std::string& status() const noexcept { return status_; }

 private:
  std::string status_;
};

// No device was named, and this host has no GPU that can be used.
class NoGpuError : public DeviceError {
 public:
  // `problem` says why a GPU that is there cannot be used; empty if no driver reports one.
  explicit NoGpuError(const std::string& problem)
      : DeviceError("no GPU can be used: " +
                    (problem.empty() ? "no driver reports one; check the driver, or use --device sim:h200" : problem)) {
  }
};

// The device is gone or its context is corrupted. This process cannot measure anything more on it.
class DeviceLostError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// The device stopped early on request (Device::set_stop_condition()).
class EndedError : public Error {
 public:
  using Error::Error;
};

// The device could not allocate the memory for a program.
class DeviceMemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// The device cannot run this program (it lacks the space, or the array is too large).
class NotSupportedError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace gputopo
