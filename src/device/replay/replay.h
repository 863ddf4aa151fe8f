// Recordings: the answers of a device to programs, and the device that answers from a recording.
//
// A recording is the line kRecordingMagic, the length of the document as 8 bytes in little-endian order, and the
// document: CBOR, compressed by zlib. The document holds the version, DeviceInfo and, by the text of each program, its
// answers in order.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gputopo/device.h"

namespace gputopo {

inline constexpr std::string_view kRecordingMagic = "gputopo recording\n";
inline constexpr int kRecordingVersion = 1;

// Opens a recording. Throws FileError, and FormatError if it is no recording, truncated, corrupt, of another version,
// or holds an answer that its program cannot have. A program that was recorded n times gets the n answers in order,
// then the last one again. A program that was not recorded is a DeviceError.
[[nodiscard]] std::unique_ptr<Device> open_recording(const std::string& path);
// The same for a file's bytes. Messages lack the file's name.
[[nodiscard]] std::unique_ptr<Device> open_recording_bytes(std::string_view bytes);

}  // namespace gputopo
