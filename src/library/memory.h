// Memory that callers of the C interface receive and free. It comes from malloc, so that C can free it.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace gputopo::library {

struct Free {
  void operator()(void* memory) const noexcept { std::free(memory); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// `count` zero-initialized T. Throws std::bad_alloc.
template <typename T>
[[nodiscard]] Owned<T> allocate(std::size_t count) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer.
  auto* memory = static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)));
  if (memory == nullptr) throw std::bad_alloc();
  return Owned<T>(memory);
}

[[nodiscard]] inline Owned<char> copy_of_text(std::string_view text) {
  Owned<char> copy = allocate<char>(text.size() + 1);
  std::memcpy(copy.get(), text.data(), text.size());
  return copy;
}

}  // namespace gputopo::library
