#include "device/launch/launch_gpu.h"

#include <utility>

namespace gputopo::launch {

void LaunchGpu::wake() {
  clock_.wake([this] { clock_mhz(spin_all(SmClock::kSpinNanoseconds)); });
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
