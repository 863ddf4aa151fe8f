// Exceptions of the gputopo library. The library never prints and never aborts: it throws one of these.
#pragma once

#include <stdexcept>
#include <string>

namespace gputopo {

// Base of everything gputopo throws on purpose. what() is one line that says what failed and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The request is wrong: an unknown name, an option out of range, a malformed machine file. The CLI exits with 2 for the
// command line and 1 for files.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A file is not what it should be: not ours, truncated, another version, impossible values.
class FormatError : public Error {
 public:
  using Error::Error;
};

// Reading or writing a file failed (permissions, disk full).
class FileError : public Error {
 public:
  using Error::Error;
};

// A device could not be opened or answered with an error. `status` is the vendor's own name for it, empty if none.
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& what, std::string status = {}) : Error(what), status_(std::move(status)) {}
  [[nodiscard]] const std::string& status() const noexcept { return status_; }

 private:
  std::string status_;
};

// The device is gone or its context is corrupted: nothing more can be measured on it in this process.
class DeviceLostError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// What was asked of a device was to end early (Device::end_when), and it did.
class EndedError : public Error {
 public:
  using Error::Error;
};

// Memory for a program could not be had on the device.
class DeviceMemoryError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// The device cannot answer this program at all (a space it lacks, an array larger than it allows).
class NotSupportedError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace gputopo
