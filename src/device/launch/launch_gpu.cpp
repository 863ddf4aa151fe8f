#include "device/launch/launch_gpu.h"

#include <algorithm>
#include <utility>

#include "gputopo/error.h"

namespace gputopo::launch {

void set_memory(DeviceInfo& info, std::uint64_t free_bytes, std::uint64_t total_bytes,
                std::optional<std::uint64_t> host_room_bytes) {
  constexpr double kUsableMemory = 0.9;
  constexpr std::uint64_t kPartOfRoom = 2;
  info.memory_bytes = total_bytes;
  info.memory_free_bytes = std::min(free_bytes, host_room_bytes.value_or(free_bytes));
  auto usable = static_cast<std::uint64_t>(kUsableMemory * static_cast<double>(free_bytes));
  if (host_room_bytes) usable = std::min(usable, *host_room_bytes / kPartOfRoom);
  info.max_array_bytes = usable / kArenaAlignment * kArenaAlignment;
}

LaunchSpan span_of_launch(std::span<const BlockRecord> blocks) {
  LaunchSpan span;
  for (const BlockRecord& block : blocks) span.add(block);
  return span;
}

void LaunchGpu::wake() {
  const auto spin = [this] {
    const BlockRecord record = spin_all(SmClock::kSpinNanoseconds);
    contention_.record_time_slice(record.sink);
    clock_mhz(record);
  };
  clock_.wake(spin, info().sm_clock_max_mhz);
}

void LaunchGpu::before_launch() const {
  if (ended_ && ended_()) throw EndedError("the measurement ended before all programs had run");
}

void LaunchGpu::after_launch(std::chrono::nanoseconds waited) {
  waited_ns_ = static_cast<std::uint64_t>(std::max<std::int64_t>(0, waited.count()));
  clock_.worked();
  last_look_.reset();
}

bool LaunchGpu::is_gpu_contended() {
  if (waited_ns_ == 0) return false;  // waits say nothing on this GPU
  const BlockRecord empty = spin_all(0);
  const bool wait = contention_.had_to_wait(waited_ns_, nanoseconds(empty.end_ns - empty.start_ns));
  if (wait && contention_.wants_search())
    contention_.record_time_slice(spin_all(contention_.parameters().search_ns).sink);
  last_look_ = {wait, std::chrono::steady_clock::now()};
  return wait;
}

bool LaunchGpu::is_gpu_still_contended() {
  // A tenth of the turn that a driver gives a process: whoever came since then is still there after the launch.
  constexpr std::chrono::microseconds kFresh{200};
  if (last_look_ && std::chrono::steady_clock::now() - last_look_->at < kFresh) return last_look_->is_gpu_contended;
  return is_gpu_contended();
}

bool LaunchGpu::saw_contention(const LaunchSpan& launch, std::uint64_t longest_gap) {
  if (waited_ns_ == 0) return false;  // waits say nothing on this GPU
  const std::uint64_t span_ns = launch.last > launch.first ? nanoseconds(launch.last - launch.first) : 0;
  const bool waited =
      contention_.had_to_wait(waited_ns_, span_ns) || contention_.had_to_wait(nanoseconds(longest_gap), 0);
  const bool looks = waited || span_ns > contention_.parameters().unwatched_ns;
  return contention_.saw_contention(waited, looks && is_gpu_contended());
}

void LaunchGpu::mark_contention(ProgramResult& answer, bool saw_contention, const LaunchSpan& launch,
                                const LaunchSpan& own) const {
  mark_contention(answer, saw_contention, nanoseconds(own.last - launch.first));
}

void LaunchGpu::mark_contention(ProgramResult& answer, bool saw_contention, std::uint64_t waited_ns) const {
  if (!saw_contention || waited_ns <= contention_.alone_ns()) return;
  answer.had_contention = true;
  answer.undisturbed = false;
}

double LaunchGpu::seconds_open() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - opened_).count();
}

double LaunchGpu::clock_mhz(const BlockRecord& block) {
  return clock_.note(block.end_cycles - block.start_cycles, nanoseconds(block.end_ns - block.start_ns));
}

bool LaunchGpu::held_back(const BlockRecord& block) const {
  return clock_.held_back(block.end_cycles - block.start_cycles, nanoseconds(block.end_ns - block.start_ns));
}

ProgramResult LaunchGpu::answer(decltype(ProgramResult::data) data, const BlockRecord& block,
                                std::uint64_t carve_out_bytes, double started_seconds) {
  const double mhz = clock_mhz(block);
  return {.data = std::move(data),
          .sm_clock_mhz = mhz,
          .shared_carve_out_bytes = carve_out_bytes,
          .undisturbed = !held_back(block),
          .started_seconds = started_seconds};
}

}  // namespace gputopo::launch
