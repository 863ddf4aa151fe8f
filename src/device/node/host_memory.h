// Host memory on a NUMA node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace gputopo::node {

class HostMemory {
 public:
  HostMemory() = default;
  // Allocates on the node if given, with large pages if possible, and touches all of it. Throws DeviceMemoryError.
  HostMemory(std::uint64_t bytes, std::optional<std::uint32_t> numa_node);
  HostMemory(HostMemory&& other) noexcept { swap(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~HostMemory();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void swap(HostMemory& other) noexcept;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace gputopo::node
