// The calls of a vendor's driver that transfers need. node::LinkRunner decides on them and interprets the answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gputopo::node {

using LinkAddress = std::uint64_t;  // address in a GPU or the host, the same for every GPU of the node

// A word of host memory that queues wait for.
class LinkGate {
 public:
  virtual ~LinkGate() = default;
  [[nodiscard]] virtual std::uint32_t* word() const = 0;
};

// Work that one GPU does in order, and the time between two marks in it. Its GPU must be current for all calls.
class LinkQueue {
 public:
  virtual ~LinkQueue() = default;
  // Later work waits until the gate is at `ticket` or beyond. Returns false if the driver cannot do that.
  [[nodiscard]] virtual bool hold(const LinkGate& gate, std::uint32_t ticket) = 0;
  virtual void begin() = 0;
  virtual void end() = 0;
  // Time between the marks. Waits for the second one. `what` appears in the error.
  [[nodiscard]] virtual double seconds(const std::string& what) = 0;
  // How long this queue began after another one of the same GPU, if both have ended; negative if before it.
  [[nodiscard]] virtual double began_after(const LinkQueue& other) const = 0;
};

// An end of a copy: memory of a GPU, or page-locked memory of the host.
class LinkGpu;
struct LinkEnd {
  const LinkGpu* gpu = nullptr;  // null: the host
  LinkAddress address = 0;
  std::byte* host = nullptr;
};

enum class LinkKernel : std::uint8_t { kLoad, kAtomic, kAtomicOfGpu, kStore };
[[nodiscard]] const char* name_of(LinkKernel kernel);  // as in the sources of kernels

// A kernel whose accesses are timed, with one thread for each block.
struct TimedLaunch {
  LinkKernel kernel = LinkKernel::kLoad;
  std::uint32_t blocks = 1;
  LinkAddress memory = 0;
  std::uint64_t span = 0;   // bytes from one block's chain to the next; stores: number of lines
  std::uint32_t warm = 0;   // untimed accesses before the timed ones; unused for stores
  std::uint32_t count = 0;  // timed accesses
};

// An open GPU, with its kernels loaded.
class LinkGpu {
 public:
  virtual ~LinkGpu() = default;
  // Must be called before the other calls.
  virtual void make_current() = 0;
  [[nodiscard]] virtual std::uint32_t sms() const = 0;
  [[nodiscard]] virtual bool has_host_atomics() const = 0;  // whether its link to the host carries them

  // Allocates its only piece of memory for transfers; the old content is lost. Throws DeviceMemoryError.
  virtual void reserve(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual std::uint64_t reserved_bytes() const = 0;
  [[nodiscard]] virtual LinkAddress address() const = 0;

  // The driver's blocking copies. upload() may return before the last part has arrived: see synchronize().
  virtual void upload(LinkAddress to, const void* from, std::uint64_t bytes) = 0;
  virtual void download(void* to, LinkAddress from, std::uint64_t bytes) = 0;
  virtual void synchronize(const std::string& what) = 0;

  [[nodiscard]] virtual LinkQueue& queue(std::size_t index) = 0;
  virtual void queue_copy(LinkQueue& queue, const LinkEnd& to, const LinkEnd& from, std::uint64_t bytes) = 0;
  // All SMs load `bytes`, or store `word` over them.
  virtual void queue_read(LinkQueue& queue, LinkAddress memory, std::uint64_t bytes, std::uint32_t passes) = 0;
  virtual void queue_write(LinkQueue& queue, LinkAddress memory, std::uint64_t bytes, std::uint32_t passes,
                           std::uint32_t word) = 0;

  // The most blocks of a timed launch.
  [[nodiscard]] virtual std::uint32_t most_blocks() const = 0;
  // Nanoseconds of all accesses of each block; 0: its clock stood still.
  [[nodiscard]] virtual std::vector<double> run_timed(const TimedLaunch& launch) = 0;
};

class LinkDriver {
 public:
  virtual ~LinkDriver() = default;
  // Throws NotSupportedError if the driver is too old for links.
  virtual void require_functions() const = 0;
  // Throws DeviceError.
  [[nodiscard]] virtual std::unique_ptr<LinkGpu> open(std::size_t ordinal) = 0;
  // Gives `gpu` access to the memory of `other`.
  virtual void reach(LinkGpu& gpu, const LinkGpu& other) = 0;
  // These need an open and current GPU. Null: queues cannot be held.
  [[nodiscard]] virtual std::unique_ptr<LinkGate> open_gate() = 0;
  // Page-locks host memory. Every GPU reaches it at the returned address.
  [[nodiscard]] virtual LinkAddress lock(std::byte* memory, std::uint64_t bytes) = 0;
  virtual void unlock(std::byte* memory) noexcept = 0;
};

}  // namespace gputopo::node
