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

// The exception that ended a run, for a replay to throw again.
struct RecordedError {
  std::string type;  // a name of kErrorTypes in recording.cpp
  std::string what;
  std::string status;  // status of a DeviceError
};

using RecordedAnswer = std::variant<ProgramResult, RecordedError>;

struct Recording {
  DeviceInfo info;
  std::map<std::string, std::vector<RecordedAnswer>> answers;  // by to_text(program), in order
  std::vector<std::string> warnings;                           // the device's warnings at the end
};

[[nodiscard]] RecordedError record_error(const Error& error);
[[noreturn]] void throw_recorded(const RecordedError& error);

// Only tests of the reader pass another `version`.
[[nodiscard]] std::string encode_recording(const Recording& recording, int version = kRecordingVersion);
// Throws FormatError for what decode_recording() would refuse: too much data, or answers that fit no program.
[[nodiscard]] std::string encode_readable_recording(const Recording& recording);
// Throws FormatError, without the file's name.
[[nodiscard]] Recording decode_recording(std::string_view bytes);

}  // namespace gputopo
