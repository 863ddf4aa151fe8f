// Helpers that validate every kind of program.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "gputopo/error.h"

namespace gputopo {

inline constexpr std::uint64_t kConstantBankBytes = 64 * 1024;

inline void require(bool condition, std::string_view field, std::string_view rule) {
  if (!condition) throw UsageError(fmt::format("program: {} {}", field, rule));
}

}  // namespace gputopo
