// The bytes of a recording's file around its content: the first line, the length and zlib.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo {

inline constexpr char kRecordAgain[] = "record again with --record";

[[noreturn]] void throw_corrupt_recording();

// Throws FormatError for more than recording_content() takes.
void check_content_length(std::uint64_t length);

[[nodiscard]] std::string recording_of(const std::vector<std::uint8_t>& content);
// Returns the content of a file. Throws FormatError.
[[nodiscard]] std::vector<std::uint8_t> recording_content(std::string_view file);

}  // namespace gputopo
