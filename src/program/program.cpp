// Functions for programs of any kind.
#include "gputopo/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/kinds.h"
#include "program/text.h"

namespace gputopo {

std::string_view to_string(Space space) { return name_of(space); }

void validate(const Program& program) {
  std::visit([](const auto& of_kind) { validate_kind(of_kind); }, program);
}

std::string to_text(const Program& program) {
  return std::visit([](const auto& of_kind) { return text::write_program(of_kind); }, program);
}

Program parse_program(std::string_view text) {
  const std::vector<std::string_view> words = text::split(text, ' ');
  constexpr auto& kNames = ProgramKinds::kNames;
  const auto* name = std::find(kNames.begin(), kNames.end(), words.front());
  if (name == kNames.end()) {
    throw FormatError(
        fmt::format("program text: '{}' is not one of {}", shown(words.front()), fmt::join(kNames, ", ")));
  }
  Program program = ProgramKinds::empty_programs()[static_cast<std::size_t>(name - kNames.begin())];
  std::visit([&](auto& of_kind) { text::read_program(std::span(words).subspan(1), of_kind); }, program);
  return program;
}

}  // namespace gputopo
