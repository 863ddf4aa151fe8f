// The bytes of a recording's file around what it holds: its first line, its length, zlib.
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

// The file of this content.
[[nodiscard]] std::string recording_of(const std::vector<std::uint8_t>& content);
// The content of a file. Throws FormatError.
[[nodiscard]] std::vector<std::uint8_t> recording_content(std::string_view file);

}  // namespace gputopo
