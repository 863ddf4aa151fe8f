// The interface of any vendor's GPU for the runners of programs: its memory, its clocks and the names of its SMs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>

#include "device/launch/contention_detector.h"
#include "device/launch/kernel_layout.h"
#include "device/launch/sm_clock.h"
#include "gputopo/device.h"
#include "gputopo/error.h"
#include "gputopo/program/operation_duration.h"

namespace gputopo::launch {

using Address = std::uint64_t;  // address in device memory

// Longest launch that is allowed, in estimated time or cycles, whichever is known. Longer ones are refused.
inline constexpr double kMaxLaunchSeconds = 2.0;
inline constexpr double kMaxLaunchCycles = kMaxOperationCycles;

// Arrays begin at a large page, so they cover whole pages.
inline constexpr std::uint64_t kArenaAlignment = 2ull << 20;
inline constexpr std::uint64_t kMinArenaBytes = 64ull << 20;

// Sets the memory sizes. Arrays may take most of the free memory; the driver needs the rest. `host_room_bytes`: of an
// integrated GPU, whose memory is the host's, what this process can take of that. Arrays may take half of it, because
// the system ends processes when memory runs out.
void set_memory(DeviceInfo& info, std::uint64_t free_bytes, std::uint64_t total_bytes,
                std::optional<std::uint64_t> host_room_bytes = std::nullopt);

// How a kernel is launched. Blocks are one-dimensional.
struct KernelLaunch {
  std::uint32_t blocks = 1;
  std::uint32_t blocks_y = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic shared memory
  std::uint64_t carve_out_bytes = 0;  // ignored if carve-outs are fixed
  std::uint32_t cluster_size = 0;     // NVIDIA: blocks per cluster, neighbors in x; 0: no clusters
  // AMD: hardware ids of the only SMs that the kernel works on. It leaves other SMs at once. Empty: any SM.
  std::set<std::uint32_t> sms = {};
};

// When the blocks of a launch ran, in ticks of the clock that all SMs share.
struct LaunchSpan {
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;

  void add(const LaunchSpan& other) {
    first = first < other.first ? first : other.first;
    last = last > other.last ? last : other.last;
  }
  void add(const BlockRecord& block) { add(LaunchSpan{block.start_ns, block.end_ns}); }
};
[[nodiscard]] LaunchSpan span_of_launch(std::span<const BlockRecord> blocks);

class LaunchGpu {
 public:
  LaunchGpu() = default;
  LaunchGpu(const LaunchGpu&) = delete;
  LaunchGpu& operator=(const LaunchGpu&) = delete;
  virtual ~LaunchGpu() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  // Returns an address with `bytes` behind it, aligned to large pages, for one row of launches: memory is reused.
  [[nodiscard]] virtual Address reserve(std::uint64_t bytes) = 0;
  virtual void upload(Address to, const void* from, std::uint64_t bytes) const = 0;
  virtual void download(void* to, Address from, std::uint64_t bytes) const = 0;
  virtual void clear(Address address, std::uint64_t bytes) const = 0;
  // Announces that download() will ask for these bytes after the next launches, so they may come with their end.
  virtual void expect_download(Address /*from*/, std::uint64_t /*bytes*/) {}

  // While launches are held they are queued, and nobody waits for each; finish_launches() waits for all. Vendors that
  // cannot queue run each launch at once.
  virtual void hold_launches(bool /*held*/) {}
  virtual void finish_launches() {}

  // Returns the smallest carve-out that holds `wanted_bytes` and `blocks` blocks of `shared_bytes`, or 0 if it is
  // fixed. Throws NotSupportedError if a block or the SM cannot hold them.
  [[nodiscard]] virtual std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                                    std::uint32_t blocks) const = 0;
  // Returns the shared memory, at least `shared_bytes`, that leaves no room for a second block in this carve-out.
  [[nodiscard]] virtual std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                                 std::uint64_t shared_bytes) const = 0;

  // The number of blocks, and the shared memory of each (at least `shared_bytes`), that put a block on every SM. The
  // default suits GPUs whose blocks go to any free SM: as many as there are SMs, and no two on one.
  [[nodiscard]] virtual std::uint32_t blocks_to_reach_every_sm() const { return info().sm_count; }
  [[nodiscard]] virtual std::uint64_t shared_bytes_to_reach_every_sm(std::uint64_t carve_out_bytes,
                                                                     std::uint64_t shared_bytes) const {
    return shared_bytes_for_one_block(carve_out_bytes, shared_bytes);
  }
  // How long a block on an unwanted SM stays, so that the launch puts a block on every SM.
  [[nodiscard]] virtual std::uint32_t patience_cycles() const = 0;
  // Convert between SM numbers and the ids that kernels see. Throws NotSupportedError for an SM that does not exist.
  [[nodiscard]] virtual std::uint32_t hardware_id_of(std::uint32_t sm) const { return sm; }
  [[nodiscard]] virtual std::uint32_t sm_of(std::uint32_t hardware_id) const { return hardware_id; }

  [[nodiscard]] virtual std::uint64_t nanoseconds(std::uint64_t ticks) const { return ticks; }
  // Keeps all SMs at work for so long. Returns the record of a block.
  [[nodiscard]] virtual BlockRecord spin_all(std::uint64_t nanoseconds) = 0;

  // Raises the clocks if the GPU has been idle for a while.
  void wake();
  // Host time since the device was opened.
  [[nodiscard]] double seconds_open() const;
  // Returns the SM clock by a block's own clocks if it ran long enough, otherwise the last known one.
  double clock_mhz(const BlockRecord& block);
  // Must be called before launches that heat the GPU on purpose, so that lowered clocks are no surprise from then on.
  virtual void begin_metering() {}
  // Energy that the GPU has consumed since some fixed time. Nothing if it is unknown.
  [[nodiscard]] virtual std::optional<double> energy_joules() const { return std::nullopt; }
  // Time that kernels ran, if times are kept (time_driver_calls) and the vendor's interface tells it.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
  // No launch starts once `ended` returns true.
  void set_stop_condition(std::function<bool()> ended) { ended_ = std::move(ended); }

  // Whether other processes had work for the GPU during the last launch; may launch to find out. `longest_gap`: in
  // ticks, from the end of one launch of a held row to the start of the next.
  [[nodiscard]] bool saw_contention(const LaunchSpan& launch, std::uint64_t longest_gap = 0);
  // Whether others have work for the GPU now, so that an empty launch has to wait. For use before and after a launch
  // whose blocks' records do not cover all of its time.
  [[nodiscard]] bool is_gpu_contended();
  // The same before a launch. A look after the previous launch still counts if it was just now.
  [[nodiscard]] bool is_gpu_still_contended();
  // The host's wait for the last launch.
  [[nodiscard]] std::uint64_t waited_ns() const { return waited_ns_; }
  // Marks the answer of a program whose blocks ran for `own` of a launch, if the launch met others and could have been
  // stopped for them before `own` ended.
  void mark_contention(ProgramResult& answer, bool saw_contention, const LaunchSpan& launch,
                       const LaunchSpan& own) const;
  // The same for a launch that the host waited for, queueing included.
  void mark_contention(ProgramResult& answer, bool saw_contention, std::uint64_t waited_ns) const;

  // Whether something held a block's clock down, or took time of its SM: see kMinClockShare.
  [[nodiscard]] bool held_back(const BlockRecord& block) const;

  // The answer of a launch with its conditions: the clock of `block`, the carve-out and the start time.
  [[nodiscard]] ProgramResult answer(decltype(ProgramResult::data) data, const BlockRecord& block,
                                     std::uint64_t carve_out_bytes, double started_seconds);

 protected:
  // Throws EndedError if no more launches are wanted.
  void before_launch() const;
  // Records the end of a launch and the host's wait for it; 0 if the wait says nothing.
  void after_launch(std::chrono::nanoseconds waited);

  SmClock clock_;

 private:
  struct Look {
    bool is_gpu_contended = false;
    std::chrono::steady_clock::time_point at;
  };

  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::function<bool()> ended_;
  ContentionDetector contention_;
  std::uint64_t waited_ns_ = 0;    // wait for the last launch
  std::optional<Look> last_look_;  // empty after a launch
};

// Holds launches while it lives.
class HeldLaunches {
 public:
  explicit HeldLaunches(LaunchGpu& gpu) : gpu_(gpu) { gpu_.hold_launches(true); }
  HeldLaunches(const HeldLaunches&) = delete;
  HeldLaunches& operator=(const HeldLaunches&) = delete;
  // Leaves no launch behind if something was thrown within the row.
  ~HeldLaunches() {
    gpu_.hold_launches(false);
    try {
      gpu_.finish_launches();
    } catch (const Error&) {
      // The first error is the one to report.
    }
  }

 private:
  LaunchGpu& gpu_;
};

}  // namespace gputopo::launch
