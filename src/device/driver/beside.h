// Work on a thread of its own, beside the current thread.
#pragma once

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace gputopo {

// If no thread can be started, the work is done when its result is requested. Dropping the future waits for the work.
template <typename Work>
[[nodiscard]] std::future<std::invoke_result_t<Work>> begin_beside(const Work& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work);
  }
}

}  // namespace gputopo
