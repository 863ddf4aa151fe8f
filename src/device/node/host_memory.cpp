#include "device/node/host_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/driver/host_room.h"
#include "gputopo/error.h"

namespace gputopo::node {
namespace {

// Same as numactl --membind: without it, memory comes from the node of the thread that touches it.
bool bind_to(std::byte* data, std::uint64_t bytes, std::uint32_t numa_node) {
  constexpr int kBind = 2;  // MPOL_BIND of linux/mempolicy.h
  constexpr std::size_t kBits = std::numeric_limits<unsigned long>::digits;
  std::array<unsigned long, 16> mask{};
  if (numa_node >= kBits * mask.size()) return false;
  mask[numa_node / kBits] = 1ul << (numa_node % kBits);
  return syscall(SYS_mbind, data, bytes, kBind, mask.data(), kBits * mask.size(), 0) == 0;
}

// Touching assigns the memory. Several threads do it, because clearing takes one core at least 0.1 s a GiB.
void touch(std::byte* data, std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 4096;
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  const std::uint64_t share = (bytes / threads + kPage) / kPage * kPage;
  std::vector<std::jthread> helpers;
  for (unsigned thread = 0; thread < threads; ++thread) {
    helpers.emplace_back([=] {
      const std::uint64_t end = std::min(bytes, share * (thread + 1));
      for (std::uint64_t at = share * thread; at < end; at += kPage) data[at] = std::byte{1};
    });
  }
}

}  // namespace

HostMemory::HostMemory(std::uint64_t bytes, std::optional<std::uint32_t> numa_node) {
  // Memory is assigned on touch, and the system kills a process that takes too much without a message.
  constexpr std::uint64_t kPartOfRoom = 2;
  if (bytes > host_room_bytes(numa_node) / kPartOfRoom) {
    throw DeviceMemoryError(
        fmt::format("the host cannot spare {} MiB of memory for transfers; free some, or raise this job's memory limit",
                    bytes >> 20));
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw DeviceMemoryError(fmt::format(
        "the host could not allocate {} MiB of memory for transfers; free some, or raise the limit (ulimit -v)",
        bytes >> 20));
  }
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
  madvise(data_, bytes_, MADV_HUGEPAGE);
  if (numa_node && !bind_to(data_, bytes_, *numa_node)) {
    munmap(data_, bytes_);
    data_ = nullptr;
    throw DeviceMemoryError(
        fmt::format("this process may not allocate memory on NUMA node {}: see numactl --show", *numa_node));
  }
  touch(data_, bytes_);
}

HostMemory::~HostMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void HostMemory::swap(HostMemory& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
}

}  // namespace gputopo::node
