// Recordings: what a device answered to which programs, and the device that answers from one.
//
// A recording is the line kRecordingMagic, then the length of the document as 8 bytes, little end first, then the
// document: CBOR, compressed by zlib. The document holds the version, DeviceInfo and, for each program's text, its
// answers in order.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gputopo/device.h"

namespace gputopo {

inline constexpr std::string_view kRecordingMagic = "gputopo recording\n";
inline constexpr int kRecordingVersion = 1;

// Opens a recording. Throws FileError, and FormatError for what is no recording, truncated, corrupt or of another
// version, or holds an answer that its program cannot have. The device answers a program that was recorded n times with
// the n answers in order, then the last one again; one that was not recorded is a DeviceError.
[[nodiscard]] std::unique_ptr<Device> open_recording(const std::string& path);
// The same of a file's bytes; messages lack its name.
[[nodiscard]] std::unique_ptr<Device> open_recording_bytes(std::string_view bytes);

}  // namespace gputopo
