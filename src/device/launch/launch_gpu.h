// What the runners of programs need of a GPU of any vendor: its memory, its clocks and the names of its SMs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>

#include "device/launch/company.h"
#include "device/launch/kernel_layout.h"
#include "device/launch/sm_clock.h"
#include "gputopo/device.h"
#include "gputopo/error.h"
#include "gputopo/program/operation_duration.h"

namespace gputopo::launch {

using Address = std::uint64_t;  // in device memory

// A launch may be expected to last this long, in time or in cycles, whichever can be told of a program; longer ones are
// refused.
inline constexpr double kMaxLaunchSeconds = 2.0;
inline constexpr double kMaxLaunchCycles = kMaxOperationCycles;

// Arrays begin at a large page, and so cover whole pages.
inline constexpr std::uint64_t kArenaAlignment = 2ull << 20;
inline constexpr std::uint64_t kMinArenaBytes = 64ull << 20;

// Records how much memory a GPU has. Arrays may take most of the free memory: the driver needs some for itself.
void set_memory(DeviceInfo& info, std::uint64_t free_bytes, std::uint64_t total_bytes);

// How a kernel is launched. Always a one-dimensional block.
struct KernelLaunch {
  std::uint32_t blocks = 1;
  std::uint32_t blocks_y = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic
  std::uint64_t carve_out_bytes = 0;  // ignored where carve-outs are fixed
  std::uint32_t cluster_size = 0;     // NVIDIA: blocks, neighbours in x; 0: no clusters
  // AMD: hardware ids of the only SMs that the kernel works on; it leaves others as soon as it finds itself there.
  // Empty: any.
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

  // An address with at least `bytes` behind it, aligned to large pages, for one row of launches at a time: the same
  // memory is handed out again.
  [[nodiscard]] virtual Address reserve(std::uint64_t bytes) = 0;
  virtual void upload(Address to, const void* from, std::uint64_t bytes) const = 0;
  virtual void download(void* to, Address from, std::uint64_t bytes) const = 0;
  virtual void clear(Address address, std::uint64_t bytes) const = 0;
  // What is launched leaves these, and download() will be asked for them when it has ended: they may come with it.
  virtual void expect_download(Address /*from*/, std::uint64_t /*bytes*/) {}

  // Launches are queued from here on, one behind the other, and nobody waits for their ends, until they are no longer
  // held; finish_launches() waits for all. Where a vendor's are not queued they end as they come.
  virtual void hold_launches(bool /*held*/) {}
  virtual void finish_launches() {}

  // The smallest carve-out that holds what is wanted and what `blocks` blocks of `shared_bytes` need; 0 where it is
  // fixed. Throws NotSupportedError when a block or the SM cannot hold them.
  [[nodiscard]] virtual std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                                    std::uint32_t blocks) const = 0;
  // Shared memory with which no second block fits beside one in this carve-out, at least `shared_bytes`.
  [[nodiscard]] virtual std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                                 std::uint64_t shared_bytes) const = 0;

  // For launches that must put a block on every SM: how many blocks, and shared memory of each, at least
  // `shared_bytes`. Where blocks go to whatever SM is free: as many as there are SMs, and no two on one.
  [[nodiscard]] virtual std::uint32_t blocks_to_reach_every_sm() const { return info().sm_count; }
  [[nodiscard]] virtual std::uint64_t shared_bytes_to_reach_every_sm(std::uint64_t carve_out_bytes,
                                                                     std::uint64_t shared_bytes) const {
    return shared_bytes_for_one_block(carve_out_bytes, shared_bytes);
  }
  // How long a block on an SM that is not wanted stays, so that the launch puts a block on every SM.
  [[nodiscard]] virtual std::uint32_t patience_cycles() const = 0;
  // Between the number of an SM and what the kernels call it. Throws NotSupportedError for an SM that is not there.
  [[nodiscard]] virtual std::uint32_t hardware_id_of(std::uint32_t sm) const { return sm; }
  [[nodiscard]] virtual std::uint32_t sm_of(std::uint32_t hardware_id) const { return hardware_id; }

  // Ticks of the clock that all SMs share as nanoseconds.
  [[nodiscard]] virtual std::uint64_t nanoseconds(std::uint64_t ticks) const { return ticks; }
  // Keeps all SMs at work for so long; returns a block's record of it.
  [[nodiscard]] virtual BlockRecord spin_all(std::uint64_t nanoseconds) = 0;

  // Brings the clocks up if the GPU has not worked for a while.
  void wake();
  // Host time since the device was opened.
  [[nodiscard]] double seconds_open() const;
  // The SM clock by a block's own clocks if it ran long enough to tell, else the last one known.
  double clock_mhz(const BlockRecord& block);
  // Before launches that are to make it hot: what holds its clocks down from now on is no surprise.
  virtual void begin_metering() {}
  // That the GPU has taken since some time; nothing where nobody tells.
  [[nodiscard]] virtual std::optional<double> energy_joules() const { return std::nullopt; }
  // How long kernels ran, where times are kept (time_driver_calls) and the vendor's interface tells.
  [[nodiscard]] virtual double kernel_seconds() const { return 0; }
  // No more launches once `ended` says so.
  void end_when(std::function<bool()> ended) { ended_ = std::move(ended); }

  // Of the launch that ended last: whether other processes had work for the GPU meanwhile. May launch. `longest_gap`:
  // in ticks, of a row of launches that were held, between the end of one and the start of the next.
  [[nodiscard]] bool met_others(const LaunchSpan& launch, std::uint64_t longest_gap = 0);
  // Whether others have work for the GPU now: an empty launch has to wait. For before and after a launch whose blocks'
  // records do not tell all of its time.
  [[nodiscard]] bool others_work();
  // The same before a launch: what was seen just now, after the launch before, still holds.
  [[nodiscard]] bool others_still_work();
  // How long the host waited for the launch that ended last.
  [[nodiscard]] std::uint64_t waited_ns() const { return waited_ns_; }
  // Marks the answer of a program whose blocks ran for `own` of a launch, if the launch met others and a part of it may
  // have been stopped for them.
  void mark_company(ProgramResult& answer, bool met_others, const LaunchSpan& launch, const LaunchSpan& own) const;
  // The same of a launch that the host waited so long for, wait and all.
  void mark_company(ProgramResult& answer, bool met_others, std::uint64_t waited_ns) const;

  // Whether something held a block's clock down, or took its SM's time: see kMinClockShare.
  [[nodiscard]] bool held_back(const BlockRecord& block) const;

  // The answer of a launch, with what it ran under: the clock of `block`, a carve-out, and when it was started.
  [[nodiscard]] ProgramResult answer(decltype(ProgramResult::data) data, const BlockRecord& block,
                                     std::uint64_t carve_out_bytes, double started_seconds);

 protected:
  // Throws EndedError where no more launches are wanted.
  void before_launch() const;
  // A launch has ended; the host waited so long for it. 0 where that says nothing.
  void after_launch(std::chrono::nanoseconds waited);

  SmClock clock_;

 private:
  struct Look {
    bool others_work = false;
    std::chrono::steady_clock::time_point at;
  };

  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::function<bool()> ended_;
  Company company_;
  std::uint64_t waited_ns_ = 0;    // for the launch that ended last
  std::optional<Look> last_look_;  // nothing where something was launched since
};

// Holds launches while it lives.
class HeldLaunches {
 public:
  explicit HeldLaunches(LaunchGpu& gpu) : gpu_(gpu) { gpu_.hold_launches(true); }
  HeldLaunches(const HeldLaunches&) = delete;
  HeldLaunches& operator=(const HeldLaunches&) = delete;
  // Nothing is left behind of a row in which something was thrown.
  ~HeldLaunches() {
    gpu_.hold_launches(false);
    try {
      gpu_.finish_launches();
    } catch (const Error&) {
      // What was thrown first is what there is to say.
    }
  }

 private:
  LaunchGpu& gpu_;
};

}  // namespace gputopo::launch
