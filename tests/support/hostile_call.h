// Lets the stand-ins of vendors' libraries make one of their calls hostile. GPUTOPO_FAKE_HOSTILE is MODE:CALL, or
// MODE:CALL@N to start at the N-th call (from 1).
//   error, unknown    the call returns 1, or 999, and does nothing
//   hang              the call never returns
//   abort, crash      the call ends the process by SIGABRT, or by SIGSEGV
//   zeros, ones       the call succeeds and fills its results with bytes 0, or 0xff (-1, or more than exists)
//   huge              the same with 0x7f: huge counts and sizes, and texts without an end
// In the last three modes handles are null, and calls without results do nothing and succeed.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace gputopo::test {

// A text result with the size of the caller's buffer.
struct TextResult {
  char* text;
  std::size_t bytes;
};

inline void fill_result(const TextResult& result, int byte) { std::memset(result.text, byte, result.bytes); }
template <typename T>
void fill_result(T* result, int byte) {
  if (result != nullptr) std::memset(static_cast<void*>(result), byte, sizeof *result);
}

// Sets handles and host addresses to null: any other wrong value is the driver's own problem.
template <typename T>
void fill_result(T** result, int) {
  *result = nullptr;
}

// The return value of the hostile call, or nothing for any other call.
template <typename... Results>
std::optional<int> hostile_answer(std::string_view call, const Results&... results) {
  const char* setting = std::getenv("GPUTOPO_FAKE_HOSTILE");
  const std::string_view text = setting == nullptr ? "" : setting;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const std::size_t at = std::min(text.find('@'), text.size());
  if (text.substr(colon + 1, at - colon - 1) != call) return {};
  static std::atomic<int> times = 0;  // calls of the one hostile function
  if (at < text.size() && ++times < std::atoi(text.substr(at + 1).data())) return {};
  const std::string_view mode = text.substr(0, colon);
  if (mode == "error") return 1;
  if (mode == "unknown") return 999;
  while (mode == "hang") pause();
  if (mode == "abort") std::abort();
  if (mode == "crash") std::raise(SIGSEGV);
  [[maybe_unused]] const int byte = mode == "zeros" ? 0 : mode == "ones" ? 0xff : 0x7f;
  (fill_result(results, byte), ...);
  return 0;
}

}  // namespace gputopo::test

// Put this at the start of a call, with its results as arguments.
#define GPUTOPO_MAY_BE_HOSTILE(...) \
  if (const auto hostile = gputopo::test::hostile_answer(__func__ __VA_OPT__(, ) __VA_ARGS__)) return *hostile
