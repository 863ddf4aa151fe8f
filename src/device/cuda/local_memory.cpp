#include "device/cuda/local_memory.h"

#include <fmt/format.h>

#include "device/cuda/chase_ptx.h"
#include "gputopo/error.h"

namespace gputopo::cuda {

void require_room_for_frames(const DeviceInfo& info, std::uint64_t local_bytes) {
  if (!info.max_threads_per_sm || !info.memory_free_bytes) return;
  const std::uint64_t threads = std::uint64_t{*info.max_threads_per_sm} * info.sm_count;
  const std::uint64_t frames = local_frame_bytes(local_bytes) * threads;
  if (frames <= *info.memory_free_bytes) return;
  throw NotSupportedError(
      fmt::format("local memory of {} bytes per thread for up to {} concurrent threads takes {} bytes in total, but "
                  "only {} bytes were free",
                  local_frame_bytes(local_bytes), threads, frames, *info.memory_free_bytes));
}

const Module& LocalModules::module(const CompileAhead& compiler, const PtxTarget& target, std::uint64_t local_bytes) {
  const std::uint64_t frame = local_frame_bytes(local_bytes);
  const auto found = modules_.find(frame);
  if (found != modules_.end()) return found->second;
  return modules_.emplace(frame, compiler.module_of(generate_local_chase_ptx(target, frame))).first->second;
}

}  // namespace gputopo::cuda
