// Work on a thread of its own, beside what this thread goes on with.
#pragma once

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace gputopo {

// Where no thread may be started it is done when its result is asked for. Who drops the result waits for the end.
template <typename Work>
[[nodiscard]] std::future<std::invoke_result_t<Work>> begin_beside(const Work& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work);
  }
}

}  // namespace gputopo
