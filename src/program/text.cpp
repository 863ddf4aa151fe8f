#include "program/text.h"

namespace gputopo::text {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

void throw_unknown_word(std::string_view word) {
  throw FormatError(fmt::format("program text: unknown word '{}'", shown(word)));
}

void append(std::string& text, const std::vector<std::uint32_t>& numbers) {
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (i > 0) text += ',';
    append(text, numbers[i]);
    if (end - i > 1) {
      text += '-';
      append(text, numbers[end - 1]);
    }
    i = end;
  }
}

void read(std::string_view text, std::vector<std::uint32_t>& numbers, std::size_t& left) {
  left += numbers.size();
  numbers.clear();
  for (const std::string_view run : split(text, ',')) {
    const auto ends = split(run, '-');
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    read(ends.front(), first);
    read(ends.back(), last);
    if (ends.size() > 2 || last < first) {
      throw FormatError(fmt::format("program text: '{}' is not a range of elements", shown(run)));
    }
    const std::uint64_t count = std::uint64_t{last} - first + 1;
    if (count > left || numbers.size() + count > limits::kMaxListedElements) {
      throw FormatError(
          fmt::format("program text: '{}' lists more elements than the limits of {} per array and {} per program",
                      shown(run), limits::kMaxListedElements, limits::kMaxProgramElements));
    }
    left -= count;
    for (std::uint64_t number = first; number <= last; ++number) numbers.push_back(static_cast<std::uint32_t>(number));
  }
}

}  // namespace gputopo::text
