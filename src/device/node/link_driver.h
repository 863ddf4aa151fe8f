// What transfers ask of a vendor's driver. What is asked when, and what its answers mean, is node::LinkRunner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gputopo::node {

using LinkAddress = std::uint64_t;  // of memory of a GPU or the host, the same for every GPU of the node

// A word of the host's memory that queues wait for.
class LinkGate {
 public:
  virtual ~LinkGate() = default;
  [[nodiscard]] virtual std::uint32_t* word() const = 0;
};

// What one GPU does in turn, and the time from one mark to the other. Its GPU is the current one for all calls.
class LinkQueue {
 public:
  virtual ~LinkQueue() = default;
  // What is queued from here on waits until the gate is at `ticket` or beyond. False where the driver cannot do that.
  [[nodiscard]] virtual bool hold(const LinkGate& gate, std::uint32_t ticket) = 0;
  virtual void begin() = 0;
  virtual void end() = 0;
  // Between the marks; waits for the second. `what` is said in the error.
  [[nodiscard]] virtual double seconds(const std::string& what) = 0;
  // Of two queues of one GPU that both have ended: how long this one began after the other; negative if before.
  [[nodiscard]] virtual double began_after(const LinkQueue& other) const = 0;
};

// An end of a copy: memory of a GPU, or page-locked memory of the host.
class LinkGpu;
struct LinkEnd {
  const LinkGpu* gpu = nullptr;  // null: the host's
  LinkAddress address = 0;
  std::byte* host = nullptr;
};

enum class LinkKernel : std::uint8_t { kLoad, kAtomic, kAtomicOfGpu, kStore };
[[nodiscard]] const char* name_of(LinkKernel kernel);  // as the sources of kernels have it

// Of a kernel whose accesses are timed, a thread a block.
struct TimedLaunch {
  LinkKernel kernel = LinkKernel::kLoad;
  std::uint32_t blocks = 1;
  LinkAddress memory = 0;
  std::uint64_t span = 0;   // bytes from one block's chain to the next; of stores: lines that are gone over
  std::uint32_t warm = 0;   // accesses before; not of stores
  std::uint32_t count = 0;  // accesses
};

// A GPU that was opened, with its kernels loaded.
class LinkGpu {
 public:
  virtual ~LinkGpu() = default;
  // Before calls of the others.
  virtual void make_current() = 0;
  [[nodiscard]] virtual std::uint32_t sms() const = 0;
  [[nodiscard]] virtual bool has_host_atomics() const = 0;  // its link to the host carries them

  // Its memory for transfers, of which there is one piece; what was in it is lost. Throws DeviceMemoryError.
  virtual void reserve(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual std::uint64_t reserved_bytes() const = 0;
  [[nodiscard]] virtual LinkAddress address() const = 0;

  // The driver's blocking copies. upload() may return before the last part is there: see synchronize().
  virtual void upload(LinkAddress to, const void* from, std::uint64_t bytes) = 0;
  virtual void download(void* to, LinkAddress from, std::uint64_t bytes) = 0;
  virtual void synchronize(const std::string& what) = 0;

  [[nodiscard]] virtual LinkQueue& queue(std::size_t index) = 0;
  virtual void queue_copy(LinkQueue& queue, const LinkEnd& to, const LinkEnd& from, std::uint64_t bytes) = 0;
  // All SMs load `bytes`, or store `word` over them.
  virtual void queue_read(LinkQueue& queue, LinkAddress memory, std::uint64_t bytes, std::uint32_t passes) = 0;
  virtual void queue_write(LinkQueue& queue, LinkAddress memory, std::uint64_t bytes, std::uint32_t passes,
                           std::uint32_t word) = 0;

  // Blocks that a timed launch may have at most.
  [[nodiscard]] virtual std::uint32_t most_blocks() const = 0;
  // Nanoseconds that all accesses of each block took; 0: its clock stood still.
  [[nodiscard]] virtual std::vector<double> run_timed(const TimedLaunch& launch) = 0;
};

class LinkDriver {
 public:
  virtual ~LinkDriver() = default;
  // Throws NotSupportedError where the driver is too old for links.
  virtual void require_functions() const = 0;
  // Throws DeviceError.
  [[nodiscard]] virtual std::unique_ptr<LinkGpu> open(std::size_t ordinal) = 0;
  // From now on `gpu` reaches the memory of `other`.
  virtual void reach(LinkGpu& gpu, const LinkGpu& other) = 0;
  // A GPU is open and current for these. Null: queues cannot be held back.
  [[nodiscard]] virtual std::unique_ptr<LinkGate> open_gate() = 0;
  // Host memory that every GPU reaches from now on, at this address.
  [[nodiscard]] virtual LinkAddress lock(std::byte* memory, std::uint64_t bytes) = 0;
  virtual void unlock(std::byte* memory) noexcept = 0;
};

}  // namespace gputopo::node
