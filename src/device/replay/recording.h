// The content of a recording, and its bytes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "device/replay/replay.h"
#include "gputopo/device.h"

namespace gputopo {

// The exception that a run ended with, to be thrown again.
struct RecordedError {
  std::string type;  // a name of kErrorTypes in recording.cpp
  std::string what;
  std::string status;  // of a DeviceError
};

using RecordedAnswer = std::variant<ProgramResult, RecordedError>;

struct Recording {
  DeviceInfo info;
  std::map<std::string, std::vector<RecordedAnswer>> answers;  // by to_text(program), in the order they were given
  std::vector<std::string> warnings;                           // of the device, at the end
};

// What `error` was, for a recording.
[[nodiscard]] RecordedError record_error(const Error& error);
[[noreturn]] void throw_recorded(const RecordedError& error);

// `version` is another one only in tests of what reads it.
[[nodiscard]] std::string encode_recording(const Recording& recording, int version = kRecordingVersion);
// Throws FormatError for what decode_recording() would refuse of it: more than is read, answers that fit no program.
[[nodiscard]] std::string encode_readable_recording(const Recording& recording);
// Throws FormatError, without the file's name.
[[nodiscard]] Recording decode_recording(std::string_view bytes);

}  // namespace gputopo
